import { execFileSync } from "node:child_process";
import { array, assert, property, string } from "fast-check";
import { describe, expect, it, test } from "vitest";
import { shellCommand } from "../../../infra/local/parts.ts";

describe("a command for a shell", () => {
  test.each([
    [["node", "a.ts", "--port", "1"], "node a.ts --port 1"],
    [["/a b/node", ""], "'/a b/node' ''"],
    [["echo", "it's", "$HOME", "*", "~"], String.raw`echo 'it'\''s' '$HOME' '*' '~'`],
  ])("%j → %s", (command, text) => {
    expect(shellCommand(command)).toBe(text);
  });

  it("any words → a shell reads the same words", () => {
    const word = string({ unit: "grapheme-ascii" }).filter((text) => !text.includes("\0"));
    assert(
      property(array(word, { maxLength: 20 }), (words) => {
        const text = shellCommand(["printf", String.raw`%s\0`, "", ...words]);
        const read = execFileSync("sh", ["-c", text], { encoding: "utf8" }).split("\0");
        expect(read).toEqual(["", ...words, ""]);
      }),
      { numRuns: 25 },
    );
  });
});
