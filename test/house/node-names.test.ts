// Test files share a workerd, and with it its objects (vitest.config.ts): a Node's name belongs to one file. Two that
// use the same one fail only where both run in the same worker, one day in ten.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "./markdown.ts";

const files = globSync("test/{worker,stories,faults}/**/*.test.ts", {
  cwd: root,
  exclude: (path) => path.endsWith("faults/real"),
});

/** What brings a machine into being, or names one: see test/worker/support/machine.ts and test/faults/watched.ts. */
const NAMED =
  /(?:\b(?:enrolled|steady|watched|challenged|recorded|reporting)\(\s*|\bconst name = |\bnames: )"([a-z0-9][a-z0-9.-]*)"/g;

it("no two files name the same Node", () => {
  const named = new Map<string, Set<string>>();
  for (const file of files) {
    for (const [, name = ""] of readFileSync(join(root, file), "utf8").matchAll(NAMED))
      named.set(name, (named.get(name) ?? new Set()).add(file));
  }
  expect(named.size).toBeGreaterThan(100);
  const shared = [...named].filter(([, places]) => places.size > 1);
  expect(shared.map(([name, places]) => `${name}: ${[...places].sort().join(", ")}`)).toEqual([]);
});
