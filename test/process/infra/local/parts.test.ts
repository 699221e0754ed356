// Tests that a shell can run the commands that are printed for it.
import { execFileSync } from "node:child_process";
import { array, sample, string } from "fast-check";
import { expect, it } from "vitest";
import { shellCommand } from "../../../../infra/local/parts.ts";

it("commands of any words → a shell reads the same words", () => {
  const word = string({ unit: "grapheme-ascii" }).filter((text) => !text.includes("\0"));
  const commands = sample(array(word, { maxLength: 20 }), 200);
  const script = commands.map((words) => shellCommand(["printf", String.raw`%s\0`, ...words, "end"]));
  const read = execFileSync("sh", ["-s"], { input: script.join("\n"), encoding: "utf8" }).split("\0");
  expect(read).toEqual([...commands.flatMap((words) => [...words, "end"]), ""]);
});
