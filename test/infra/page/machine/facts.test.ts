import { expect, it } from "vitest";
import { addressRows, factRows, imageRows, resourceRows } from "../../../../infra/page/machine/facts.tsx";
import { knownMachine } from "./made-up-machine.ts";

const machine = {
  machineID: "m",
  systemUUID: "s",
  bootID: "b",
  cores: 8,
  memoryBytes: 2 ** 34,
  swapBytes: 0,
  hugePages: [],
};

it("facts → rows of what is known", () => {
  const facts = {
    machine,
    inventory: { cpu: { vendor: "Intel", model: "i5", sockets: 2 } },
    runtime: null,
    platform: { os: "linux", architecture: "arm64" },
    versions: { kernel: "6.12", osImage: "Debian 13" },
  };
  expect(Object.fromEntries(factRows(knownMachine({ facts })))).toEqual({
    CPU: "8 cores 2 × Intel i5",
    Memory: "16 GiB",
    Swap: "none",
    "Operating system": "Debian 13",
    Kernel: "6.12",
    Architecture: "linux/arm64",
    "Container runtime": "none",
    "Boot ID": "b",
    "Reports by": "http",
  });
});

it("no facts → what else is known, and nothing fails", () => {
  const bare = knownMachine({ facts: null, node: null });
  expect(factRows(bare)).toEqual([["Reports by", "http"]]);
  expect([addressRows(bare), resourceRows(bare), imageRows(bare)]).toEqual([[], [], []]);
});

it("capacity and allocatable side by side: what each Node has first", () => {
  const node = {
    status: {
      capacity: { "a.io/x": "2", pods: "110", memory: "1Gi", cpu: "4", "hugepages-2Mi": "0" },
      allocatable: { cpu: "3800m" },
    },
  };
  expect(resourceRows(knownMachine({ node }))).toEqual([
    { resource: "cpu", capacity: "4", allocatable: "3800m" },
    { resource: "memory", capacity: "1 GiB", allocatable: "–" },
    { resource: "pods", capacity: "110", allocatable: "–" },
    { resource: "a.io/x", capacity: "2", allocatable: "–" },
  ]);
});

it("images: of the facts, else of the Node, the largest first", () => {
  const images = [
    { repoTags: ["a:1"], repoDigests: [], sizeBytes: 5 },
    { repoTags: [], repoDigests: ["b@sha256:0"], sizeBytes: 9 },
  ];
  expect(imageRows(knownMachine({ facts: { images } }))).toEqual([
    { name: "b@sha256:0", bytes: 9 },
    { name: "a:1", bytes: 5 },
  ]);
  const node = { status: { images: [{ names: ["c@sha256:0", "c:1"], sizeBytes: 3 }] } };
  expect(imageRows(knownMachine({ node }))).toEqual([{ name: "c:1", bytes: 3 }]);
});
