// Tests the NodeMetrics of machines, their place in metrics-server's list, and the forms of the answer.
import { describe, expect, test } from "vitest";
import { formOf, inForm, merged, nodeMetrics } from "../../../infra/kubectl-top/node-metrics.ts";
import type { MachineUsage } from "../../../shared/protocol/fleet-answers.ts";
import { shownUsage, USAGE, usageOf } from "../../../shared/protocol/usage.ts";

const NOW_MS = Date.parse("2026-01-01T00:01:10.600Z");
const usage = (amounts: Partial<MachineUsage>): MachineUsage => ({
  name: "edge-1",
  at: "2026-01-01T00:01:00.250Z",
  ...shownUsage(usageOf(USAGE.map(() => null)), null),
  windowSeconds: 60.01,
  cpuUsed: 0.5,
  memoryWorkingSetBytes: 2 ** 29,
  ...amounts,
});
const made = (amounts: Partial<MachineUsage> = {}) =>
  nodeMetrics({ name: "edge-1", labels: { site: "b" } }, usage(amounts), NOW_MS);

test("a machine's usage → NodeMetrics as metrics-server makes them", () => {
  expect(made()).toEqual({
    metadata: { name: "edge-1", labels: { site: "b" }, creationTimestamp: "2026-01-01T00:01:10Z" },
    timestamp: "2026-01-01T00:01:00Z",
    window: "1m0.01s",
    usage: { cpu: "500m", memory: "512Mi" },
  });
});

test.each<[situation: string, amounts: Partial<MachineUsage>, made: object | null]>([
  ["a Worker without the window", { windowSeconds: undefined }, { window: "1m0s" }],
  ["frames of a metered link, two hours apart", { windowSeconds: 7260.5 }, { window: "2h1m0.5s" }],
  ["less than a minute", { windowSeconds: 20 }, { window: "20s" }],
  [
    "whole CPUs, and bytes that are no KiB",
    { cpuUsed: 2, memoryWorkingSetBytes: 1025 },
    { usage: { cpu: "2", memory: "1025" } },
  ],
  ["an idle machine", { cpuUsed: 0 }, { usage: { cpu: "0", memory: "512Mi" } }],
  ["only one frame", { cpuUsed: null }, null],
  ["no working set", { memoryWorkingSetBytes: null }, null],
  ["negative memory", { memoryWorkingSetBytes: -1 }, null],
  ["more memory than an int64 holds", { memoryWorkingSetBytes: 2 ** 64 }, null],
  ["more CPUs than an int64 holds", { cpuUsed: 2 ** 64 }, null],
])("%s → %j", (_, amounts, expected) => {
  if (expected === null) expect(made(amounts)).toBeNull();
  else expect(made(amounts)).toMatchObject(expected);
});

const item = (name: string) => ({
  metadata: { name },
  timestamp: "",
  window: "1m0s",
  usage: { memory: "1Ki", cpu: "1m" },
});

test("both lists → one, by name as bytes; our Nodes replace metrics-server's items, also without usage", () => {
  const others = ["worker-2", "edge-1", "edge-2", "Worker"].map(item);
  const own = { ...item("edge-1"), window: "ours" };
  const all = merged([own], [{ name: "edge-1" }, { name: "edge-2" }], others);
  expect(all.map(({ metadata, window }) => `${metadata.name} ${window}`)).toEqual([
    "Worker 1m0s",
    "edge-1 ours",
    "worker-2 1m0s",
  ]);
});

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

describe("forms", () => {
  test.each<[accept: string | undefined, form: object | null]>([
    [undefined, { kind: "object" }],
    ["application/vnd.kubernetes.protobuf, */*", { kind: "object" }],
    ["application/vnd.kubernetes.protobuf,application/json", { kind: "object" }],
    [`${TABLE},application/json`, { kind: "table", version: "v1" }],
    ["application/json; as=Table; v=v1beta1; g=meta.k8s.io", { kind: "table", version: "v1beta1" }],
    ["application/json;as=Table;v=v2;g=meta.k8s.io,application/json", { kind: "object" }],
    ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", null],
    ["application/vnd.kubernetes.protobuf", null],
    ["application/yaml", null],
  ])("Accept: %s → %j", (accept, form) => {
    if (form === null) expect(formOf(accept, null)).toBeNull();
    else expect(formOf(accept, null)).toMatchObject(form);
  });

  test.each([
    [null, { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "edge-1" } }],
    ["Object", { kind: "NodeMetrics", ...item("edge-1"), apiVersion: "metrics.k8s.io/v1beta1" }],
    ["None", undefined],
  ])("a table with includeObject=%s", (includeObject, object) => {
    expect(inForm([item("edge-1")], formOf(TABLE, includeObject)!, { items: [] })).toMatchObject({
      kind: "Table",
      columnDefinitions: ["Name", "cpu", "memory", "Window"].map((name) => ({ name })),
      rows: [{ cells: ["edge-1", "1m", "1Ki", "1m0s"], ...(object && { object }) }],
    });
  });

  test("no rows → no columns, as metrics-server's table", () => {
    expect(inForm([], formOf(TABLE, null)!, { items: [] })).toMatchObject({
      columnDefinitions: [],
      rows: [],
    });
  });
});
