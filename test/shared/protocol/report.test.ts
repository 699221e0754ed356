// Tests the limits of a report's time without an answer and of its OOM kills: at the limit and just over it.
import { expect, test } from "vitest";
import { reportSchema } from "../../../shared/protocol/report.ts";

const REPORT = {
  protocol: 1,
  startId: "start",
  machineTime: "2026-01-01T00:00:00Z",
  vitals: { signals: {} },
  factsDigest: "d".repeat(43),
};

test.each([
  [undefined, true],
  [1, true],
  [31_536_000, true],
  [0, false],
  [31_536_001, false],
  [-1, false],
  [1.5, false],
  ["60", false],
  [null, false],
])("noAnswerSeconds %j → %s", (noAnswerSeconds, isAccepted) => {
  const sent = noAnswerSeconds === undefined ? REPORT : { ...REPORT, noAnswerSeconds };
  expect(reportSchema.safeParse(sent).success).toBe(isAccepted);
});

test.each([
  [undefined, true],
  [0, true],
  [Number.MAX_SAFE_INTEGER, true],
  [Number.MAX_SAFE_INTEGER + 1, false],
  [-1, false],
  [1.5, false],
  ["1", false],
  [null, false],
])("oomKills %j → %s", (oomKills, isAccepted) => {
  const vitals = { signals: {}, ...(oomKills !== undefined && { oomKills }) };
  expect(reportSchema.safeParse({ ...REPORT, vitals }).success).toBe(isAccepted);
});
