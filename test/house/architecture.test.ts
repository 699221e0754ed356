// Compares docs/architecture.md with the source tree. Each folder has its line; each function in the page's table of
// questions exists.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { pages, root, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/architecture.md")!;
const codeIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

describe("folders", () => {
  const described = new Set(tableRows(page, "folder").flatMap(([folder]) => codeIn(folder)));

  it.each(["worker", "node-shim", "shared", "infra", "test"])("each folder of %s has its line", (part) => {
    const missing = foldersBelow(part, part === "test" ? 1 : 2).filter(
      (folder) => !described.has(`${folder}/`) && !isMirror(folder),
    );
    expect(missing).toEqual([]);
  });

  it("each line is of a folder that is there", () => {
    expect([...described].filter((folder) => !existsSync(join(root, folder)))).toEqual([]);
  });
});

/**
 * Returns true if the folder has the tests of a source folder, as test/infra and test/process/infra have those of
 * infra.
 */
function isMirror(folder: string): boolean {
  const source = /^test\/(?:process\/|runtimes\/|cluster\/)?(.+)$/.exec(folder)?.[1];
  return source !== undefined && existsSync(join(root, source));
}

/** Lists folders down to this number of levels below a folder, without those of npm and the build. */
function foldersBelow(folder: string, levels: number): string[] {
  if (levels === 0) return [];
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const folders = entries
    .filter((entry) => entry.isDirectory() && !["node_modules", "dist"].includes(entry.name))
    .map(({ name }) => `${folder}/${name}`)
    .filter((path) => !path.startsWith("worker/static/"));
  return folders.flatMap((each) => [each, ...foldersBelow(each, levels - 1)]);
}

describe("where do I find", () => {
  const answers = tableRows(page, "question");

  it("the ten questions of newcomers are answered", () => {
    expect(answers.map(([question]) => question)).toEqual(
      expect.arrayContaining([
        "the ticket check",
        "the lease PUT",
        "the Ready condition",
        "the reboot event",
        "the memory-pressure threshold",
        "the CRI client",
        "the join token's permission check",
        "the status patch",
        "the 409 answer",
        "the shutdown inhibitor",
      ]),
    );
  });

  test.each(answers)("%s → in %s the function %s", (_question, file, name) => {
    const [[path = ""], [identifier = ""]] = [codeIn(file), codeIn(name)];
    const source = readFileSync(join(root, path), "utf8");
    // The named identifier must be declared in that file: as a function, a constant, or a method of a class or an
    // object.
    expect(source).toMatch(
      new RegExp(
        `(function|const|class) #?${identifier}\\b|^ +(async |static )*#?${identifier}(<[^>]*>)?\\(.*[{,(]$`,
        "m",
      ),
    );
  });
});
