// Checks the structure of the product: rooms in their order, no import cycles, no files that are too small to stand
// alone. oxlint checks the other limits: lines of a file, lines of a function.
import { describe, expect, it, test } from "vitest";
import { PARTS } from "./rooms.ts";
import {
  circles,
  importGraph,
  productFiles,
  refusedImport,
  roomsWithoutFloor,
  smallFiles,
} from "./structure.ts";

const files = productFiles();
const graph = importGraph(files);

test("the import graph is read", () => {
  expect(files.size).toBeGreaterThan(500);
  expect(graph.get("worker/machine/node-object.ts")).toContain("worker/machine/decide-report.ts");
});

describe("rooms", () => {
  it("each file imports lower floors and what its part may see", () => {
    const refused = [...graph].flatMap(([from, imports]) =>
      imports.flatMap((to) => {
        const reason = refusedImport(from, to);
        return reason === undefined ? [] : [`${from} → ${to}: ${reason}`];
      }),
    );
    expect(refused).toEqual([]);
  });

  it("each room has a floor in rooms.ts, and each room there is a folder", () => {
    expect(roomsWithoutFloor(files.keys())).toEqual([]);
    const empty = PARTS.flatMap(({ path, floors = [] }) =>
      floors
        .flatMap((floor) => floor.split(" "))
        .map((room) => `${path}/${room}/`)
        .filter((room) => ![...files.keys()].some((file) => file.startsWith(room))),
    );
    expect(empty).toEqual([]);
  });

  test.each([
    ["worker/tick/a.ts", "worker/machine/b.ts"],
    ["worker/tick/a.ts", "worker/fleet/b.ts"],
    ["worker/machine/a.ts", "worker/http/b.ts"],
    ["worker/gateway/a.ts", "worker/http/b.ts"],
    ["worker/gateway/a.ts", "worker/tick/b.ts"],
    ["worker/storage/a.ts", "worker/tick/b.ts"],
    ["worker/identity/a.ts", "worker/kube/b.ts"],
    ["worker/http/a.ts", "node-shim/base/b.ts"],
    ["worker/env.ts", "infra/local/b.ts"],
    ["worker/http/a.ts", "test/worker/b.ts"],
    ["worker/machine/a.ts", "hono"],
    ["worker/machine/a.ts", "hono/cookie"],
    ["node-shim/sources/kernel/a.ts", "node-shim/machine/b.ts"],
    ["node-shim/identity/a.ts", "node-shim/worker-link/b.ts"],
    ["node-shim/commands/a.ts", "worker/http/b.ts"],
    ["shared/kubernetes/patch/a.ts", "shared/setters/b.ts"],
    ["shared/protocol/a.ts", "shared/node/b.ts"],
    ["shared/node/a.ts", "worker/tick/b.ts"],
    ["infra/operator/a.ts", "test/worker/b.ts"],
    ["infra/operator/a.ts", "worker/http/b.ts"],
    ["infra/local/apiserver/a.ts", "node-shim/base/b.ts"],
    ["infra/page/base/a.ts", "infra/page/parts/b.ts"],
    ["infra/page/fleet/a.ts", "infra/page/frame/b.ts"],
    ["infra/page/fleet/a.ts", "infra/operator/b.ts"],
    ["infra/operator/a.ts", "infra/page/base/b.ts"],
  ])("%s → %s: refused", (from, to) => {
    expect(refusedImport(from, to)).toBeDefined();
  });

  test.each([
    ["worker/http/a.ts", "worker/gateway/b.ts"],
    ["worker/gateway/a.ts", "worker/machine/b.ts"],
    ["worker/tick/own/a.ts", "worker/tick/b.ts"],
    ["worker/tick/a.ts", "worker/env.ts"],
    ["worker/index.ts", "worker/http/b.ts"],
    ["worker/http/a.ts", "hono/cookie"],
    ["worker/machine/a.ts", "jose"],
    ["node-shim/machine/a.ts", "shared/from-report/b.ts"],
    ["shared/protocol/a.ts", "shared/fleet/b.ts"],
    ["infra/local/a.ts", "infra/local/apiserver/b.ts"],
    ["infra/operator/a.ts", "node-shim/base/b.ts"],
    ["infra/deploy/a.ts", "infra/page/build/b.ts"],
  ])("%s → %s: allowed", (from, to) => {
    expect(refusedImport(from, to)).toBeUndefined();
  });
});

describe("circles", () => {
  it("no file imports itself by way of others", () => {
    expect(circles(graph)).toEqual([]);
  });

  test.each([
    ["a value", 'import { b } from "./b.ts";'],
    ["a type", 'import type { B } from "./b.ts";'],
    ["several lines", 'import {\n  b,\n} from "./b.ts";'],
    ["an export", 'export { b } from "./b.ts";'],
    ["side effects", 'import "./b.ts";'],
    ["import()", 'const load = () => import("./b.ts");'],
    ["a type by import()", 'type B = import("./b.ts").B;'],
  ])("%s → found", (_, text) => {
    const two = importGraph(
      new Map([
        ["x/a.ts", text],
        ["x/b.ts", 'import { c } from "../y/c.ts";'],
        ["y/c.ts", 'import type { A } from "../x/a.ts";'],
      ]),
    );
    expect(circles(two)).toEqual([["x/a.ts", "x/b.ts", "y/c.ts", "x/a.ts"]]);
  });

  it("two ways to one file → none", () => {
    const graph = new Map([
      ["a.ts", ["b.ts", "c.ts"]],
      ["b.ts", ["c.ts"]],
      ["c.ts", []],
    ]);
    expect(circles(graph)).toEqual([]);
  });
});

describe("a file below 40 lines has two readers", () => {
  /** The files and folders that may stand alone although they are small, each with the reason. */
  const REASONS: Readonly<Record<string, string>> = {
    "shared/setters/": "one file for each of upstream's setters",
    "shared/kubernetes/time.ts": "a part of Kubernetes' API types",
    "shared/kubernetes/version.ts": "a part of Kubernetes' API machinery",
    "shared/deployment/settings-in-force.ts": "pure, with a table of situations",
    "infra/local/open-files.ts": "the soak imports it",
    "infra/operator/cost-parts.ts": "npm run generate writes it",
    "infra/openapi/write-document.ts": "npm run build runs it, and deploy imports it",
    "infra/release/changelog.ts": "pure, apart from the program that executes",
  };
  const small = smallFiles(files, graph, 40);

  it("or a reason", () => {
    const isExcused = (path: string) => Object.keys(REASONS).some((reason) => path.startsWith(reason));
    expect(small.filter((path) => !isExcused(path))).toEqual([]);
  });

  it("each reason is for a file that needs one", () => {
    const stale = Object.keys(REASONS).filter((reason) => !small.some((path) => path.startsWith(reason)));
    expect(stale).toEqual([]);
  });

  test.each([
    ["39 lines, one reader", 39, ["b.ts"], ["a.ts"]],
    ["40 lines, one reader", 40, ["b.ts"], []],
    ["39 lines, two readers", 39, ["b.ts", "c.ts"], []],
    ["39 lines, no reader: a program", 39, [], []],
  ])("%s", (_, lines, readers, small) => {
    const texts = new Map([
      ["a.ts", "x\n".repeat(lines)],
      ...readers.map((reader) => [reader, 'import "./a.ts";\n'.repeat(2)] as const),
    ]);
    expect(smallFiles(texts, importGraph(texts), 40)).toEqual(small);
  });
});
