import { describe, expect, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import type { DropIns } from "../../../shared/protocol/drop-ins.ts";
import { factConditions } from "../../../shared/setters/fact-conditions.ts";
import { BEFORE, condition, NOW, runSetter } from "./run-setter.ts";

const LISTED = "rollcall.dev/fact-conditions";
const MAX_MESSAGE = 1024;

/** What a drop-in says of the machine's disks. */
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
  /** Of RaidDegraded; undefined: nobody counts it. */
  remaining?: number;
  before?: NodeCondition[];
  /** The annotation, as the last run left it. */
  listed?: string;
  /** `type=status reason: message`, in the order of the Node. */
  after: string[];
  listedAfter?: string;
}

const situations: Situation[] = [
  { name: "no drop-ins → nothing is said", before: [ready], after: ["Ready=True KubeletReady: ..."] },
  {
    name: "a drop-in reports a condition → it stands before Ready, beside the one of the drop-ins themselves",
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
    name: "it was not said again in time → Unknown, with what was said last",
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
    name: "nobody counts how long it is good for → Unknown",
    conditions: [degraded()],
    working: 1,
    after: [
      "RaidDegraded=Unknown DropInExpired: not said again in time; last said: True (DiskMissing: disk 2 is gone)",
      "DropInsFailed=False DropInsWork: 1 drop-in works",
    ],
    listedAfter: "DropInsFailed,RaidDegraded",
  },
  {
    name: "nobody reports it any more → it goes",
    working: 1,
    before: [condition("RaidDegraded", "True", "DiskMissing"), ready],
    listed: "DropInsFailed,RaidDegraded",
    after: ["DropInsFailed=False DropInsWork: 1 drop-in works", "Ready=True KubeletReady: ..."],
    listedAfter: "DropInsFailed",
  },
  {
    name: "the last drop-in was removed → its conditions go, and so does the annotation",
    before: [condition("DropInsFailed", "False", "DropInsWork"), ready],
    listed: "DropInsFailed",
    after: ["Ready=True KubeletReady: ..."],
  },
  {
    name: "somebody wrote Ready into the annotation → it stays: it is not a drop-in's",
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
    name: "an error that makes the message exactly as long as one may be → whole",
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
