// Exports and imports backups in the Worker's tests, and signs changed pages as the Worker does.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect } from "vitest";
import type { BackupAnswer, ImportState } from "../../../shared/protocol/administration-answers.ts";
import type { BackupPage } from "../../../shared/protocol/backup.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import { fleetIndex, registry } from "../../../worker/env.ts";
import { macOf, parseMacKeys, signingKey } from "../../../worker/identity/mac-keys.ts";
import { operator } from "./machine.ts";

/** Empties the storage of an object, and restarts the object. */
export async function lose(stub: DurableObjectStub): Promise<void> {
  await runInDurableObject(stub, async (_, state) => {
    await state.storage.deleteAlarm();
    await state.storage.deleteAll();
    state.abort("lost");
  }).catch(() => undefined);
}

/** Empties the registry, the fleet index, and the objects of these machines. */
export async function loseAll(names: readonly string[]): Promise<void> {
  for (const stub of [registry(env), fleetIndex(env), ...names.map((name) => env.NODES.getByName(name))])
    await lose(stub);
}

export const pageAfter = (after: string | null) =>
  operator<BackupAnswer & { detail?: string }>("GET", `/v1/backup${after === null ? "" : `?after=${after}`}`);

/** Exports a backup page by page, as the command line does. */
export async function exported(): Promise<BackupPage[]> {
  const pages: BackupPage[] = [];
  let after: string | null = null;
  do {
    const { body, status }: Awaited<ReturnType<typeof pageAfter>> = await pageAfter(after);
    expect(status).toBe(200);
    pages.push(body.page);
    after = body.next;
  } while (after !== null);
  return pages;
}

export const take = (page: unknown) =>
  operator<ImportState & { detail?: string }>("POST", "/v1/imports", page);

export const stateOf = async () => (await operator<ImportState>("GET", "/v1/imports")).body.import;

export async function imported(pages: readonly BackupPage[]): Promise<void> {
  for (const page of pages) expect(await take(page)).toMatchObject({ status: 200 });
}

/** Numbers and signs the pages as an export of these pages would. */
export function resigned(pages: readonly BackupPage[]): Promise<BackupPage[]> {
  const key = signingKey(parseMacKeys(env.KID_MAC_KEYS));
  return Promise.all(
    pages.map(async (page, index) => {
      const unsigned = { ...page, page: index + 1, isLast: index === pages.length - 1, mac: undefined };
      return { ...unsigned, mac: `${key.id}.${await macOf(key, "backup", canonicalJson(unsigned))}` };
    }),
  );
}
