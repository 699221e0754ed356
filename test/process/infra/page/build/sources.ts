// Makes small pages in folders of their own, for tests of the build.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export const SMALL_PAGE: Readonly<Record<string, string>> = {
  "index.html":
    '<link rel="icon" href="/page/icon.svg" /><link rel="stylesheet" href="{{style}}" />{{preloads}}<script type="module" src="{{script}}"></script>',
  "icon.svg": "<svg/>",
  "page.css": "body { color: black; }",
  "main.tsx": 'import { shared } from "./shared.ts";\nvoid import("./later.ts");\nconsole.log(shared);',
  "later.ts": 'import { shared } from "./shared.ts";\nconsole.log("later", shared);',
  "shared.ts": 'export const shared = "shared text";',
};

/** Makes a folder that is removed when the test ends. */
export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Writes the sources of a page; `change` replaces some of them. Returns their folder. */
export function sources(change: Record<string, string> = {}): string {
  const folder = temporary();
  for (const [path, text] of Object.entries({ ...SMALL_PAGE, ...change })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
