// Each block of commands in README, CONTRIBUTING, docs/ and examples/ is run by a test, or says why not. So a page with a
// command that nobody has tried is noticed.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { type CodeBlock, type Page, pages, parsePage, root } from "./markdown.ts";

const PAGES = /^(README|CONTRIBUTING)\.md$|^(docs|examples)\//;
const SHELLS = new Set(["sh", "bash", "console"]);
/** What a block of commands without a language begins with. */
const COMMAND =
  /^(sudo |kubectl |npm |npx |node |node-shim |rollcall |curl |systemctl |journalctl |sh |source |install |wrangler )/;

/** Pictures begin with names of programs as well. */
const PICTURE = /[─═│║►▼]/;

const isCommands = ({ language, text }: CodeBlock) =>
  SHELLS.has(language) || (language === "" && COMMAND.test(text.trimStart()) && !PICTURE.test(text));

const MARK = /<!-- (?:(not run: .+)|run by (\S+)) -->/;
/** Of all blocks of a page, anywhere in it. */
const OF_PAGE = /<!-- commands of this page: (?:(not run: .+)|run by (\S+)) -->/;

/** The marks of the blocks of commands, and the lines of those without one. */
function marksOf({ text, blocks }: Page): { marks: RegExpExecArray[]; unmarked: CodeBlock[] } {
  const ofPage = OF_PAGE.exec(text);
  if (ofPage) return { marks: [ofPage], unmarked: [] };
  const lines = text.split("\n");
  const marks: RegExpExecArray[] = [];
  const unmarked = blocks.filter(isCommands).filter((block) => {
    const above = lines
      .slice(0, block.line - 1)
      .findLast((line) => line !== "" && !line.trim().startsWith("```"));
    const mark = MARK.exec(above ?? "");
    if (mark) marks.push(mark);
    return !mark;
  });
  return { marks, unmarked };
}

const checked = pages().filter(({ path }) => PAGES.test(path));

it("each block of commands is run by a test, or says why not", () => {
  const faults = checked.flatMap((page) =>
    marksOf(page).unmarked.map(
      ({ line }) =>
        `${page.path}:${line}: put \`<!-- run by test/… -->\` or \`<!-- not run: why -->\` on a line above the block`,
    ),
  );
  expect(faults).toEqual([]);
});

it("each test that is named is there", () => {
  const named = checked.flatMap((page) => marksOf(page).marks.flatMap(([, , path]) => path ?? []));
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

describe("a block", () => {
  test.each<[situation: string, text: string, faults: number]>([
    ["of a shell, without a mark", "# A\n\n```sh\nls\n```\n", 1],
    ["that is indented, without a mark", "# A\n\n    npm ci\n", 1],
    ["that says why it is not run", "# A\n\n<!-- not run: it takes hours -->\n\n```sh\nls\n```\n", 0],
    ["that names its test", "# A\n\n<!-- run by test/e2e/start.test.ts -->\n\n    npm start\n", 0],
    [
      "below another one, whose mark is not its own",
      "# A\n\n<!-- not run: a -->\n\n    npm a\n\nText\n\n    npm b\n",
      1,
    ],
    ["of a page that says it of all", "# A\n\n<!-- commands of this page: not run: b -->\n\n    npm a\n", 0],
    ["that is a picture", "# A\n\n    node-shim ──► worker\n", 0],
    ["that is no command", "# A\n\n    GET /v1/nodes\n\n```json\n{}\n```\n", 0],
  ])("%s → %i faults", (_, text, faults) => {
    expect(marksOf(parsePage("docs/a.md", text)).unmarked).toHaveLength(faults);
  });
});
