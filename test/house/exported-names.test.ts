// No two exported types share a name: whoever reads one needs not ask which.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./markdown.ts";

/** The embedded apiserver is a program of its own. */
const exclude = (path: string) => /node_modules|(^|\/)dist$|infra\/local\/apiserver$/.test(path);
const files = globSync("{shared,worker,node-shim,infra}/**/*.ts", { cwd: root, exclude });

/** prettier lets every declaration begin its line. */
const DECLARATION = /^export (?:abstract )?(?:interface|type|class) ([A-Za-z_]\w*)/gm;

function declared(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of files.sort()) {
    for (const [, name = ""] of readFileSync(join(root, file), "utf8").matchAll(DECLARATION)) {
      found.set(name, [...(found.get(name) ?? []), file]);
    }
  }
  return found;
}

it("no two exported types share a name", () => {
  const all = declared();
  expect(all.size).toBeGreaterThan(200);
  const shared = [...all].filter(([, places]) => places.length > 1);
  expect(shared.map(([name, places]) => `${name}: ${places.join(", ")}`)).toEqual([]);
});
