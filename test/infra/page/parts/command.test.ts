import { expect, it, test } from "vitest";
import { isTyped, joinCommand, markedParts } from "../../../../infra/page/parts/command.tsx";

it.each([
  [
    "with a token: through a pipe, so that no process list shows it",
    "rct_1",
    "printf %s 'rct_1' | node-shim join --url https://r.example.com --join-token-file - --install-service",
  ],
  [
    "without one: out of a file",
    undefined,
    "node-shim join --url https://r.example.com --join-token-file /root/join-token --install-service",
  ],
])("%s", (_, token, command) => {
  expect(joinCommand("https://r.example.com", token)).toBe(command);
});

it("commands between backticks, with the machine's name for NAME", () => {
  expect(markedParts("See `rollcall node NAME`. NAMED", "edge-7")).toEqual([
    { isCommand: false, text: "See " },
    { isCommand: true, text: "rollcall node edge-7" },
    { isCommand: false, text: ". NAMED" },
  ]);
  expect(markedParts("", "edge-7")).toEqual([]);
  expect(markedParts("What a machine says of its NAME")[0]?.text).toBe("What a machine says of its NAME");
});

it("names of pages, but not within a command", () => {
  expect(markedParts("See docs/apiserver.md: `cat docs/page.md`")).toEqual([
    { isCommand: false, text: "See " },
    { isCommand: false, text: "docs/apiserver.md", page: "apiserver" },
    { isCommand: false, text: ": " },
    { isCommand: true, text: "cat docs/page.md" },
  ]);
});

test.each([
  ["rollcall forget edge-7", true, true],
  ["kubectl uncordon edge-7", true, true],
  ["two shims", true, false],
  ["rollcall", true, false],
  ["rollcall approve edge-7 KEY", true, false],
  ["rollcall forget edge-7", false, false],
])("%s (command: %s) → worth copying: %s", (text, isCommand, typed) => {
  expect(isTyped({ isCommand, text })).toBe(typed);
});
