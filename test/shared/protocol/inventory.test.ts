// Tests the hardware inventory in a Node and in a machine's history.
import { describe, expect, it, test } from "vitest";
import { factsChanges } from "../../../shared/from-report/facts-changes.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { inventoryLabels } from "../../../shared/protocol/inventory.ts";
import { labelValueErrors } from "../../../shared/kubernetes/validation.ts";
import { factLabels } from "../../../shared/setters/fact-labels.ts";
import { draftOf } from "../../../shared/node/update-node.ts";

test.each([
  ["Intel(R) Core(TM) i5-8259U CPU @ 2.30GHz", "Intel-R-Core-TM-i5-8259U-CPU-2.30GHz"],
  ["  AMD EPYC™ ", "AMD-EPYC"],
  [`${"x".repeat(62)} y`, "x".repeat(62)],
  ["_._", undefined],
  ["", undefined],
])("a processor called %o → the label %o", (model, label) => {
  const labels = inventoryLabels({ cpu: { model } });
  expect(labels["rollcall.dev/cpu-model"]).toBe(label);
  expect(labelValueErrors(label ?? "")).toEqual([]);
});

it("two graphics cards → the first one's model, and how many", () => {
  expect(inventoryLabels({ gpus: [{ vendor: "NVIDIA", model: "A 100" }, { model: "T4" }] })).toEqual({
    "rollcall.dev/gpu-model": "A-100",
    "rollcall.dev/gpus": "2",
  });
});

describe("labels derived from facts", () => {
  const mine = (key: string) => key.startsWith("rollcall.dev/");
  const labelled = (metadata: object, wanted: Record<string, string>) => {
    const node = draftOf({ metadata });
    expect(factLabels(wanted, mine)(node)).toBeNull();
    return node.metadata;
  };

  it("are added, changed and removed; those of other writers stay", () => {
    const first = labelled({ labels: { a: "b" } }, { "rollcall.dev/x": "1", "rollcall.dev/y": "2" });
    expect(first).toEqual({
      labels: { a: "b", "rollcall.dev/x": "1", "rollcall.dev/y": "2" },
      annotations: { "rollcall.dev/fact-labels": "rollcall.dev/x,rollcall.dev/y" },
    });
    const second = labelled(first, { "rollcall.dev/y": "3" });
    expect(second).toEqual({
      labels: { a: "b", "rollcall.dev/y": "3" },
      annotations: { "rollcall.dev/fact-labels": "rollcall.dev/y" },
    });
    expect(labelled(second, {})).toEqual({ labels: { a: "b" }, annotations: {} });
  });

  it("an annotation that names a label of another kind → that label stays", () => {
    const annotations = { "rollcall.dev/fact-labels": "kubernetes.io/hostname,rollcall.dev/x" };
    const labels = { "kubernetes.io/hostname": "edge-1", "rollcall.dev/x": "1" };
    expect(labelled({ labels, annotations }, {}).labels).toEqual({ "kubernetes.io/hostname": "edge-1" });
  });

  it("none wanted and none there → the Node is unchanged", () => {
    expect(labelled({ labels: { a: "b" } }, {})).toEqual({ labels: { a: "b" } });
  });
});

it("a removed disk → a line of history", () => {
  const facts = (disks: NonNullable<Facts["inventory"]>["disks"]) => ({ inventory: { disks } }) as Facts;
  const [one, two] = [{ model: "SSD 970", sizeBytes: 500 }, { model: "SSD 980" }];
  expect(factsChanges(facts([one, two]), facts([two]))).toEqual([
    { kind: "hardware", text: "disks: SSD 970 500 bytes, SSD 980 → SSD 980" },
  ]);
  expect(factsChanges(facts([one]), facts([]))).toEqual([
    { kind: "hardware", text: "disks: SSD 970 500 bytes → none" },
  ]);
});
