// Tests that `join` waits until the cluster's answer about the Node is final, and for ten seconds at most.
import { expect, test } from "vitest";
import { ANSWER_MS, settled } from "../../../node-shim/commands/first-answer.ts";
import { DIAGNOSES, type Kind } from "../../../node-shim/status/diagnoses.ts";
import type { Diagnosis } from "../../../node-shim/status/diagnosis.ts";

const of = (kind: Kind): Diagnosis => ({
  kind,
  text: `edge-7 ${DIAGNOSES[kind].says}`,
  exitCode: DIAGNOSES[kind].exitCode,
  passes: DIAGNOSES[kind].passes === true,
});

/** Returns the result of `settled`, which gets these diagnoses, one every 200 ms. The last diagnosis stays. */
async function found(kinds: Kind[]) {
  let passedMs = 0;
  let looks = 0;
  const shown: string[] = [];
  const diagnosis = await settled(
    () => of(kinds[Math.min(looks++, kinds.length - 1)] as Kind),
    { nowMs: () => passedMs, sleep: async (ms) => void (passedMs += ms) },
    (text) => shown.push(text),
  );
  return { kind: diagnosis.kind, passedMs, shown };
}

test.each<[situation: string, kinds: Kind[], kind: Kind, passedMs: number]>([
  ["Ready at once", ["Ready"], "Ready", 0],
  [
    "the service starts, registers, is Ready",
    ["not running", "starting", "registering", "Ready"],
    "Ready",
    600,
  ],
  ["a state that an operator has to fix → no wait", ["starting", "name taken"], "name taken", 200],
  [
    "the apiserver does not answer → that state, after ten seconds",
    ["apiserver unreachable"],
    "apiserver unreachable",
    ANSWER_MS,
  ],
  ["the service ends and is started again", ["ended", "not running", "Ready"], "Ready", 400],
])("%s", async (_situation, kinds, kind, passedMs) => {
  const seen = await found(kinds);
  expect(seen).toMatchObject({ kind, passedMs });
  expect(seen.shown).toHaveLength(passedMs / 200);
});
