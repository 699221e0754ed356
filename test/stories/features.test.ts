// Tests the labels of a machine's features, from report to report: who may change them, and what they cost.
import { expect, test } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { tickingMachine } from "../worker/support/kube-in-between.ts";
import { facts, kube } from "../worker/support/machine.ts";

const PREFIX = "feature.node.kubernetes.io/";
const GPU = `${PREFIX}pci-10de.present`;
const AVX = `${PREFIX}cpu-cpuid.AVX`;
const features = (...vendors: string[]): Partial<Facts> => ({
  features: {
    flags: { "cpu.cpuid": ["AVX"] },
    attributes: {},
    instances: {
      "pci.device": { attributes: ["class", "vendor"], rows: vendors.map((vendor) => ["0300", vendor]) },
    },
  },
});

const nodeOf = (name: string) => kube("GET", `/api/v1/nodes/${name}`);
async function labelsOf(name: string): Promise<Record<string, string>> {
  const { metadata } = await nodeOf(name);
  const own = Object.entries(metadata?.labels ?? {}).filter(([key]) => key.startsWith(PREFIX));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(PREFIX.length), value]));
}
async function write(name: string, manager: string, labels: Record<string, string>): Promise<void> {
  const node = await nodeOf(name);
  const metadata = { ...node.metadata, labels: { ...node.metadata?.labels, ...labels } };
  await kube("PUT", `/api/v1/nodes/${name}?fieldManager=${manager}`, { ...node, metadata });
}

/** Returns a machine with a GPU whose token allows all features, and has registered. */
async function withGpu(name: string, grant: ReturnType<typeof tickingMachine>["grant"] = {}) {
  const machine = tickingMachine(name);
  machine.grant = { mayLabel: [], mayFeature: ["*"], ...grant };
  machine.setFacts(features("10de"));
  const next = () => {
    machine.nowMs += 10_000;
    return machine.report();
  };
  await next();
  await next();
  return Object.assign(machine, { next });
}

test("a GPU appears, and is removed: its labels follow; the others stay", async () => {
  const machine = await withGpu("features-1");
  const gpu = { "pci-0300_10de.present": "true", "pci-10de.present": "true" };
  expect(await labelsOf("features-1")).toEqual({ "cpu-cpuid.AVX": "true", ...gpu });
  machine.setFacts(features());
  await machine.next();
  expect(await labelsOf("features-1")).toEqual({ "cpu-cpuid.AVX": "true" });
  machine.setFacts(features("1002", "10de"));
  await machine.next();
  expect(await labelsOf("features-1")).toMatchObject({ ...gpu, "pci-1002.present": "true" });
  machine.setFacts();
  await machine.next();
  expect(await labelsOf("features-1")).toEqual({});
});

test("steady reports: one request each, and no row", async () => {
  const machine = await withGpu("features-2");
  const { writes } = machine.records;
  for (let report = 0; report < 5; report++) {
    await machine.next();
    expect(machine.requests).toEqual([
      "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/features-2",
    ]);
  }
  expect(machine.records.writes).toBe(writes);
});

test("a label of the token → neither changed by features nor removed with them", async () => {
  const machine = await withGpu("features-3", { labels: { [GPU]: "leased" } });
  expect(await labelsOf("features-3")).toMatchObject({ "pci-10de.present": "leased" });
  machine.setFacts(features());
  await machine.next();
  expect(await labelsOf("features-3")).toMatchObject({ "pci-10de.present": "leased" });
});

test("an operator's value of a feature's label → stays, also when the feature is gone", async () => {
  const machine = await withGpu("features-4");
  await write("features-4", "kubectl-label", { [AVX]: "no", [`${PREFIX}custom-rack`]: "b7" });
  const settings = { ...facts("features-4").settings, nodeStatusReportFrequencyMs: 10_000 };
  machine.setFacts({ ...features("10de"), settings });
  await machine.next();
  expect(await labelsOf("features-4")).toMatchObject({ "cpu-cpuid.AVX": "no", "custom-rack": "b7" });
  machine.setFacts({ settings });
  await machine.next();
  expect(await labelsOf("features-4")).toEqual({ "cpu-cpuid.AVX": "no", "custom-rack": "b7" });
});
