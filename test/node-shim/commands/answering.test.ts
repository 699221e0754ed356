// Tests who may ask a machine over the Worker: everybody whom the Worker sends, or only operators with a pinned key.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { proofBy, publicLine } from "../../../infra/operator/question-key.ts";
import { askerCheck, questionAnswering } from "../../../node-shim/commands/answering.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { machineSettings } from "../../../node-shim/machine/settings.ts";
import { success } from "../../../shared/result.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-answering-"));
afterAll(() => rmSync(folder, { recursive: true }));
const key = { key: await makeMachineKey(), comment: "alice" };
const ASKED = { question: { name: "disks", parameters: {} }, asker: "operator bob" };

function machine(questionsFrom: string | null) {
  const logged: string[] = [];
  const mayAsk = askerCheck({ name: "edge-1", questionsFrom }, (_, line) => void logged.push(line));
  return { logged, mayAsk };
}

describe("a question over the Worker", () => {
  it("to a machine without pinned keys → the Worker's word counts", async () => {
    expect(await machine(null).mayAsk(ASKED)).toEqual(success(null));
  });

  it("to a machine with pinned keys → only with a proof, whose key the machine logs", async () => {
    const file = join(folder, "keys");
    writeFileSync(file, publicLine(key));
    const { logged, mayAsk } = machine(file);
    const refused = await mayAsk(ASKED);
    const challenge = refused.ok ? "" : (refused.error.challenge ?? "");
    expect([refused.ok, logged]).toEqual([false, []]);
    const proof = await proofBy(key, { machine: "edge-1", challenge, question: ASKED.question });
    expect(await mayAsk({ ...ASKED, proof })).toEqual(success(null));
    expect(logged).toEqual([`proved by the key ${key.key.publicJwk.x} alice: question of operator bob`]);
    expect((await mayAsk({ ...ASKED, proof })).ok).toBe(false);
    writeFileSync(file, "");
    expect(await mayAsk(ASKED)).toMatchObject({
      ok: false,
      error: { fault: expect.stringContaining("no key") as string },
    });
  });

  it("to a machine whose file of keys is missing → refused", async () => {
    expect(await machine(join(folder, "missing")).mayAsk(ASKED)).toMatchObject({ ok: false });
  });
});

it("questions faster than 30 a minute are over the rate, so that a hostile Worker cannot fill the machine's log", () => {
  let nowMs = 0;
  const { isInRate } = questionAnswering({
    settings: machineSettings({ hostnameOverride: "edge-1" }),
    flags: { url: "https://rollcall.example.com", state: folder },
    log: () => undefined,
    mayAsk: () => Promise.resolve(success(null)),
    nowMs: () => nowMs,
  });
  const inRate = () => Array.from({ length: 100 }, isInRate).filter((each) => each).length;
  expect(inRate()).toBe(30);
  nowMs += 10_000;
  expect(inRate()).toBe(5);
});
