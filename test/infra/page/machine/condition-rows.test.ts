import { expect, it } from "vitest";
import { absolute } from "../../../../infra/page/base/relative-time.ts";
import { conditionRows, maintained } from "../../../../infra/page/machine/condition-rows.ts";
import { conditionText } from "../../../../shared/fleet/well-conditions.ts";

const SINCE = "2026-01-01T11:00:00Z";
const node = (...conditions: object[]) => ({ status: { conditions } });

it("what is wrong first, then Ready, then by name", () => {
  const conditions = [
    { type: "PIDPressure", status: "False" },
    { type: "DiskPressure", status: "True" },
    { type: "Ready", status: "True" },
    { type: "Alarm", status: "False" },
  ];
  expect(conditionRows({ conditions, summary: null, node: null }).map(({ type }) => type)).toEqual([
    "DiskPressure",
    "Ready",
    "Alarm",
    "PIDPressure",
  ]);
});

it("decided last, with reason and time of the Node where that has the same status", () => {
  const conditions = [{ type: "Ready", status: "True", message: "now" }];
  const written = { type: "Ready", status: "True", reason: "R", message: "then", lastTransitionTime: SINCE };
  expect(conditionRows({ conditions, summary: null, node: node(written) })).toEqual([
    { type: "Ready", status: "True", reason: "R", message: "now", since: SINCE, isWell: true },
  ]);
});

it("decided last, and the Node has another status yet → its reason and time are not of this one", () => {
  const conditions = [{ type: "Ready", status: "False", message: "now" }];
  const written = { type: "Ready", status: "True", reason: "R", message: "then", lastTransitionTime: SINCE };
  expect(conditionRows({ conditions, summary: null, node: node(written) })).toEqual([
    { type: "Ready", status: "False", reason: "", message: "now", since: null, isWell: false },
  ]);
});

it("set by others on the Node alone → shown as well", () => {
  const written = { type: "NetworkUnavailable", status: "True", reason: "NoRoute", message: "no route" };
  const [row] = conditionRows({ conditions: [], summary: null, node: node(written) });
  expect(row).toMatchObject({ type: "NetworkUnavailable", message: "no route", isWell: false });
  expect(row && conditionText(row)).toBe("NetworkUnavailable is True: no route");
});

const UNTIL_MS = Date.UTC(2026, 0, 31, 12);

it.each([
  [
    "True",
    { severity: "off", sentence: `In maintenance until ${absolute(UNTIL_MS)}, by alice. Not reporting.` },
  ],
  ["False", { severity: "bad", sentence: "Not reporting." }],
])("MaintenanceInProgress is %s → the diagnosis is %j", (status, expected) => {
  const row = { type: "MaintenanceInProgress", status, message: "until 2026-01-31T12:00:00Z, by alice" };
  const rows = conditionRows({ conditions: [row], summary: null, node: null });
  expect(maintained({ severity: "bad", sentence: "Not reporting." }, rows)).toEqual(expected);
});
