// docs/operations.md has a line for each message that the Worker logs, and for no other. Its table of alerts is generated
// (tables.test.ts); events, reasons, phases and states have tables of their own, which their tests compare.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { pages, root, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/operations.md")!;

/** A call of a log with a text, or with an object whose `message` is one. */
const LOGGED =
  /(?:\blog|console\.error)\(\s*(?:JSON\.stringify\(\s*)?(?:\{[^}]*?message: )?(`[^`]*`|"[^"]*")/g;
/** Texts that are made before they are logged. */
const SPOKEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "Node VALUE": "worker/tick/registration.ts: to the log and to history",
  "setters: VALUE": "worker/tick/status.ts: or `setters: well`",
  "setters: well": "worker/tick/status.ts",
};

/** A template's values are words in capitals, on the page as here. */
const shape = (text: string) =>
  text
    .replaceAll(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, "VALUE")
    .replaceAll(/\b[A-Z]{2,}\b|\bN\b/g, "VALUE")
    .trim();

const sources = globSync("worker/**/*.ts", { cwd: root, exclude: ["worker/page/**"] });
const logged = new Set(
  sources.flatMap((path) => {
    const source = readFileSync(join(root, path), "utf8");
    return [...source.matchAll(LOGGED)].map(([, text = ""]) => shape(text.slice(1, -1)));
  }),
);

it("each message of the Worker's log has its line, and each line its message", () => {
  const described = tableRows(page, "message").map(([message = ""]) => shape(message.replaceAll("`", "")));
  const known = [...logged, ...Object.keys(SPOKEN_ELSEWHERE)];
  expect(
    known.filter((message) => !described.includes(message)),
    "add a row to the table of the Worker's log in docs/operations.md: what it means, and what to do",
  ).toEqual([]);
  expect(described.filter((message) => !known.includes(message))).toEqual([]);
});

test("messages are found", () => {
  expect(logged).toContain("cluster token renewed");
  expect(logged).toContain("lease not renewed");
  expect(logged).toContain("fleet index: VALUE");
});
