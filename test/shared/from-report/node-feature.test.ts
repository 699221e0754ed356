// Tests which features of a machine its NodeFeature object has, within the grant of the join token.
import { expect, test } from "vitest";
import {
  MAX_NODE_FEATURE_BYTES,
  nodeFeature,
  publishedFeatures,
} from "../../../shared/from-report/node-feature.ts";
import { featureBytes, type Features, featuresSchema } from "../../../shared/protocol/features.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";

const PREFIX = "feature.node.kubernetes.io/";
const NAME = "edge-7";

const features = (more: Partial<Features> = {}): Features => ({
  flags: { "cpu.cpuid": ["AVX"], "kernel.loadedmodule": ["nvidia"] },
  attributes: { "cpu.model": { family: "25" }, "system.name": { nodename: "control-plane-1" } },
  instances: { "pci.device": { attributes: ["class", "vendor", "driver"], rows: [["0300", "10de", null]] } },
  ...more,
});
const published = (grant: Pick<Grant, "mayFeature" | "labels">, has = features()) =>
  publishedFeatures(has, NAME, { withoutFactsOnlyTaint: false, mayLabel: ["*"], ...grant });

test("all features → in NFD's form, with NFD's default labels, under the Node's name", () => {
  const { spec, notAllowed, noRoom } = published({ mayFeature: ["*"] });
  expect(spec?.features).toEqual({
    flags: {
      "cpu.cpuid": { elements: { AVX: {} } },
      "kernel.loadedmodule": { elements: { nvidia: {} } },
    },
    attributes: {
      "cpu.model": { elements: { family: "25" } },
      "system.name": { elements: { nodename: NAME } },
    },
    instances: { "pci.device": { elements: [{ attributes: { class: "0300", vendor: "10de" } }] } },
  });
  expect(spec?.labels).toEqual({
    [`${PREFIX}cpu-cpuid.AVX`]: "true",
    [`${PREFIX}cpu-model.family`]: "25",
    [`${PREFIX}pci-0300_10de.present`]: "true",
    [`${PREFIX}pci-10de.present`]: "true",
  });
  expect([notAllowed, noRoom]).toEqual([[], []]);
});

test.each<[situation: string, grant: Parameters<typeof published>[0], found: string[], labels: string[]]>([
  ["no mayFeature, although mayLabel allows all", {}, [], []],
  ["mayFeature []", { mayFeature: [] }, [], []],
  ["labels alone", { mayFeature: ["pci-*"] }, [], ["pci-0300_10de.present", "pci-10de.present"]],
  ["a feature's name", { mayFeature: ["pci.device"] }, ["pci.device"], []],
  ["a pattern of features", { mayFeature: ["cpu.*"] }, ["cpu.cpuid", "cpu.model"], []],
  ["both", { mayFeature: ["cpu.model", "cpu-model.*"] }, ["cpu.model"], ["cpu-model.family"]],
  [
    "a label of the token → never a feature's",
    { mayFeature: ["cpu-*"], labels: { [`${PREFIX}cpu-model.family`]: "26" } },
    [],
    ["cpu-cpuid.AVX"],
  ],
])("%s → features %j", (_, grant, found, labels) => {
  const { spec, notAllowed } = published(grant);
  const names = Object.values(spec?.features ?? {}).flatMap((kind) => Object.keys(kind));
  expect(names.sort()).toEqual(found);
  expect(Object.keys(spec?.labels ?? {}).map((key) => key.slice(PREFIX.length))).toEqual(labels);
  expect(notAllowed.length).toBe(5 - found.length);
  expect(spec === null).toBe(found.length + labels.length === 0);
});

test.each<[situation: string, has: Partial<Features>]>([
  ["the results of rules (rule.matched)", { attributes: { "rule.matched": { "gpu.rule": "true" } } }],
  ["a feature of another kind", { attributes: { "pci.device": { class: "0300" } }, instances: {} }],
])("a machine claims %s → it is not published", (_, has) => {
  const { spec } = published({ mayFeature: ["*"] }, features({ flags: {}, instances: {}, ...has }));
  expect(spec).toBeNull();
});

test("labels of feature files outside of NFD's namespace → not published", () => {
  const labels = { "example.com/rack": "b7", rack: "b7" };
  const { spec } = published(
    { mayFeature: ["*"] },
    { flags: {}, attributes: { "local.label": labels }, instances: {} },
  );
  expect(spec?.labels).toEqual({ [`${PREFIX}rack`]: "b7" });
});

test("features that grow beyond the bound in NFD's form → the long lists go first, then the largest", () => {
  const attributes = Array.from({ length: 15 }, (_, at) => `attribute-${at}`.padEnd(64, "x"));
  const rows = Array.from({ length: 120 }, () => attributes.map(() => "v"));
  const has = features({
    flags: { "kernel.enabledmodule": ["a"], "cpu.cpuid": ["AVX"] },
    instances: {
      "network.virtual": { attributes, rows },
      "pci.device": { attributes: ["class"], rows: [["0300"]] },
    },
  });
  expect(featuresSchema.safeParse(has).success).toBe(true);
  const { spec, noRoom } = published({ mayFeature: ["*"] }, has);
  expect(noRoom).toEqual(["kernel.enabledmodule", "network.virtual"]);
  expect(Object.keys(spec?.features.instances ?? {})).toEqual(["pci.device"]);
  expect(featureBytes(spec ?? {})).toBeLessThan(MAX_NODE_FEATURE_BYTES);
});

test("a host with 200 PCI devices and the largest report → fits", () => {
  const attributes = ["class", "device", "subsystem_device", "subsystem_vendor", "vendor", "sriov_totalvfs"];
  const rows = Array.from({ length: 200 }, (_, at) => [
    "0300",
    at.toString(16).padStart(4, "0"),
    "1ff2",
    "10de",
    "10de",
    at % 8 === 0 ? "64" : null,
  ]);
  const modules = Array.from({ length: 700 }, (_, at) => `module_${at}`.padEnd(16, "x"));
  const has = features({
    flags: { "cpu.cpuid": ["AVX"], "kernel.loadedmodule": modules },
    instances: { "pci.device": { attributes, rows } },
  });
  expect(featureBytes(has)).toBeGreaterThan(20 * 1024);
  expect(featureBytes(has)).toBeLessThanOrEqual(24 * 1024);
  const { spec, noRoom } = published({ mayFeature: ["*"] }, has);
  expect(noRoom).toEqual([]);
  expect(featureBytes(spec ?? {})).toBeLessThan(MAX_NODE_FEATURE_BYTES);
});

test("the object → of the Node's name, owned by the Node and by the deployment", () => {
  const { spec } = published({ mayFeature: ["cpu.model"] });
  const what = { name: NAME, uid: "u-1", namespace: "nfd", deployment: "rollcall" };
  expect(nodeFeature(what, spec!)).toEqual({
    apiVersion: "nfd.k8s-sigs.io/v1alpha1",
    kind: "NodeFeature",
    metadata: {
      name: NAME,
      namespace: "nfd",
      labels: { "nfd.node.kubernetes.io/node-name": NAME },
      annotations: { "rollcall.dev/owner": "rollcall" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: NAME, uid: "u-1" }],
    },
    spec,
  });
});
