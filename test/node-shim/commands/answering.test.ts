// Tests who may ask a machine over the Worker: everybody whom the Worker sends, or only operators with a pinned key.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { proofBy, publicLine } from "../../../infra/operator/question-key.ts";
import { askerCheck, questionAnswering } from "../../../node-shim/commands/answering.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { machineSettings } from "../../../node-shim/machine/settings.ts";
import { newUnsealing } from "../../../node-shim/wire/sealed-answer.ts";
import { proofText } from "../../../shared/protocol/question-proof.ts";
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
    expect(await mayAsk({ ...ASKED, proof })).toEqual(
      success({ machine: "edge-1", challenge, question: ASKED.question }),
    );
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

it("a question whose proof has a key to seal to → a sealed answer, and the whole end in the machine's log", async () => {
  const logged: string[] = [];
  const unsealing = await newUnsealing();
  const proved = { machine: "edge-1", challenge: "A".repeat(22), ...ASKED, sealTo: unsealing.sealTo };
  const { answer } = questionAnswering({
    settings: machineSettings({ hostnameOverride: "edge-1" }),
    flags: { url: "https://rollcall.example.com", state: folder },
    log: (_, line) => void logged.push(line),
    mayAsk: () => Promise.resolve(success(proved)),
    key: key.key,
    nowMs: () => 0,
  });
  const opener = unsealing.opener(proofText(proved));
  const chunks = answer(ASKED, new AbortController().signal);
  const all: unknown[] = [];
  let next = await chunks.next();
  for (; !next.done; next = await chunks.next()) all.push(await opener.take(next.value));
  const fault = "disks is off: --questions names the questions that this machine answers";
  expect(all).toEqual([
    success([{ machine: key.key.thumbprint }]),
    success([{ end: { reason: "refused", fault } }]),
  ]);
  expect(next.value).toEqual({ reason: "failed", fault: "the reason is sealed" });
  expect(logged).toEqual([
    "question of operator bob: disks",
    expect.stringContaining(`answer to operator bob: disks: 0 bytes, ${fault}`),
  ]);
});

it("questions faster than 30 a minute are over the rate, so that a hostile Worker cannot fill the machine's log", () => {
  let nowMs = 0;
  const { isInRate } = questionAnswering({
    settings: machineSettings({ hostnameOverride: "edge-1" }),
    flags: { url: "https://rollcall.example.com", state: folder },
    log: () => undefined,
    mayAsk: () => Promise.resolve(success(null)),
    key: key.key,
    nowMs: () => nowMs,
  });
  const inRate = () => Array.from({ length: 100 }, isInRate).filter((each) => each).length;
  expect(inRate()).toBe(30);
  nowMs += 10_000;
  expect(inRate()).toBe(5);
});
