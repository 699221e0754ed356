// Builds the import graph of the product, and finds what violates its structure: the order of the rooms, import
// cycles, small files.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "./markdown.ts";
import { EXCEPTIONS, PACKAGES, PARTS } from "./rooms.ts";

/** The imports of each file by its path. An import is a path from the root, or the name of a package. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** Lists the product's source files, each with its text. */
export function productFiles(): Map<string, string> {
  const paths = globSync("{shared,worker,node-shim,infra}/**/*.{ts,tsx}", {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist|static)$/.test(path),
  });
  return new Map(paths.sort().map((path) => [path, readFileSync(join(root, path), "utf8")]));
}

/** Reads the imports of each file: `import`, `import type`, `export … from` and `import()`. */
export function importGraph(files: ReadonlyMap<string, string>): ImportGraph {
  const imports = (path: string, text: string) =>
    [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"\n]+)"/g)].map(([, name = ""]) =>
      name.startsWith(".") ? normalize(join(dirname(path), name)) : name,
    );
  return new Map([...files].map(([path, text]) => [path, imports(path, text)]));
}

/**
 * Returns the reason why `from` must not import `to`. undefined if it may. `from` is a path from the root, `to` a
 * path or a package.
 */
export function refusedImport(from: string, to: string): string | undefined {
  const allowed = Object.entries(PACKAGES).find(([name]) => to === name || to.startsWith(`${name}/`))?.[1];
  if (allowed)
    return allowed.some((path) => from.startsWith(path)) ? undefined : `only ${allowed.join(", ")}`;
  if (!/^[\w./-]+\.tsx?$/.test(to)) return undefined;
  const [importer, imported] = [placeOf(from), placeOf(to)];
  if (!importer || !imported) return importer && "no part of the product";
  const exception = EXCEPTIONS.find((each) => isBelow(from, each.from) && isBelow(to, each.to));
  if (exception) return exception.allowed ? undefined : exception.reason;
  if (importer.part !== imported.part)
    return importer.part.above.includes(imported.part.path)
      ? undefined
      : `${importer.part.path} does not see it`;
  if (importer.room === imported.room || importer.floor === undefined || imported.floor === undefined)
    return undefined;
  return imported.floor < importer.floor ? undefined : "a room on the same floor or above";
}

const isBelow = (path: string, folder: string) => path.startsWith(`${folder}/`);

function placeOf(path: string) {
  const part = PARTS.filter((each) => isBelow(path, each.path)).sort(
    (a, b) => b.path.length - a.path.length,
  )[0];
  if (!part) return undefined;
  const [room = "", ...rest] = path.slice(part.path.length + 1).split("/");
  if (!part.floors || rest.length === 0) return { part, room };
  return { part, room, floor: part.floors.findIndex((floor) => floor.split(" ").includes(room)) };
}

/** Lists the rooms that have no floor although their part has floors. */
export function roomsWithoutFloor(files: Iterable<string>): string[] {
  const places = [...files].flatMap((path) => placeOf(path) ?? []);
  return [
    ...new Set(places.filter(({ floor }) => floor === -1).map(({ part, room }) => `${part.path}/${room}`)),
  ];
}

/**
 * Finds import cycles. A cycle is a path of files that returns to its first file; of several entangled cycles, at
 * least one is returned.
 */
export function circles(graph: ImportGraph): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]) => {
    const start = way.indexOf(path);
    if (start >= 0) found.push([...way.slice(start), path]);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...way, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
}

/** Lists the files that have fewer than `least` lines, and that exactly one other file of the product imports. */
export function smallFiles(files: ReadonlyMap<string, string>, graph: ImportGraph, least: number): string[] {
  const readers = new Map<string, number>();
  for (const imports of graph.values())
    for (const path of new Set(imports)) readers.set(path, (readers.get(path) ?? 0) + 1);
  return [...files]
    .filter(([path, text]) => text.split("\n").length - 1 < least && readers.get(path) === 1)
    .map(([path]) => path);
}
