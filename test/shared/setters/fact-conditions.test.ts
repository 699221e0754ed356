import { describe, expect, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import type { DropIns } from "../../../shared/protocol/drop-ins.ts";
import { factConditions } from "../../../shared/setters/fact-conditions.ts";
import { BEFORE, condition, NOW, runSetter } from "./run-setter.ts";

const LISTED = "rollcall.dev/fact-conditions";
const MAX_MESSAGE = 1024;

/** Returns a drop-in's condition about the machine's disks. */
const degraded = (message = "disk 2 is gone") => ({
  type: "RaidDegraded",
  status: "True" as const,
  reason: "DiskMissing",
  message,
  expiresInSeconds: 60,
});
const failed = (error: string) => ({ failures: [{ name: "raid.sh", error }] });
const ready = condition("Ready", "True", "KubeletReady");

interface Situation {
  name: string;
  conditions?: ReturnType<typeof degraded>[];
  working?: number;
  failures?: DropIns["failures"];
  /** Seconds until RaidDegraded expires; undefined if the shim does not count them. */
  remaining?: number;
  before?: NodeCondition[];
  /** The annotation rollcall.dev/fact-conditions after the previous run. */
  listed?: string;
  /** The expected conditions as `type=status reason: message`, in the Node's order. */
  after: string[];
  listedAfter?: string;
}

const situations: Situation[] = [
  { name: "no drop-ins → no condition", before: [ready], after: ["Ready=True KubeletReady: ..."] },
  {
    name: "a drop-in reports a condition → it stands before Ready, next to the drop-ins' own condition",
    conditions: [degraded()],
    working: 1,
    remaining: 60,
    before: [ready],
    after: [
      "RaidDegraded=True DiskMissing: disk 2 is gone",
      "DropInsFailed=False DropInsWork: 1 drop-in works",
      "Ready=True KubeletReady: ...",
    ],
    listedAfter: "DropInsFailed,RaidDegraded",
  },
  {
    name: "it was not reported again in time → Unknown, with the last status",
    conditions: [degraded()],
    working: 2,
    remaining: 0,
    after: [
      "RaidDegraded=Unknown DropInExpired: not said again in time; last said: True (DiskMissing: disk 2 is gone)",
      "DropInsFailed=False DropInsWork: 2 drop-ins work",
    ],
    listedAfter: "DropInsFailed,RaidDegraded",
  },
  {
    name: "the shim does not count its validity → Unknown",
    conditions: [degraded()],
    working: 1,
    after: [
      "RaidDegraded=Unknown DropInExpired: not said again in time; last said: True (DiskMissing: disk 2 is gone)",
      "DropInsFailed=False DropInsWork: 1 drop-in works",
    ],
    listedAfter: "DropInsFailed,RaidDegraded",
  },
  {
    name: "no drop-in reports it any more → it is removed",
    working: 1,
    before: [condition("RaidDegraded", "True", "DiskMissing"), ready],
    listed: "DropInsFailed,RaidDegraded",
    after: ["DropInsFailed=False DropInsWork: 1 drop-in works", "Ready=True KubeletReady: ..."],
    listedAfter: "DropInsFailed",
  },
  {
    name: "the last drop-in was removed → its conditions and the annotation are removed",
    before: [condition("DropInsFailed", "False", "DropInsWork"), ready],
    listed: "DropInsFailed",
    after: ["Ready=True KubeletReady: ..."],
  },
  {
    name: "another writer listed Ready in the annotation → it stays: it is not a drop-in's",
    before: [ready],
    listed: "Ready",
    after: ["Ready=True KubeletReady: ..."],
  },
  {
    name: "drop-ins fail → True, and each is named with its error",
    failures: [
      { name: "raid.sh", error: "exit code 1" },
      { name: "ups.json", error: "not JSON" },
    ],
    working: 3,
    after: ["DropInsFailed=True DropInFailed: raid.sh: exit code 1; ups.json: not JSON"],
    listedAfter: "DropInsFailed",
  },
  {
    name: "an error that makes the message as long as the limit → whole",
    ...failed("x".repeat(MAX_MESSAGE - "raid.sh: ".length)),
    after: [`DropInsFailed=True DropInFailed: raid.sh: ${"x".repeat(MAX_MESSAGE - "raid.sh: ".length)}`],
    listedAfter: "DropInsFailed",
  },
  {
    name: "one character more → cut",
    ...failed("x".repeat(MAX_MESSAGE - "raid.sh: ".length + 1)),
    after: [`DropInsFailed=True DropInFailed: raid.sh: ${"x".repeat(MAX_MESSAGE - "raid.sh: ".length)}`],
    listedAfter: "DropInsFailed",
  },
];

describe("factConditions", () => {
  test.each(situations)("$name", (situation) => {
    const { conditions = [], working = 0, failures = [], remaining, before, listed, after } = situation;
    const dropIns: DropIns = { resources: {}, labels: {}, conditions, working, failures };
    const remainingSeconds = remaining === undefined ? {} : { RaidDegraded: remaining };
    const outcome = runSetter(() => factConditions(NOW, dropIns, remainingSeconds), {
      metadata: { annotations: { other: "x", ...(listed !== undefined && { [LISTED]: listed }) } },
      status: before ? { conditions: before } : {},
    });
    expect(outcome).toMatchObject({ error: null, events: [] });
    expect(
      outcome.node.status.conditions?.map(
        ({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`,
      ) ?? [],
    ).toEqual(after);
    expect(outcome.node.metadata.annotations).toEqual({
      other: "x",
      ...(situation.listedAfter !== undefined && { [LISTED]: situation.listedAfter }),
    });
  });

  test("the same status again → its transition time stays", () => {
    const before = condition("RaidDegraded", "True", "DiskMissing");
    const dropIns = { resources: {}, labels: {}, conditions: [degraded()], working: 0, failures: [] };
    const { node } = runSetter(() => factConditions(NOW, dropIns, { RaidDegraded: 1 }), {
      metadata: { annotations: { [LISTED]: "RaidDegraded" } },
      status: { conditions: [before] },
    });
    expect(node.status.conditions).toMatchObject([{ lastHeartbeatTime: NOW, lastTransitionTime: BEFORE }]);
  });
});
