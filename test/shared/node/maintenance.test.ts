// Tests the conditions that an order about a maintenance results in, and how a Node gets them.
import { describe, expect, it } from "vitest";
import {
  conditionsPatch,
  ITS_END,
  maintained,
  maintenanceAfter,
  type MaintenanceOrder,
  missingConditions,
  statedMaintenance,
} from "../../../shared/node/maintenance.ts";
import { draftOf } from "../../../shared/node/update-node.ts";

const NOW_MS = Date.parse("2026-02-03T04:05:06.789Z");
const NOW = "2026-02-03T04:05:06Z";
const EARLIER = "2026-02-01T00:00:00Z";
const UNTIL_MS = Date.parse("2026-02-03T08:00:00Z");

const order = (stage: MaintenanceOrder["stage"], comment = ""): MaintenanceOrder =>
  stage === "end"
    ? { ...ITS_END, who: "alice", comment }
    : { stage, untilMs: UNTIL_MS, who: "alice", comment };
const known = (type: string, status: string) => ({ type, status, lastTransitionTime: EARLIER });
const PLANNED = known("MaintenancePlanned", "True");
const IN_PROGRESS = known("MaintenanceInProgress", "True");

describe("the conditions after an order", () => {
  it.each<[string, ReturnType<typeof known>[], MaintenanceOrder, string[]]>([
    ["plan", [], order("plan"), ["MaintenancePlanned=True AdminRequested"]],
    ["begin without a plan", [], order("begin"), ["MaintenanceInProgress=True AdminRequested"]],
    [
      "begin as planned",
      [PLANNED],
      order("begin"),
      ["MaintenancePlanned=False MaintenanceWindow", "MaintenanceInProgress=True MaintenanceWindow"],
    ],
    ["end", [IN_PROGRESS], order("end"), ["MaintenanceInProgress=False AdminRequested"]],
    ["end of a plan", [PLANNED], order("end"), ["MaintenancePlanned=False AdminRequested"]],
    ["the time is over", [IN_PROGRESS], ITS_END, ["MaintenanceInProgress=False MaintenanceWindow"]],
    ["end of what has ended", [known("MaintenanceInProgress", "False")], order("end"), []],
    [
      "plan the next during a maintenance",
      [IN_PROGRESS],
      order("plan"),
      ["MaintenancePlanned=True AdminRequested", "MaintenanceInProgress=False AdminRequested"],
    ],
  ])("%s", (_, before, given, expected) => {
    const { conditions } = maintenanceAfter(before, given, NOW_MS);
    expect(conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual(expected);
  });

  it("a later end → the message changes, the time of the transition stays", () => {
    const { conditions, untilMs } = maintenanceAfter([IN_PROGRESS], order("begin", "new disk"), NOW_MS);
    expect(conditions).toMatchObject([
      { message: "until 2026-02-03T08:00:00Z, by alice: new disk", lastTransitionTime: EARLIER },
    ]);
    expect(untilMs).toBe(UNTIL_MS);
  });

  it.each([
    [order("end"), "ended by alice"],
    [ITS_END, "ended by its time"],
  ])("%j → %s", (given, message) => {
    expect(maintenanceAfter([IN_PROGRESS], given, NOW_MS).conditions).toMatchObject([
      { message, lastTransitionTime: NOW },
    ]);
  });
});

describe("a Node", () => {
  const begun = maintenanceAfter([], order("begin"), NOW_MS);
  const READY = { type: "Ready", status: "True" };
  const node = { status: { conditions: [READY] } };

  it("without the condition → gets it before Ready, and then lacks nothing", () => {
    const draft = draftOf(node);
    maintained(begun)(draft);
    expect(draft.status.conditions?.map(({ type }) => type)).toEqual(["MaintenanceInProgress", "Ready"]);
    expect([missingConditions(begun, node), missingConditions(begun, draft)]).toEqual([begun.conditions, []]);
  });

  it("without a maintenance → stays as it is", () => {
    const draft = draftOf(node);
    maintained(undefined)(draft);
    expect(draft.status).toEqual(node.status);
  });

  it("its patch → Ready stays the last condition", () => {
    expect(conditionsPatch(node, [{ ...begun.conditions[0]! }])).toEqual({
      status: {
        "$setElementOrder/conditions": [{ type: "MaintenanceInProgress" }, { type: "Ready" }],
        conditions: begun.conditions,
      },
    });
  });
});

describe("the order that a Node states", () => {
  const begun = maintenanceAfter([PLANNED], order("begin", "new disk"), NOW_MS);
  const inProgress = begun.conditions.at(-1)!;
  const DAY_MS = 24 * 3600 * 1000;
  const endingIn = (days: number) => `until ${new Date(NOW_MS + days * DAY_MS).toISOString()}, by alice`;

  it.each([
    ["begun after a plan", begun.conditions, UNTIL_MS],
    ["planned", maintenanceAfter([], order("plan"), NOW_MS).conditions, UNTIL_MS],
    ["ended", maintenanceAfter([IN_PROGRESS], order("end"), NOW_MS).conditions, undefined],
    ["set by another writer", [{ ...inProgress, message: "rack 7" }], undefined],
    ["of another type", [{ ...inProgress, type: "DiskDegraded" }], undefined],
    ["with an end in thirty days", [{ ...inProgress, message: endingIn(30) }], NOW_MS + 30 * DAY_MS],
    [
      "with an end after thirty days, which no operator may give",
      [{ ...inProgress, message: endingIn(31) }],
      undefined,
    ],
    ["with an end that is no time", [{ ...inProgress, message: "until laterZ, by alice" }], undefined],
    ["without conditions", [], undefined],
  ])("%s", (_, conditions, untilMs) => {
    const stated = statedMaintenance({ status: { conditions } }, NOW_MS);
    expect(stated?.untilMs).toBe(untilMs);
    // The Node has its conditions.
    expect(missingConditions(stated, { status: { conditions } })).toEqual([]);
  });

  it("is none if a drop-in has set the condition, whatever its message", () => {
    const annotations = { "rollcall.dev/fact-conditions": "BackupFailed,MaintenanceInProgress" };
    const node = { metadata: { annotations }, status: { conditions: [inProgress] } };
    expect(statedMaintenance(node, NOW_MS)).toBeUndefined();
  });
});
