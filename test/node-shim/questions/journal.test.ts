// Tests questions about the journal: the command line of journalctl, and entries of each form.
import { describe, expect, test } from "vitest";
import { entryLines, follow, logs } from "../../../node-shim/questions/journal.ts";
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

describe("follow", () => {
  const entries = (...messages: string[]) =>
    messages.map((MESSAGE) => `${JSON.stringify({ ...ENTRY, MESSAGE })}\n`).join("");

  test("journalctl follows, and each line comes with it", async () => {
    const asking = played({ journalctl: entries("one", "two") });
    const lines = follow({ lines: 5, unit: "nginx", since: 60 }, asking)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toMatch(/: one$/);
    expect(asking.ran).toEqual([expect.stringContaining(`--follow --lines=5 --unit=nginx --since=@`)]);
    expect((await lines.next()).value).toMatch(/: two$/);
  });

  test.each([
    ["lines with a text", ["a hit", "nothing", "hit"], "hit", ["a hit", "hit"]],
    ["no part of a secret is found", ["token=hunter2", "hunter3"], "hunter2", []],
    [
      "a key in PEM, from its BEGIN on",
      ["-----BEGIN PRIVATE KEY-----\nshort\n-----END PRIVATE KEY-----", "after"],
      "",
      ["[redacted]", "[redacted]", "[redacted]", "after"],
    ],
  ])("%s", async (_, messages, grep, expected) => {
    const asking = played({ journalctl: entries(...messages) });
    const found = await collected(follow({ lines: 5, kernel: "yes", grep }, asking));
    expect(found.map((line) => line.replace(/^.*nginx\[12\]: /, ""))).toEqual(expected);
  });
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
