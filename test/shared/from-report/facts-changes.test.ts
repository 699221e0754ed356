// Tests which changes of a machine's facts its history lists, and in which words.
import { expect, test } from "vitest";
import { factsChanges } from "../../../shared/from-report/facts-changes.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { facts } from "../../worker/support/facts.ts";

const KERNEL: Partial<Facts> = { versions: { kernel: "6.1.0", osImage: "Test Linux" } };
const NEXT_KERNEL: Partial<Facts> = { versions: { kernel: "6.1.1", osImage: "Test Linux" } };
const RUNTIME: Partial<Facts> = { runtime: { name: "containerd", version: "1.6.20" } };
const machine = facts("edge-1").machine!;

test.each<[situation: string, before: Partial<Facts> | null, after: Partial<Facts>, texts: string[]]>([
  ["the machine's first facts", null, NEXT_KERNEL, []],
  ["the same", KERNEL, KERNEL, []],
  ["another kernel", KERNEL, NEXT_KERNEL, ["version kernel: 6.1.0 → 6.1.1"]],
  ["a kernel that was unknown", { versions: undefined }, KERNEL, []],
  ["a kernel that is unknown now", KERNEL, { versions: undefined }, []],
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
