// Tests questions about the journal: the command line of journalctl, and entries of each form.
import { describe, expect, test } from "vitest";
import { entryLines, logs } from "../../../node-shim/questions/journal.ts";
import { collected, NOW_MS, played } from "./asking.ts";

const ENTRY = {
  __REALTIME_TIMESTAMP: "1795780799123456",
  SYSLOG_IDENTIFIER: "nginx",
  _PID: "12",
  MESSAGE: "ready",
};

test.each([
  ["a unit", { unit: "nginx.service" }, "--reverse --unit=nginx.service"],
  ["the kernel", { kernel: "yes" as const }, "--reverse _TRANSPORT=kernel"],
  ["since a while ago", { unit: "a", since: 600 }, `--reverse --unit=a --since=@${NOW_MS / 1000 - 600}`],
])("%s → journalctl %s", async (_, parameters, args) => {
  const asking = played({ journalctl: `${JSON.stringify(ENTRY)}\nhalf a li\n` });
  const lines = await collected(logs({ lines: 100, ...parameters }, asking));
  expect(lines).toEqual(["2026-11-27T11:59:59.123Z nginx[12]: ready"]);
  expect(asking.ran).toEqual([
    `journalctl --no-pager --quiet --output=json --output-fields=MESSAGE,SYSLOG_IDENTIFIER,_COMM,_PID,_BOOT_ID,MESSAGE_ID ${args}`,
  ]);
});

describe("an entry", () => {
  test.each([
    ["of several lines", { MESSAGE: "a\nb" }, ["2026-11-27T11:59:59.123Z nginx[12]: a", "    b"]],
    ["with two messages", { MESSAGE: ["a", [98]] }, ["2026-11-27T11:59:59.123Z nginx[12]: a", "    b"]],
    ["of bytes", { MESSAGE: [104, 105, 255] }, ["2026-11-27T11:59:59.123Z nginx[12]: hi\ufffd"]],
    [
      "that is long",
      { MESSAGE: null },
      ["2026-11-27T11:59:59.123Z nginx[12]: (a message of more than 4096 bytes)"],
    ],
    ["without a time", { __REALTIME_TIMESTAMP: "x" }, ["(no time) nginx[12]: ready"]],
  ])("%s", (_, over, lines) => {
    expect(entryLines({ ...ENTRY, ...over })).toEqual(lines);
  });
});
