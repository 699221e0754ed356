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

const EXCEPTIONS: Readonly<Record<string, string>> = {
  Call: "node-shim: of D-Bus and of gRPC, which no file imports both",
  Enrolled: "the machine as the shim has it, and as the Worker does",
  Given: "of the configuration and of gRPC messages",
  Message: "of D-Bus and of gRPC",
};

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
  const shared = [...declared()].filter(([name, places]) => places.length > 1 && !(name in EXCEPTIONS));
  expect(shared.map(([name, places]) => `${name}: ${places.join(", ")}`)).toEqual([]);
});

it("each exception is one", () => {
  const all = declared();
  expect(Object.keys(EXCEPTIONS).filter((name) => (all.get(name)?.length ?? 0) < 2)).toEqual([]);
  expect(all.size).toBeGreaterThan(200);
});
