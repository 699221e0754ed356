// Tests the line of history for a new phase, the start of an outage of the apiserver, and the machine's answer.
import { describe, expect, it, test } from "vitest";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";
import type { Phase } from "../../../shared/protocol/answers.ts";
import {
  awaySinceMs,
  isRegisteredReady,
  lastPhase,
  phaseAfter,
  recordPhase,
  refusalMessage,
} from "../../../worker/tick/phase.ts";
import { keptRecords } from "../support/kept-records.ts";

const ASKED_MS = Date.UTC(2026, 0, 2, 10, 18, 1);
const NOW_MS = ASKED_MS + 4000;
const AWAY_MS = ASKED_MS - 60_000;

const away = (phase: Phase) => ({ phase, sinceMs: ASKED_MS });
const wasAway = (phase: Phase) => ({ phase, sinceMs: AWAY_MS });
const TIMES = "away from 2026-01-02T10:17:01Z to 2026-01-02T10:18:05Z";

test.each<[situation: string, phase: string | undefined, ready: string, isIt: boolean]>([
  ["registered and Ready", "registered", "True", true],
  ["registered and not Ready", "registered", "False", false],
  ["deleted, and Ready when it was last known", "node deleted", "True", false],
  ["somebody else's", "name taken", "True", false],
  ["not registered yet", undefined, "True", false],
])("a Node that is %s, and counts as Ready or not", (_, phase, ready, isIt) => {
  const { records } = keptRecords(phase === undefined ? {} : { registration: { phase } });
  const node = { status: { conditions: [{ type: "Ready", status: ready }] } };
  expect(isRegisteredReady(records, node)).toBe(isIt);
});

describe("a phase after another one", () => {
  test.each<[before: unknown, phase: Phase, kept: unknown, notes: string[]]>([
    [undefined, "registered", "registered", ["phase: registered"]],
    ["registered", "registered", "registered", []],
    ["registered", "cloned", "cloned", ["phase: registered → cloned"]],
    [
      "registered",
      "apiserver unreachable",
      away("apiserver unreachable"),
      ["apiserver: registered → apiserver unreachable"],
    ],
    [wasAway("apiserver unreachable"), "apiserver unreachable", wasAway("apiserver unreachable"), []],
    [
      wasAway("apiserver unreachable"),
      "registered",
      "registered",
      [`apiserver: apiserver unreachable → registered: ${TIMES}`],
    ],
    [
      wasAway("apiserver refuses"),
      "apiserver unreachable",
      away("apiserver unreachable"),
      [`apiserver: apiserver refuses → apiserver unreachable: ${TIMES}`],
    ],
    [
      "apiserver refuses",
      "registered",
      "registered",
      // An earlier version stored the phase without its time.
      ["apiserver: apiserver refuses → registered"],
    ],
  ])("%j, then %s", (before, phase, kept, notes) => {
    const state = keptRecords(before === undefined ? {} : { phase: before, apiserverBackSinceMs: 1 });
    recordPhase(state, phase, NOW_MS, ASKED_MS);
    expect(state.kept.get("phase")).toEqual(kept);
    expect(state.notes).toEqual(notes);
  });
});

it.each([
  ["registered", "registered", undefined],
  ["apiserver unreachable", "apiserver unreachable", undefined],
  [wasAway("apiserver unreachable"), "apiserver unreachable", AWAY_MS],
])("of %j the phase is %s, and the apiserver away since %s", (stored, phase, sinceMs) => {
  const { records } = keptRecords({ phase: stored });
  expect([lastPhase(records), awaySinceMs(records)]).toEqual([phase, sinceMs]);
});

const OWN_WORDS = "etcd at 10.0.0.7 is read-only";
const refused = (code: number, reason?: string): ApiError => ({
  kind: "status",
  status: { code, message: OWN_WORDS, ...(reason && { reason }) },
});

test.each<[situation: string, error: ApiError, phase: string, told: RegExp | undefined]>([
  ["a token that has ended", refused(401, "Unauthorized"), "apiserver refuses", /Worker's token.*\/readyz/],
  ["an account that may not", refused(403, "Forbidden"), "apiserver refuses", /cluster refuses.*log/],
  ["a fault", refused(500, "InternalError"), "apiserver refuses", undefined],
  ["an object that is invalid", refused(422, "Invalid"), "apiserver refuses", undefined],
  ["no answer", { kind: "unanswered", message: OWN_WORDS }, "apiserver unreachable", undefined],
  [
    "something else's answer",
    { kind: "unanswered", message: OWN_WORDS, cure: OWN_WORDS },
    "apiserver unreachable",
    /something else answers.*\/readyz/,
  ],
])("%s → the phase, whom to ask, and nothing of the cluster's own words", (_, error, phase, told) => {
  expect(phaseAfter(error, keptRecords({}).records)).toBe(phase);
  const { message } = refusalMessage(error);
  if (told) expect(message).toMatch(told);
  else expect(message).toBeUndefined();
  expect(message ?? "").not.toContain(OWN_WORDS);
});

test.each<[situation: string, registration: string | undefined, phase: Phase]>([
  ["a registered machine → stays registered", "registered", "registered"],
  ["a machine without a registration → is being registered", undefined, "registering"],
  ["a machine whose name was taken → is being registered", "name taken", "registering"],
])("a conflict for %s, without a message about a refusal", (_, phase, expected) => {
  const { records } = keptRecords(phase === undefined ? {} : { registration: { phase } });
  const conflict: ApiError = {
    kind: "status",
    status: { code: 409, reason: "Conflict", message: OWN_WORDS },
  };
  expect(phaseAfter(conflict, records)).toBe(expected);
  expect(refusalMessage(conflict)).toEqual({});
});

test.each<[situation: string, registration: string | undefined, before: Phase | undefined, phase: Phase]>([
  ["a registered machine → stays registered", "registered", "registered", "registered"],
  ["a machine without a registration → is being registered", undefined, undefined, "registering"],
  [
    "while the apiserver does not answer → still",
    "registered",
    "apiserver unreachable",
    "apiserver unreachable",
  ],
])("no request is left for %s", (_, registration, before, expected) => {
  const { records } = keptRecords({
    ...(registration !== undefined && { registration: { phase: registration } }),
    ...(before !== undefined && { phase: before }),
  });
  const unsent: ApiError = { kind: "unanswered", message: OWN_WORDS, isUnsent: true };
  expect(phaseAfter(unsent, records)).toBe(expected);
  expect(refusalMessage(unsent)).toEqual({});
});
