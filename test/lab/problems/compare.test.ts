// Tests which differences of node-problem-detector and the shim are found, and which have a reason.
import { expect, test } from "vitest";
import { compareProblems, type NpdStatus, type Reported, reportedByNpd } from "./compare.ts";

const OOM = { severity: "warn", reason: "OOMKilling", message: "Killed process 7" } as const;
const condition = (status: string) => ({
  type: "KernelDeadlock",
  status,
  reason: "DockerHung",
  message: "a\nb",
});
const npd: NpdStatus[] = [
  { events: null, conditions: [condition("False")] },
  { events: [OOM], conditions: [condition("True")] },
];
const same: Reported = {
  conditions: { KernelDeadlock: "True DockerHung: a b" },
  events: ["Warning OOMKilling: Killed process 7"],
};

test.each<[situation: string, statuses: NpdStatus[], ours: Reported, found: (string | null)[]]>([
  ["the same, but for the line breaks of a condition", npd, same, []],
  [
    "another event of a reason",
    [...npd, { events: [{ ...OOM, message: "x" }], conditions: null }],
    same,
    ["a flood is one event, and the shim counts the others for a minute"],
  ],
  ["no event of a reason", npd, { ...same, events: [] }, [null]],
  ["an event of the shim alone", npd, { ...same, events: [...same.events, "Warning B: c"] }, [null]],
  ["another status", npd, { ...same, conditions: { KernelDeadlock: "False DockerHung: a b" } }, [null]],
  ["a condition of one alone", npd, { ...same, conditions: {} }, [null]],
])("%s → %j", (_, statuses, ours, found) => {
  expect(compareProblems(reportedByNpd(statuses), ours).map(({ why }) => why)).toEqual(found);
});
