// Checks that each block of commands in a page names the test that runs it, or the reason why no test does.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { type CodeBlock, type Page, pages, parsePage, root } from "./markdown.ts";
import { isCommands } from "./page-commands.ts";

const MARK = /<!-- (?:(not run: .+)|run by (\S+)) -->/;
/** Matches the mark that applies to all blocks of a page. */
const OF_PAGE = /<!-- commands of this page: (?:(not run: .+)|run by (\S+)) -->/;

/** Returns the marks of the blocks of commands, and the blocks without a mark. */
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

const checked = pages();

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
    ["that begins with a prompt", "# A\n\n    $ rollcall versions\n    VERSION\n", 1],
    ["that begins with variables", "# A\n\n    A=1 B_C=x npm ci\n", 1],
    [
      "of a package manager, a key's or a forge's program",
      "# A\n\n    apt-get update\n\nText\n\n    gpg -k\n\nText\n\n    gh help\n",
      3,
    ],
    ["that is a file of variables", "# A\n\n    HTTPS_PROXY=http://proxy:3128\n    A=1 b\n", 0],
    ["that is a picture", "# A\n\n    node-shim ──► worker\n", 0],
    ["that is no command", "# A\n\n    GET /v1/nodes\n\n```json\n{}\n```\n", 0],
  ])("%s → %i faults", (_, text, faults) => {
    expect(marksOf(parsePage("docs/a.md", text)).unmarked).toHaveLength(faults);
  });
});
