// Tests the line about a wait: written only on a terminal, never wider than the terminal, and removed at the end.
import { expect, it, test } from "vitest";
import { progressLine } from "../../../node-shim/cli/worker-commands.ts";

function written(stream: { isTTY?: boolean; columns?: number }, texts: string[]): string {
  let all = "";
  const { show, clear } = progressLine({ ...stream, write: (text) => (all += text) }, "waiting: ");
  for (const text of texts) show(text);
  clear();
  return all;
}
const CLEAR = "\r\u{1B}[K";

test.each<[situation: string, stream: { isTTY?: boolean; columns?: number }, texts: string[], all: string]>([
  ["a terminal", { isTTY: true, columns: 80 }, ["a", "b"], `${CLEAR}waiting: a${CLEAR}waiting: b${CLEAR}`],
  ["the same text again", { isTTY: true, columns: 80 }, ["a", "a"], `${CLEAR}waiting: a${CLEAR}`],
  ["a narrow terminal", { isTTY: true, columns: 12 }, ["abcdef"], `${CLEAR}waiting: ab${CLEAR}`],
  ["a pipe", {}, ["a", "b"], ""],
])("%s", (_situation, stream, texts, all) => {
  expect(written(stream, texts)).toBe(all);
});

it("no wait → nothing is written", () => {
  expect(written({ isTTY: true }, [])).toBe("");
});
