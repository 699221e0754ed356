import { expect, it } from "vitest";
import { markGroups, taintRows } from "../../../../infra/page/machine/labels.tsx";

it("labels by prefix: without one, rollcall's own, the others; by name in each", () => {
  const labels = {
    "b.io/x": "1",
    tier: "edge",
    "rollcall.dev/machine": "true",
    "a.io/z": "",
    "a.io/y": "2",
    site: "b",
  };
  const groups = markGroups(labels, { site: "kubectl-label" });
  expect(groups.map(({ prefix, rows }) => [prefix, rows.map(({ key }) => key)])).toEqual([
    ["", ["site", "tier"]],
    ["rollcall.dev", ["rollcall.dev/machine"]],
    ["a.io", ["a.io/y", "a.io/z"]],
    ["b.io", ["b.io/x"]],
  ]);
  expect(groups[0]?.rows.map(({ manager }) => manager)).toEqual(["kubectl-label", ""]);
});

it("of a Worker that does not say who → nobody; no labels → no groups", () => {
  expect(markGroups({ a: "b" }, undefined)).toEqual([
    { prefix: "", rows: [{ key: "a", value: "b", manager: "" }] },
  ]);
  expect(markGroups({}, {})).toEqual([]);
});

it("taints as kubectl writes them, with who has set them by key and effect", () => {
  const taints = [
    { key: "gpu", value: "yes", effect: "NoSchedule" },
    { key: "gpu", effect: "NoExecute" },
  ];
  expect(taintRows(taints, { "gpu:NoExecute": "kubectl" })).toEqual([
    { key: "gpu=yes", value: "NoSchedule", manager: "" },
    { key: "gpu", value: "NoExecute", manager: "kubectl" },
  ]);
});
