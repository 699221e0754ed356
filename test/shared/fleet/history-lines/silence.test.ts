// Tests that the line about a silence is parsed as it was written.
import { describe, expect, it } from "vitest";
import { parseSilence, silenceText } from "../../../../shared/fleet/history-lines.ts";

const SINCE_MS = Date.UTC(2026, 0, 1, 12, 0, 0, 7);

describe("a silence's line", () => {
  it.each([
    "Ready True: the shim is posting ready status",
    "it never said anything",
    "two\nlines; last said: x",
  ])("with %j → parsed as it was written", (said) =>
    expect(parseSilence(silenceText({ sinceMs: SINCE_MS, said }))).toEqual({ sinceMs: SINCE_MS, said }),
  );

  it("that was cut → its time, and the rest of the text", () => {
    const text = `${silenceText({ sinceMs: SINCE_MS, said: "m".repeat(2000) }).slice(0, 1023)}…`;
    expect(parseSilence(text)?.sinceMs).toBe(SINCE_MS);
  });

  it.each([
    ["a return's", "heard of again after 720 s"],
    ["an outage's", "no answer from 2026-01-01T12:00:00Z to 2026-01-01T12:05:00Z"],
    ["one without a time", "silent since ever; last said: nothing"],
    ["one of a newer version", "silent since 2026-01-01T12:00:00Z"],
    ["none", ""],
  ])("%s → none", (_, text) => expect(parseSilence(text)).toBeNull());
});
