// Builds the page: TSX, CSS and a template become static files whose names have their hash. Writes nothing; the same sources
// become the same bytes.
import { build, type Metafile } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { headersFile } from "./headers.ts";
import { replaceFile } from "./replace-file.ts";

/** What a browser has to load before the page can show anything: index.html, styles, the entry and what it imports. */
export const FIRST_LOAD_BYTES = 60 * 1024;

export interface BuiltFile {
  /** Below worker/static: `page/main-ABCDEFGH.js`. */
  path: string;
  contents: Uint8Array;
  /** Of what travels: gzip -9. */
  gzipBytes: number;
  isFirstLoad: boolean;
}

/** How the template names it; what is below page/ has its hash in its name. */
const ICON = "/page/icon.svg";

interface Assets {
  script: string;
  styles: string[];
  /** Chunks that the entry imports, and those import, at once. */
  imported: string[];
}

/** `source`: typically infra/page. Throws what esbuild found wrong, or what the template lacks. */
export async function buildPage(source: string): Promise<BuiltFile[]> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(source, "main.tsx"), join(source, "page.css")],
    absWorkingDir: source,
    // Not written there: it is what the paths of the outputs are relative to.
    outdir: source,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    // What is given by the style sheet (a picture) is a file as well: CSP takes no data: URL.
    loader: { ".svg": "file" },
    entryNames: "page/[name]-[hash]",
    chunkNames: "page/[name]-[hash]",
    assetNames: "page/[name]-[hash]",
    logLevel: "silent",
  });
  const assets = assetsOf(metafile);
  const first = new Set([assets.script, ...assets.styles, ...assets.imported]);
  const icon = readFileSync(join(source, "icon.svg"));
  const iconPath = `page/icon-${hashOf(icon)}.svg`;
  const template = readFileSync(join(source, "index.html"), "utf8").replace(ICON, `/${iconPath}`);
  const built = outputFiles.map(({ path, contents }) => {
    const name = path.slice(source.length + 1).replaceAll("\\", "/");
    return builtFile(name, contents, first.has(name));
  });
  const index = builtFile("index.html", Buffer.from(filled(template, assets)), true);
  return [index, ...built, builtFile(iconPath, icon, false)].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** As long as esbuild's. */
const hashOf = (contents: Uint8Array) =>
  createHash("sha256").update(contents).digest("hex").slice(0, 8).toUpperCase();

function builtFile(path: string, contents: Uint8Array, isFirstLoad: boolean): BuiltFile {
  return { path, contents, gzipBytes: gzipSync(contents, { level: 9 }).length, isFirstLoad };
}

function assetsOf({ outputs }: Metafile): Assets {
  const entries = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint !== undefined);
  const [script, entry] = entries.find(([, { entryPoint }]) => entryPoint === "main.tsx") ?? [];
  const [style] = entries.find(([, { entryPoint }]) => entryPoint === "page.css") ?? [];
  if (script === undefined || style === undefined)
    throw new Error("the page has no script or no style sheet");
  const imported = new Set<string>();
  const follow = (path: string) => {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) {
      if (kind !== "import-statement" || imported.has(next)) continue;
      imported.add(next);
      follow(next);
    }
  };
  follow(script);
  // What components import themselves comes after what is of the whole page.
  return { script, styles: [style, ...(entry?.cssBundle ? [entry.cssBundle] : [])], imported: [...imported] };
}

/** index.html has a place for each: `{{style}}` in a link, `{{preloads}}` by itself, `{{script}}` in a script. */
function filled(template: string, { script, styles: [style = "", ...more], imported }: Assets): string {
  const links = [
    ...more.map((path) => `<link rel="stylesheet" href="/${path}" />`),
    ...imported.map((path) => `<link rel="modulepreload" href="/${path}" />`),
  ];
  const values = { style: `/${style}`, preloads: links.join("\n    "), script: `/${script}` };
  return Object.entries(values).reduce((text, [name, value]) => {
    if (text.split(`{{${name}}}`).length !== 2) throw new Error(`index.html needs {{${name}}} once`);
    return text.replace(`{{${name}}}`, () => value);
  }, template);
}

// How much a browser loads before the page shows anything, and whether that is within what was promised.

/** In bytes, as it travels. */
export function firstLoadBytes(files: readonly BuiltFile[]): number {
  return files.reduce((sum, { isFirstLoad, gzipBytes }) => sum + (isFirstLoad ? gzipBytes : 0), 0);
}

/** One line; where the first load is too large a table of all files. */
export function sizeText(files: readonly BuiltFile[], limitBytes = FIRST_LOAD_BYTES): string {
  const first = firstLoadBytes(files);
  const all = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
  const line = `the page: ${kiB(first)} KiB at first, of ${kiB(limitBytes)}; ${kiB(all)} KiB in all (gzip -9)`;
  if (first <= limitBytes) return line;
  const width = Math.max(...files.map(({ path }) => path.length));
  const rows = files
    .toSorted((a, b) => b.gzipBytes - a.gzipBytes)
    .map(
      ({ path, gzipBytes, isFirstLoad }) =>
        `  ${path.padEnd(width)}  ${kiB(gzipBytes).padStart(6)} KiB  ${isFirstLoad ? "at first" : "later"}`,
    );
  return [line, ...rows].join("\n");
}

const kiB = (bytes: number) => (bytes / 1024).toFixed(1);

// Writes the page to where wrangler takes the Worker's static files from; what was built before goes. A Worker that serves them
// meanwhile always finds a whole page.

const ROOT = resolve(import.meta.dirname, "../../..");

interface Written {
  /** What to tell whoever builds. */
  text: string;
  /** Is the first load within its limit? Nothing was written where it is not. */
  isSmallEnough: boolean;
}

export async function writePage(
  source = join(ROOT, "infra/page"),
  target = join(ROOT, "worker/static"),
  limitBytes = FIRST_LOAD_BYTES,
): Promise<Written> {
  const files = await buildPage(source);
  const text = sizeText(files, limitBytes);
  if (firstLoadBytes(files) > limitBytes) return { text, isSmallEnough: false };
  const folder = join(target, "page");
  mkdirSync(folder, { recursive: true });
  // index.html names the others: it comes once they are there, and the former ones go once nothing names them.
  const named = files.filter(({ path }) => path.startsWith("page/"));
  for (const { path, contents } of [...named, ...files.filter((each) => !named.includes(each))])
    replaceFile(join(target, path), contents);
  const names = new Set(named.map(({ path }) => basename(path)));
  for (const name of readdirSync(folder))
    if (!names.has(name)) rmSync(join(folder, name), { recursive: true });
  replaceFile(join(target, "_headers"), Buffer.from(headersFile()));
  return { text, isSmallEnough: true };
}
