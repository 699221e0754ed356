// Tests which differences to node-feature-discovery are allowed.
import { expect, test } from "vitest";
import { featureLabels } from "../../../shared/from-report/feature-labels.ts";
import type { Features } from "../../../shared/protocol/features.ts";
import { compareFeatures, comparisonText, type NfdFeatures } from "./compare.ts";

const OURS: Features = {
  flags: { "cpu.cpuid": ["AVX"] },
  attributes: { "cpu.model": { family: "25" }, "kernel.config": { NO_HZ: "y" } },
  instances: {
    "pci.device": { attributes: ["class", "vendor"], rows: [["0300", "10de"]] },
    "usb.device": { attributes: ["class"], rows: [["ff"]] },
  },
};
/** What NFD finds on the same machine: equal devices twice, and serial numbers. */
const nfd = (): NfdFeatures => ({
  flags: { "cpu.cpuid": { elements: { AVX: {} } } },
  attributes: { "cpu.model": { elements: { family: "25" } }, "kernel.config": { elements: { NO_HZ: "y" } } },
  instances: {
    "pci.device": {
      elements: [
        { attributes: { vendor: "10de", class: "0300" } },
        { attributes: { class: "0300", vendor: "10de" } },
      ],
    },
    "usb.device": {
      elements: [{ attributes: { class: "ff", serial: "1" } }, { attributes: { class: "ff", serial: "2" } }],
    },
    "memory.nv": { elements: null },
  },
});
const own = featureLabels(OURS);
/** The labels of NFD: without the label of the PCI vendor alone. */
const labels = Object.fromEntries(Object.entries(own).filter(([key]) => !key.endsWith("/pci-10de.present")));

const compared = (change: (features: NfdFeatures, labels: Record<string, string>) => void) => {
  const [theirs, theirLabels] = [nfd(), { ...labels }];
  change(theirs, theirLabels);
  return compareFeatures({ features: theirs, labels: theirLabels }, { features: OURS, labels: own })
    .filter(({ what }) => what !== "feature.node.kubernetes.io/pci-10de.present")
    .map(({ what, why }) => `${what}: ${why === null ? "differs" : "allowed"}`);
};

test.each<[situation: string, Parameters<typeof compared>[0], expected: string[]]>([
  ["the same", () => undefined, []],
  [
    "an instruction set that /proc/cpuinfo does not show",
    ({ flags }, all) => {
      flags["cpu.cpuid"]!.elements!["MOVU"] = {};
      all["feature.node.kubernetes.io/cpu-cpuid.MOVU"] = "true";
    },
    ["cpu.cpuid MOVU: allowed", "feature.node.kubernetes.io/cpu-cpuid.MOVU: allowed"],
  ],
  [
    "the hypervisor",
    ({ attributes }, all) => {
      attributes["cpu.model"]!.elements!["hypervisor"] = "kvm";
      all["feature.node.kubernetes.io/cpu-model.hypervisor"] = "kvm";
    },
    ["cpu.model hypervisor: allowed", "feature.node.kubernetes.io/cpu-model.hypervisor: allowed"],
  ],
  [
    "one that the kernel shows only if it uses it",
    ({ flags }) => void (flags["cpu.cpuid"]!.elements!["CETSS"] = {}),
    ["cpu.cpuid CETSS: allowed"],
  ],
  [
    "one that it shows",
    ({ flags }) => void (flags["cpu.cpuid"]!.elements!["AVX2"] = {}),
    ["cpu.cpuid AVX2: differs"],
  ],
  [
    "one that only the shim finds",
    ({ flags }) => void (flags["cpu.cpuid"]!.elements = {}),
    ["cpu.cpuid AVX: differs"],
  ],
  [
    "another value",
    ({ attributes }) => void (attributes["cpu.model"]!.elements!["family"] = "6"),
    ["cpu.model family: differs"],
  ],
  [
    "an option of the kernel without a label",
    ({ attributes }) => void (attributes["kernel.config"]!.elements!["DEBUG"] = "y"),
    ["kernel.config DEBUG: allowed"],
  ],
  [
    "a feature that the shim does not report",
    ({ attributes }) => void (attributes["cpu.rdt"] = { elements: { RDTMON: "true" } }),
    ["cpu.rdt RDTMON: allowed"],
  ],
  [
    "another device",
    ({ instances }) => void instances["pci.device"]!.elements!.push({ attributes: { class: "0200" } }),
    ["pci.device class=0200: differs"],
  ],
  [
    "another label",
    (_, all) => void (all["feature.node.kubernetes.io/memory-numa"] = "true"),
    ["feature.node.kubernetes.io/memory-numa: differs"],
  ],
])("%s → %j", (_, change, expected) => {
  expect(compared(change)).toEqual(expected);
});

test("the text → each fault with both values, and the allowed differences by their reasons", () => {
  const text = comparisonText([
    { what: "cpu.model family", nfd: "6", ours: "25", why: null },
    { what: "cpu.cpuid MOVU", nfd: "present", ours: "-", why: "because" },
    { what: "cpu.cpuid PSFD", nfd: "present", ours: "-", why: "because" },
  ]);
  expect(text.split("\n")).toEqual([
    "DIFFERS  cpu.model family: NFD 6, rollcall 25",
    "allowed  2 × because: cpu.cpuid MOVU, cpu.cpuid PSFD",
    "1 differences that need a reason",
    "",
  ]);
});
