// Tests that the startId, a secret of the shim's process, is stored and shown nowhere. With a startId any sender
// could report as that process.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { sha256Base64url } from "../../node-shim/worker-link/sign.ts";
import type { ListedSenders } from "../../shared/protocol/operator-answers.ts";
import { registry } from "../../worker/env.ts";
import { enrolled, facts, HEALTHY, kube, operator, shimOf, writesAbout } from "../worker/support/machine.ts";

const NAME = "secret-of-a-process";
const SECRETS = ["zzz-secret-of-the-first-process", "zzz-secret-of-the-second-process"] as const;

/** Returns all data that an object stores, and the answers of its methods. */
function kept(stub: DurableObjectStub): Promise<string> {
  return runInDurableObject(stub, (_, { storage }) => {
    const tables = storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'");
    const rows = tables
      .toArray()
      .filter(({ name }) => !name.startsWith("_cf"))
      .map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
    return JSON.stringify(rows);
  });
}

it("a machine and a second process of its shim → no row, answer, event, Node, log or list has a startId", async () => {
  const logged = (["log", "error", "warn"] as const).map((level) => vi.spyOn(console, level));
  const [first, second] = await enrolled(NAME).then((machine) => SECRETS.map((id) => shimOf(machine, id)));
  const answers = [];
  for (const report of [first!, second!, first!, second!, first!])
    answers.push(await report(facts(NAME), HEALTHY));
  expect(answers.at(-1)).toMatchObject({ ok: true, value: { phase: "two shims" } });
  const { body: listed } = await operator<ListedSenders>("GET", `/v1/nodes/${NAME}/clones`);
  const shown = [
    answers,
    listed,
    await operator("GET", `/v1/nodes/${NAME}/history?limit=1000`),
    await operator("GET", `/v1/audit?target=${NAME}&limit=1000`),
    await operator("GET", `/v1/audit?by=machines&target=${NAME}&limit=1000`),
    await kube("GET", `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${NAME}`),
    await writesAbout(NAME),
    await kept(env.NODES.getByName(NAME)),
    await kept(registry(env)),
    logged.map((log) => log.mock.calls),
  ].map((part) => JSON.stringify(part));
  for (const secret of SECRETS) {
    expect(shown.filter((part) => part.includes(secret))).toEqual([]);
    // Operators can still distinguish the processes, by a part of the startId's digest.
    expect(listed.senders.map(({ process }) => process)).toContain(sha256Base64url(secret).slice(0, 8));
  }
  expect(JSON.stringify(shown)).not.toContain("zzz-secret");
});
