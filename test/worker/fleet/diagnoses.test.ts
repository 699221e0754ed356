// Tests which deliveries have a machine's diagnosis, when the machine is asked for it, and what a receiver then gets.
import { describe, expect, it } from "vitest";
import type { MachineDiagnosis } from "../../../shared/fleet/alert.ts";
import { NOTIFICATION_LIMITS } from "../../../shared/protocol/limits.ts";
import { MANY_SILENT } from "../../../worker/fleet/diagnoses.ts";
import { findingsIn } from "../../../worker/fleet/diagnose.ts";
import { machineName } from "../support/made-up-fleet.ts";
import { alertsOf, type NotifiedFleet, withFleet } from "../support/notified-fleet.ts";

const MINUTE = 60_000;
const FULL: MachineDiagnosis = { findings: ["fail  disk  / is full"], none: "" };
const WISH = { delaySeconds: 0, withDiagnosis: true };

const diagnosesIn = ({ deliveries }: NotifiedFleet) =>
  deliveries
    .flatMap(alertsOf)
    .map(({ diagnosis }) => diagnosis && (diagnosis.none || diagnosis.findings.join()));

describe("a machine is asked for its diagnosis", () => {
  type Situation = (fleet: NotifiedFleet) => Promise<void> | void;
  it.each<[string, object, Situation, (string | undefined)[], number]>([
    ["not ready → its findings", {}, ({ goes }) => goes(1, "not-ready"), [FULL.findings[0]], 1],
    [
      "the switch is off → nothing",
      { withDiagnosis: false },
      ({ goes }) => goes(1, "not-ready"),
      [undefined],
      0,
    ],
    ["silent → nothing", {}, ({ goes }) => goes(1, "silent"), [undefined], 0],
    [
      "the alert ends → the end has no diagnosis",
      {},
      async ({ goes, pass }) => {
        goes(1, "not-ready");
        await pass(MINUTE);
        goes(1, "ready");
      },
      [FULL.findings[0], undefined],
      1,
    ],
    [
      "a repeated alert → the repetition has none",
      { repeatMinutes: 5 },
      async ({ goes, pass }) => {
        goes(1, "not-ready");
        await pass(5 * MINUTE);
      },
      [FULL.findings[0], undefined],
      1,
    ],
    [
      "it hangs → the alert comes after the deadline, and says so",
      {},
      ({ goes, machines }) => {
        machines.answer = "hangs";
        goes(1, "not-ready");
      },
      ["no answer within 8 s"],
      1,
    ],
    [
      "more machines at once than the Worker asks → the others are not asked",
      {},
      ({ goes }) => [1, 2, 3, 4].forEach((index) => goes(index, "not-ready")),
      [...Array<string>(3).fill(FULL.findings[0]!), "more than 3 machines have failed at once"],
      3,
    ],
    [
      "an outage of many machines → none is asked",
      { states: ["not-ready"] },
      ({ goes }) => {
        for (let n = 0; n < MANY_SILENT; n++) goes(2 + 40 * n, "silent");
        goes(1, "not-ready");
      },
      ["an outage of many machines lasts"],
      0,
    ],
  ])("%s", (_, wish, situation, expected, questions) =>
    withFleet(async (fleet) => {
      await fleet.add({ ...WISH, ...wish });
      fleet.machines.answer = FULL;
      await situation(fleet);
      await fleet.pass(MINUTE);
      expect(diagnosesIn(fleet)).toEqual(expected);
      expect(fleet.asked).toHaveLength(questions);
    }),
  );

  it("by the receiver's name; each attempt to deliver, also after an eviction, sends the same text", () =>
    withFleet(async (fleet) => {
      await fleet.add(WISH);
      fleet.machines.answer = FULL;
      fleet.behaviour["ops"] = 500;
      fleet.goes(1, "not-ready");
      await fleet.pass(MINUTE);
      fleet.machines.answer = { findings: [], none: "the machine finds no fault" };
      fleet.evict();
      fleet.behaviour["ops"] = 200;
      await fleet.pass(MINUTE);
      expect(fleet.asked).toEqual([`ops asks ${machineName(1)}`]);
      expect(fleet.deliveries.length).toBeGreaterThan(1);
      expect(new Set(diagnosesIn(fleet))).toEqual(new Set(FULL.findings));
    }));

  it("not for a message that had to wait behind another one", () =>
    withFleet(async (fleet) => {
      await fleet.add(WISH);
      fleet.machines.answer = FULL;
      fleet.behaviour["ops"] = 500;
      fleet.goes(1, "not-ready");
      await fleet.pass(0);
      fleet.goes(2, "not-ready");
      await fleet.pass(3 * MINUTE);
      fleet.behaviour["ops"] = 200;
      await fleet.pass(10 * MINUTE);
      expect(diagnosesIn(fleet).at(-1)).toBe("this message had to wait");
    }));
});

describe("the findings of an answer", () => {
  const { findings, diagnosisBytes } = NOTIFICATION_LIMITS;
  const bytesOf = (lines: string[]) => new TextEncoder().encode(lines.join("")).length;
  it.each<[string, string, string[]]>([
    [
      "faults and warnings alone",
      "fail  disk  / is full\n          → ask disks\nwarn  dns  slow\nno fault found: x\n",
      ["fail  disk  / is full", "warn  dns  slow"],
    ],
    ["control characters → visible", "fail  disk  \u001b[2J\u202e\n", ["fail  disk  \\u001b[2J\\u202e"]],
    ["no finding", "no fault found: disk\n", []],
    [
      "more findings than the most",
      "fail  a  b\n".repeat(findings + 1),
      Array<string>(findings).fill("fail  a  b"),
    ],
  ])("%s", (_, text, expected) => expect(findingsIn(text)).toEqual(expected));

  it.each([
    ["at the limit → whole", diagnosisBytes - 12, false],
    ["one byte more → cut", diagnosisBytes - 11, true],
  ])("%s", (_, length, isCut) => {
    const lines = findingsIn(`fail  disk  ${"x".repeat(length)}\nfail  b  c\n`);
    expect([bytesOf(lines) <= diagnosisBytes, lines.length, lines[0]!.endsWith("…")]).toEqual([
      true,
      1,
      isCut,
    ]);
  });
});
