import { describe, expect, test } from "vitest";
import type { ResourceList } from "../../../shared/kubernetes/types.ts";
import { factResources } from "../../../shared/setters/fact-resources.ts";
import { runSetter } from "./run-setter.ts";

const LISTED = "rollcall.dev/fact-resources";
const FAX = "example.com/fax";
const GPU = "example.com/gpu";

interface Situation {
  name: string;
  wanted: Record<string, number>;
  /** The resources that device plugins announce. */
  devices?: string[];
  before?: ResourceList;
  /** The annotation rollcall.dev/fact-resources after the previous run. */
  listed?: string;
  /** The expected capacity, which equals the expected allocatable. */
  after: ResourceList;
  listedAfter?: string;
}

const situations: Situation[] = [
  {
    name: "a drop-in announces a resource → added, and listed as a drop-in's",
    wanted: { [FAX]: 2 },
    before: { cpu: "2" },
    after: { cpu: "2", [FAX]: "2" },
    listedAfter: FAX,
  },
  {
    name: "it announces another count → the new one",
    wanted: { [FAX]: 2000 },
    before: { [FAX]: "2" },
    listed: FAX,
    after: { [FAX]: "2k" },
    listedAfter: FAX,
  },
  {
    name: "no drop-in announces it any more → 0, and it stays in the Node",
    wanted: {},
    before: { cpu: "2", [FAX]: "2" },
    listed: FAX,
    after: { cpu: "2", [FAX]: "0" },
  },
  {
    name: "a device plugin announces it too → the plugin's count stays",
    wanted: { [GPU]: 9, [FAX]: 1 },
    devices: [GPU],
    before: { [GPU]: "2" },
    after: { [GPU]: "2", [FAX]: "1" },
    listedAfter: FAX,
  },
  {
    name: "a device plugin takes over a drop-in's resource → the plugin's count stays",
    wanted: {},
    devices: [GPU],
    before: { [GPU]: "2" },
    listed: GPU,
    after: { [GPU]: "2" },
  },
  {
    name: "another writer listed cpu in the annotation → it stays: it is no drop-in's",
    wanted: {},
    before: { cpu: "2" },
    listed: "cpu",
    after: { cpu: "2" },
  },
  {
    name: "no drop-ins, none before → the resources stay",
    wanted: {},
    before: { cpu: "2" },
    after: { cpu: "2" },
  },
];

describe("factResources", () => {
  test.each(situations)("$name", ({ wanted, devices = [], before = {}, listed, after, listedAfter }) => {
    const outcome = runSetter(() => factResources(wanted, devices), {
      metadata: listed === undefined ? {} : { annotations: { [LISTED]: listed } },
      status: { capacity: before, allocatable: before },
    });
    expect(outcome).toMatchObject({ error: null, events: [] });
    expect(outcome.node.status).toEqual({ capacity: after, allocatable: after });
    expect(outcome.node.metadata.annotations?.[LISTED]).toBe(listedAfter);
  });
});
