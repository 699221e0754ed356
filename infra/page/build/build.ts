// Builds the page into static files of the Worker. File names contain a hash. The same sources give the same bytes.
import { build, type Metafile, type Plugin } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { headersFile } from "./headers.ts";
import { replaceFile } from "./replace-file.ts";

/** The limit for the compressed bytes that a browser loads before it shows the page. */
export const FIRST_LOAD_BYTES = 60 * 1024;

export interface BuiltFile {
  /** The path below worker/static, like `page/main-ABCDEFGH.js`. */
  path: string;
  contents: Uint8Array;
  /** The number of bytes after gzip -9, as a browser loads the file. */
  gzipBytes: number;
  isFirstLoad: boolean;
}

/** The icon's path in the template. The built file has a hash in its name. */
const ICON = "/page/icon.svg";

interface Assets {
  script: string;
  styles: string[];
  /** The paths of chunks that the entry script imports, directly or indirectly. */
  imported: string[];
}

/** Builds the page in the folder `source`. Throws for errors of esbuild, or a part that the template lacks. */
export async function buildPage(source: string): Promise<BuiltFile[]> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(source, "main.tsx"), join(source, "page.css")],
    absWorkingDir: source,
    // esbuild returns the files' contents without writing them. The paths are relative to this folder.
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
    plugins: [oneSharedChunk(source)],
    // Pictures in the style sheet become files of their own, because the content security policy allows no data: URL.
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

/**
 * Lets each module that is loaded on demand import the entry. The entry's modules are then shared by all such modules,
 * and esbuild puts them into one chunk. Without these imports, it makes a chunk for each set of modules that share code.
 * No module may be imported in both ways: an import that is not on demand would load it without the entry.
 */
function oneSharedChunk(source: string): Plugin {
  const onDemand = Symbol("loaded on demand");
  return {
    name: "one-shared-chunk",
    setup(builder) {
      builder.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
        kind === "dynamic-import" ? { path: join(resolveDir, path), pluginData: onDemand } : undefined,
      );
      builder.onLoad({ filter: /\.tsx?$/ }, ({ path, pluginData }) => {
        if (pluginData !== onDemand) return undefined;
        const contents = `${readFileSync(path, "utf8")}\nimport ${JSON.stringify(join(source, "main.tsx"))};`;
        return { contents, loader: "tsx", resolveDir: dirname(path) };
      });
    },
  };
}

/** Returns a hash with the number of characters of esbuild's hashes. */
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
  // The page's own styles come first, and the styles that components import follow.
  return { script, styles: [style, ...(entry?.cssBundle ? [entry.cssBundle] : [])], imported: [...imported] };
}

/** Returns index.html: the template with `{{style}}`, `{{preloads}}` and `{{script}}` replaced, each once. */
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

export function firstLoadBytes(files: readonly BuiltFile[]): number {
  return files.reduce((sum, { isFirstLoad, gzipBytes }) => sum + (isFirstLoad ? gzipBytes : 0), 0);
}

/** Returns a line with the size of the page. If the first load is too large, a table of all files follows. */
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

const ROOT = resolve(import.meta.dirname, "../../..");

/** Builds the page and writes its files, unless the first load exceeds its limit. `text` is for the terminal. */
export async function writePage(
  source = join(ROOT, "infra/page"),
  target = join(ROOT, "worker/static"),
  limitBytes = FIRST_LOAD_BYTES,
): Promise<{ text: string; isSmallEnough: boolean }> {
  const files = await buildPage(source);
  const text = sizeText(files, limitBytes);
  if (firstLoadBytes(files) > limitBytes) return { text, isSmallEnough: false };
  const folder = join(target, "page");
  mkdirSync(folder, { recursive: true });
  // A Worker may serve the folder meanwhile: the build writes index.html after its files, and deletes former files last.
  const named = files.filter(({ path }) => path.startsWith("page/"));
  for (const { path, contents } of [...named, ...files.filter((each) => !named.includes(each))])
    replaceFile(join(target, path), contents);
  const names = new Set(named.map(({ path }) => basename(path)));
  for (const name of readdirSync(folder))
    if (!names.has(name)) rmSync(join(folder, name), { recursive: true });
  replaceFile(join(target, "_headers"), Buffer.from(headersFile()));
  return { text, isSmallEnough: true };
}
