// Parses the project's Markdown for the tests of documents: the parts of CommonMark that the project uses.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { slug } from "../../docs/.vitepress/slug.ts";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface CodeBlock {
  /** The language of the block. "" if the block names none or is indented. */
  language: string;
  text: string;
  /** The number of the block's first line, from 1. */
  line: number;
}

export interface Page {
  /** The path of the page, from the root of the repository. */
  path: string;
  text: string;
  blocks: readonly CodeBlock[];
  /** The code that is marked with backticks within lines of prose. */
  spans: readonly string[];
  /** The page's text without any code. */
  prose: string;
  /** The anchors of the page's headings, in GitHub's form. */
  anchors: ReadonlySet<string>;
}

const OTHERS = new Set(["node_modules", "dist", ".git", ".rollcall", ".wrangler"]);

/** Lists every Markdown page of the project. */
export function pages(): Page[] {
  const exclude = (path: string) => OTHERS.has(path.split("/").at(-1) ?? "");
  const found = globSync(["*.md", "{docs,examples,infra,node-shim,shared,test,worker,.github}/**/*.md"], {
    cwd: root,
    exclude,
  });
  return found.sort().map((path) => parsePage(path, readFileSync(`${root}${path}`, "utf8")));
}

export function parsePage(path: string, text: string): Page {
  const { blocks, rest } = withoutBlocks(text);
  const spans: string[] = [];
  const prose = rest.replace(/(`+)(.+?)\1/gs, (_, _ticks: string, span: string) => {
    spans.push(span.trim());
    return "";
  });
  return { path, text, blocks, spans, prose, anchors: anchorsOf(rest) };
}

/** Returns the rows of each table whose first heading is `heading`, with trimmed cells. */
export function tableRows({ text }: Page, heading: string): string[][] {
  const lines = text.split("\n");
  const cells = (line: string) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  return lines.flatMap((line, at) => {
    if (!line.startsWith("|") || cells(line)[0] !== heading) return [];
    const end = lines.findIndex((other, index) => index > at && !other.startsWith("|"));
    return lines.slice(at + 2, end < 0 ? undefined : end).map(cells);
  });
}

function withoutBlocks(text: string): { blocks: CodeBlock[]; rest: string } {
  const blocks: CodeBlock[] = [];
  const rest: string[] = [];
  let open: (CodeBlock & { fence: string | null }) | null = null;
  let before = "";
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^ *(```+)(\S*)/.exec(line);
    if (open?.fence != null) {
      if (fence?.[1] === open.fence) {
        blocks.push(open);
        open = null;
      } else open.text += `${line}\n`;
      continue;
    }
    if (open && (line === "" || line.startsWith("    "))) {
      open.text += `${line.slice(4)}\n`;
      continue;
    }
    if (open) blocks.push(open);
    open = null;
    if (fence) open = { language: fence[2] ?? "", text: "", line: index + 2, fence: fence[1] ?? "" };
    else if (line.startsWith("    ") && before === "")
      open = { language: "", text: `${line.slice(4)}\n`, line: index + 1, fence: null };
    else rest.push(line);
    before = line;
  }
  if (open) blocks.push(open);
  return { blocks, rest: rest.join("\n") };
}

function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#{1,6} (.+)$/gm)) {
    const base = slug(heading);
    let anchor = base;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${base}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
