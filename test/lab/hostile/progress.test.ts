// Tests that the progress of a run is shown only on a terminal.
import { expect, test } from "vitest";
import { progressOn } from "./progress.ts";

test.each<[where: string, isTTY: boolean | undefined, written: string[]]>([
  ["a terminal", true, ["\r\u001B[K1 of 2", "\r\u001B[K"]],
  ["a file", false, []],
  ["a pipe, without isTTY", undefined, []],
])("on %s", (_, isTTY, written) => {
  const texts: string[] = [];
  const stream = { write: (text: string) => texts.push(text), ...(isTTY !== undefined && { isTTY }) };
  const progress = progressOn(stream);
  progress.show("1 of 2");
  progress.clear();
  expect(texts).toEqual(written);
});
