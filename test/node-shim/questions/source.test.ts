// Tests the search for the newest lines: their order, and what it reads at most.
import { expect, it, test } from "vitest";
import { newestLines } from "../../../node-shim/questions/source.ts";
import { QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { collected, each, played } from "./asking.ts";

const NEWEST_FIRST = ["5 error", "4 fine", "3 error", "2 fine", "1 error"];

test.each([
  ["the last two", { lines: 2 }, ["4 fine", "5 error"]],
  ["with a text", { lines: 2, grep: "error" }, ["3 error", "5 error"]],
  ["more than there are", { lines: 9, grep: "fine" }, ["2 fine", "4 fine"]],
  ["a text that is no expression", { lines: 9, grep: "(e+)+$" }, []],
])("%s → the oldest of them first", async (_, newest, expected) => {
  const asking = played();
  expect(await collected(newestLines(each(NEWEST_FIRST), newest, asking))).toEqual(expected);
  expect(asking.wasCut()).toBe(false);
});

it("a search for a part of a secret → finds nothing, as the answer would not have it", async () => {
  const lines = each(["token=hunter2 sent"]);
  expect(await collected(newestLines(lines, { lines: 9, grep: "hunter" }, played()))).toEqual([]);
});

it("a search for a short line of a key → finds nothing", async () => {
  const lines = each(["-----END PRIVATE KEY-----", "QUJD", "-----BEGIN PRIVATE KEY-----"]);
  expect(await collected(newestLines(lines, { lines: 9, grep: "QUJD" }, played()))).toEqual([]);
});

it("a log without end and without the text → is read up to the limit, and is cut", async () => {
  const line = "x".repeat(1024 * 1024);
  let read = 0;
  const endless = (function* () {
    for (;;) {
      read += line.length;
      yield line;
    }
  })();
  const asking = played();
  expect(await collected(newestLines(each(endless), { lines: 1, grep: "y" }, asking))).toEqual([]);
  expect([read, asking.wasCut()]).toEqual([QUESTION_LIMITS.scannedBytes + line.length, true]);
});

it("more than an answer may have → the newest that fit", async () => {
  const length = 4000;
  const lines = Array.from({ length: 400 }, (_, at) => `${at} `.padEnd(length, "x"));
  const asking = played();
  const found = await collected(newestLines(each(lines), { lines: 400 }, asking));
  expect(found.length).toBe(Math.floor(QUESTION_LIMITS.answerBytes / (length + 1)));
  expect([found.at(-1), asking.wasCut()]).toEqual([lines[0], true]);
});
