// Tests the shim's log if its reader does not take the lines.
import { expect, it } from "vitest";
import { MAX_WAITING_LOG_BYTES, stderrLog } from "../../../node-shim/base/log.ts";

const TIME = "2026-02-03T04:05:06.007Z";
const LINE = `${JSON.stringify({ time: TIME, level: "info", message: "the shutdown was cancelled" })}\n`;

it.each([
  ["nothing waits", 0, [LINE]],
  ["the line fits exactly", MAX_WAITING_LOG_BYTES - LINE.length, [LINE]],
  ["the line is one byte too long", MAX_WAITING_LOG_BYTES - LINE.length + 1, []],
])("%s → the lines that are written", (_, writableLength, expected) => {
  const written: string[] = [];
  const target = { writableLength, write: (text: string) => written.push(text) };
  stderrLog(() => TIME, undefined, target)("info", "the shutdown was cancelled");
  expect(written).toEqual(expected);
});
