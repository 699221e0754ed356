// Tests which changes of a machine's facts its history lists, and in which words.
import { expect, test } from "vitest";
import { factsChanges } from "../../../shared/from-report/facts-changes.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { facts } from "../../worker/support/facts.ts";

const KERNEL: Partial<Facts> = { versions: { kernel: "6.1.0", osImage: "Test Linux" } };
const NEXT_KERNEL: Partial<Facts> = { versions: { kernel: "6.1.1", osImage: "Test Linux" } };
const RUNTIME: Partial<Facts> = { runtime: { name: "containerd", version: "1.6.20" } };
const machine = facts("edge-1").machine!;
const CLOUD = { providerID: "aws:///a/i-1", instanceType: "m5.large" };
const cloudAt = (...addresses: string[]): Partial<Facts> => ({
  cloud: { ...CLOUD, addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
});
const routed = (ipv4: string, ipv6: string): Partial<Facts> => ({
  addresses: { nodeIPs: [], lookup: [], onInterface: [], defaultRoute: { ipv4, ipv6 } },
});
/** Facts of which no group could be read. */
const NO_GROUP = Object.fromEntries(
  ["machine", "versions", "runtime", "storage", "addresses", "cloud", "inventory"].map((group) => [
    group,
    undefined,
  ]),
) as Partial<Facts>;

test.each<[situation: string, before: Partial<Facts> | null, after: Partial<Facts>, texts: string[]]>([
  ["the machine's first facts", null, NEXT_KERNEL, []],
  ["the same", KERNEL, KERNEL, []],
  ["another kernel", KERNEL, NEXT_KERNEL, ["version kernel: 6.1.0 → 6.1.1"]],
  ["a kernel that was unknown", { versions: undefined }, KERNEL, []],
  ["a kernel that is unknown now", KERNEL, { versions: undefined }, []],
  ["groups that were unknown", NO_GROUP, { ...KERNEL, ...RUNTIME, ...cloudAt("10.0.0.1") }, []],
  ["groups that are unknown now", { ...KERNEL, ...RUNTIME, ...cloudAt("10.0.0.1") }, NO_GROUP, []],
  [
    "another address of the cloud",
    cloudAt("10.0.0.1", "10.0.0.2"),
    cloudAt("10.0.0.1", "10.0.0.3"),
    ["address cloud: 10.0.0.1, 10.0.0.2 → 10.0.0.1, 10.0.0.3"],
  ],
  ["addresses of the cloud that are unknown now", cloudAt("10.0.0.1"), { cloud: CLOUD }, []],
  [
    "another default route and another disk",
    { ...routed("10.0.0.1", "fd00::1"), storage: { nodefsCapacityBytes: 1 } },
    { ...routed("10.0.0.2", "fd00::2"), storage: { nodefsCapacityBytes: 2 } },
    ["capacity nodefs bytes: 1 → 2", "address IPv4: 10.0.0.1 → 10.0.0.2", "address IPv6: fd00::1 → fd00::2"],
  ],
  ["a runtime", { runtime: null }, RUNTIME, ["runtime container runtime: none → containerd 1.6.20"]],
  ["a runtime that does not answer now", RUNTIME, { runtime: undefined }, []],
  [
    "another size of the memory",
    { machine: { ...machine, memoryBytes: 1024 } },
    { machine: { ...machine, memoryBytes: 2048 } },
    ["capacity memory bytes: 1024 → 2048"],
  ],
  [
    "huge pages",
    { machine },
    { machine: { ...machine, hugePages: [{ pageSizeKiB: 2048, pages: 3 }] } },
    ["capacity huge pages: 0 of 2048 KiB → 3 of 2048 KiB"],
  ],
])("%s → %j", (_, before, after, texts) => {
  const changes = factsChanges(before ? facts("edge-1", before) : undefined, facts("edge-1", after));
  expect(changes.map(({ kind, text }) => `${kind} ${text}`)).toEqual(texts);
});
