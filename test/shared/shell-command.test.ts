import { describe, expect, test } from "vitest";
import { shellCommand } from "../../shared/shell-command.ts";

describe("a command for a shell", () => {
  test.each([
    [["node", "a.ts", "--port", "1"], "node a.ts --port 1"],
    [["/a b/node", ""], "'/a b/node' ''"],
    [["echo", "it's", "$HOME", "*", "~"], String.raw`echo 'it'\''s' '$HOME' '*' '~'`],
  ])("%j → %s", (command, text) => {
    expect(shellCommand(command)).toBe(text);
  });
});
