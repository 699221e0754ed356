// Tests how machines are grouped, and what is summed of each group.
import { describe, expect, it } from "vitest";
import {
  groupByOf,
  groupChoices,
  groupsOf,
  groupTerm,
  type GroupBy,
} from "../../../../infra/page/fleet/fleet-groups.ts";
import { readSearch } from "../../../../shared/fleet/search-language.ts";
import { machineTest } from "../../../../infra/page/fleet/match-machine.ts";
import { feedMachine } from "./feed-machines.ts";

const versions = (shim: string, kernel: string) => ({
  shim,
  kernel,
  os: "Debian 13",
  runtime: "containerd 2.1",
  architecture: "arm64",
});
const MACHINES = [
  feedMachine("edge-1", {
    labels: { site: "berlin", "node-role.kubernetes.io/till": "" },
    capacity: { cpu: "4", memory: "8Gi", "nvidia.com/gpu": "2" },
    versions: versions("0.2.0", "6.1"),
  }),
  feedMachine("edge-2", {
    labels: { site: "berlin" },
    capacity: { cpu: "500m", memory: "512Mi", "amd.com/gpu": "1" },
    versions: versions("0.1.0", "6.1"),
  }),
  feedMachine("edge-3", { labels: { site: "bonn" }, state: "silent", versions: versions("0.1.0", "6.12") }),
  feedMachine("edge-4", { labels: {}, versions: versions("0.1.0", "") }),
];

describe("the groups", () => {
  it("by a label → those with machines that are not ready first, with sums", () => {
    const groups = groupsOf(MACHINES, "label:site");
    expect(groups.map(({ value, machines, notReady }) => [value, machines, notReady])).toEqual([
      ["bonn", 1, 1],
      ["berlin", 2, 0],
      ["", 1, 0],
    ]);
    expect(groups[1]).toMatchObject({
      cpus: 4.5,
      memoryBytes: 8.5 * 2 ** 30,
      gpus: 3,
      versions: [
        ["0.1.0", 1],
        ["0.2.0", 1],
      ],
      kernels: [["6.1", 2]],
    });
  });

  it.each<[GroupBy, [string, number][]]>([
    [
      "role",
      [
        ["", 3],
        ["till", 1],
      ],
    ],
    [
      "version",
      [
        ["0.1.0", 3],
        ["0.2.0", 1],
      ],
    ],
    [
      "kernel",
      [
        ["6.12", 1],
        ["6.1", 2],
        ["", 1],
      ],
    ],
    ["os", [["Debian 13", 4]]],
  ])("by %s", (by, expected) => {
    expect(groupsOf(MACHINES, by).map(({ value, machines }) => [value, machines])).toEqual(expected);
  });

  it.each<GroupBy>(["label:site", "version", "os", "runtime"])(
    "by %s → the term of each group finds its machines",
    (by) => {
      for (const { value, machines } of groupsOf(MACHINES, by)) {
        const read = readSearch(groupTerm(by, value) ?? "", 0);
        if (!read.ok) throw new Error(read.error.expected);
        const test = machineTest(read.value.filter, () => undefined);
        expect([value, MACHINES.filter(test).length]).toEqual([value, machines]);
      }
    },
  );
});

it("the choices → labels by the machines that have them, without one that names single machines, then the facts", () => {
  const machines = MACHINES.map((machine) => ({
    ...machine,
    labels: { ...machine.labels, serial: machine.name },
  }));
  expect(groupChoices(machines)).toEqual([
    "label:site",
    "role",
    "version",
    "kernel",
    "os",
    "runtime",
    "architecture",
  ]);
});

it.each([
  ["label:site", "label:site"],
  ["version", "version"],
  ["role", "role"],
  ["label:", null],
  ["beauty", null],
  [undefined, null],
])("the URL has group=%s → %s", (text, by) => {
  expect(groupByOf(text)).toBe(by);
});
