// Tests when a machine's NodeFeature object is written and removed, and what failures cost.
import { describe, expect, it, test } from "vitest";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import type { NodeFeature } from "../../../shared/from-report/node-feature.ts";
import type { Features } from "../../../shared/protocol/features.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import { failure, success } from "../../../shared/result.ts";
import { NodeFeaturePublisher, nodeFeatureMessage, publishAgain } from "../../../worker/tick/node-feature.ts";
import type { NodeTurn } from "../../../worker/storage/records.ts";
import { countingRecords } from "../support/kube-in-between.ts";
import { facts } from "../support/facts.ts";

const NAMESPACE = "node-feature-discovery";
const withGpu = (vendor = "10de"): Features => ({
  flags: {},
  attributes: {},
  instances: { "pci.device": { attributes: ["class", "vendor"], rows: [["0300", vendor]] } },
});
const status = (code: number, reason: string, details = {}) =>
  failure({ kind: "status", status: { code, reason, details } } as const);
const NO_PATH = failure({
  kind: "unanswered",
  message: "HTTP 404 without an object of the apiserver's",
} as const);
const UNSENT = failure({ kind: "unanswered", message: "", isUnsent: true } as const);

/** Returns a registered machine with a GPU whose token allows all features. `report` does what a report does. */
function publishingMachine() {
  const records = countingRecords();
  const machine = {
    records,
    name: "edge-7",
    deployment: "rollcall",
    namespace: NAMESPACE as string | null,
    grant: { withoutFactsOnlyTaint: false, mayFeature: ["*"] } as Grant,
    now: 1_000_000,
    /** The requests so far. */
    requests: [] as string[],
    /** The object that the apiserver has. */
    object: undefined as NodeFeature | undefined,
    /** The apiserver's refusal of each request. */
    refusal: undefined as Extract<ApiResult<never>, { ok: false }> | undefined,
    turn: { waitMs: 0, isGranted: true, limit: "" } as NodeTurn | null,
    notes: [] as string[],
    publisher: undefined as unknown as NodeFeaturePublisher,
    evict() {
      const cached = new Map<string, unknown>();
      // Like a node object, the records return one object until a value changes.
      machine.publisher = new NodeFeaturePublisher({
        records: {
          ...records,
          get: (key) => {
            const value = records.get(key);
            const known = cached.get(key);
            if (JSON.stringify(known) === JSON.stringify(value)) return known as typeof value;
            cached.set(key, value);
            return value;
          },
          put: (key, value) => records.put(key, value),
          remove: (key) => records.remove(key),
        },
        journal: { note: (_: string, text: string) => void machine.notes.push(text) } as never,
        get name() {
          return machine.name;
        },
        deployment: machine.deployment,
        get namespace() {
          return machine.namespace;
        },
        get grant() {
          return machine.grant;
        },
        client: () => ({
          applyNodeFeature: (object) => {
            machine.requests.push(`apply ${object.metadata.namespace}/${object.metadata.name}`);
            if (machine.refusal) return Promise.resolve(machine.refusal);
            machine.object = { ...object, metadata: { ...object.metadata, uid: "f-1" } };
            return Promise.resolve(success(machine.object));
          },
          getNodeFeature: (namespace, name) => {
            machine.requests.push(`get ${namespace}/${name}`);
            return Promise.resolve(machine.object ? success(machine.object) : status(404, "NotFound"));
          },
          deleteNodeFeature: (namespace, name, uid) => {
            machine.requests.push(`delete ${namespace}/${name} ${uid}`);
            if (machine.refusal) return Promise.resolve(machine.refusal);
            machine.object = undefined;
            return Promise.resolve(success({}));
          },
        }),
        log: () => undefined,
        nowMs: () => machine.now,
        random: () => 0,
        nodeTurn: () => Promise.resolve(machine.turn),
      });
    },
    has(features: Features | undefined) {
      records.put("facts", { digest: "d", facts: facts("edge-7", features ? { features } : {}) });
    },
    registers(startId: string, uid = "n-1", phase: "registered" | "node deleted" = "registered") {
      records.put("registration", { startId, phase });
      const node = { metadata: { name: "edge-7", uid } };
      const never = { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0, readAgain: false };
      records.put("node", { node, ...never });
    },
    async report(afterMs = 10_000): Promise<string[]> {
      machine.requests = [];
      machine.now += afterMs;
      await machine.publisher.publish();
      return machine.requests;
    },
  };
  machine.registers("start-1");
  machine.has(withGpu());
  machine.evict();
  return machine;
}

const APPLY = `apply ${NAMESPACE}/edge-7`;
const DELETE = `delete ${NAMESPACE}/edge-7 f-1`;
const GET = `get ${NAMESPACE}/edge-7`;

test("a registered machine with features → its object; no request and no row afterwards, after an eviction neither", async () => {
  const machine = publishingMachine();
  expect(await machine.report()).toEqual([APPLY]);
  expect(machine.object?.metadata.ownerReferences).toEqual([
    { apiVersion: "v1", kind: "Node", name: "edge-7", uid: "n-1" },
  ]);
  const { writes } = machine.records;
  for (let report = 0; report < 5; report++) expect(await machine.report()).toEqual([]);
  expect(machine.publisher.isDue()).toBe(false);
  machine.evict();
  expect(await machine.report()).toEqual([]);
  expect(machine.records.writes).toBe(writes);
});

type Machine = ReturnType<typeof publishingMachine>;
test.each<[change: string, change: (machine: Machine) => void, requests: string[]]>([
  ["other features", (machine) => machine.has(withGpu("1002")), [APPLY]],
  ["the same features again", (machine) => machine.has(withGpu()), []],
  ["a restart of the shim", (machine) => machine.registers("start-2"), [APPLY]],
  ["a new Node", (machine) => machine.registers("start-1", "n-2"), [APPLY]],
  ["no features any more", (machine) => machine.has(undefined), [DELETE]],
  [
    "a token without features",
    (machine) => void (machine.grant = { withoutFactsOnlyTaint: false }),
    [DELETE],
  ],
  ["another value of FEATURES, or refused keys", (machine) => void (machine.namespace = null), [DELETE]],
  ["a deleted Node", (machine) => machine.registers("start-1", "n-1", "node deleted"), [DELETE]],
  ["another namespace", (machine) => void (machine.namespace = "nfd"), [DELETE, "apply nfd/edge-7"]],
])("then %s → requests", async (_, change, requests) => {
  const machine = publishingMachine();
  await machine.report();
  change(machine);
  expect(await machine.report()).toEqual(requests);
  expect(await machine.report()).toEqual([]);
});

test.each([
  ["a machine without features", (machine: Machine) => machine.has(undefined), undefined],
  [
    "a token without mayFeature",
    (machine: Machine) => void (machine.grant = { withoutFactsOnlyTaint: false }),
    ["feature pci.device"],
  ],
  [
    "a token that allows only labels",
    (machine: Machine) => void (machine.grant = { withoutFactsOnlyTaint: false, mayFeature: ["pci-*"] }),
    ["feature pci.device"],
  ],
])("%s → the parts that were left out", async (_, change, left) => {
  const machine = publishingMachine();
  change(machine);
  const isOn = left !== undefined && machine.grant.mayFeature !== undefined;
  expect(await machine.report()).toEqual(isOn ? [APPLY] : []);
  expect(machine.records.get("leftOut")?.features).toEqual(left);
});

describe("the apiserver refuses", () => {
  it.each([
    ["no CustomResourceDefinition", NO_PATH, "node-feature-discovery is not installed"],
    ["no namespace", status(404, "NotFound"), `the namespace of ${NAMESPACE}/edge-7 does not exist`],
    ["no right, or the policy", status(403, "Forbidden"), "the cluster refuses NodeFeature"],
    ["another writer's object", status(409, "Conflict"), "another writer has set NodeFeature"],
    ["a failure", status(500, "InternalError"), "the apiserver refuses NodeFeature"],
    ["no answer", failure({ kind: "unanswered", message: "" } as const), "the apiserver does not answer"],
    ["no request is left", UNSENT, "the machine has used up its requests to the apiserver"],
  ])(
    "%s → a message and one line of history; attempts after 1, 2, 4 … 30 minutes",
    async (_, refusal, text) => {
      const machine = publishingMachine();
      machine.refusal = refusal;
      const attempts: number[] = [];
      for (let minute = 0; minute < 120; minute++)
        if ((await machine.report(60_000)).length > 0) attempts.push(minute);
      expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
      expect(nodeFeatureMessage(machine.records)).toContain(text);
      expect(machine.notes.filter((note) => note.includes(text))).toHaveLength(1);
      machine.refusal = undefined;
      expect(await machine.report(1_800_000)).toEqual([APPLY]);
      expect(nodeFeatureMessage(machine.records)).toBeUndefined();
      expect(await machine.report()).toEqual([]);
    },
  );

  it.each([
    ["the object is gone", true, status(404, "NotFound")],
    ["another object has the name", true, status(409, "Conflict")],
    ["no CustomResourceDefinition any more", true, NO_PATH],
    ["no right", false, status(403, "Forbidden")],
  ])("the removal: %s → done: %j", async (_, isDone, refusal) => {
    const machine = publishingMachine();
    await machine.report();
    machine.namespace = null;
    machine.refusal = refusal;
    await machine.report();
    expect(machine.records.get("nodeFeature")?.object === undefined).toBe(isDone);
    expect(await machine.report(60_000)).toEqual(isDone ? [] : [DELETE, GET]);
  });

  it("the removal of an object that nfd-worker has taken over → the object stays, and no message is left", async () => {
    const machine = publishingMachine();
    await machine.report();
    machine.object!.metadata.annotations = { "nfd.node.kubernetes.io/worker.version": "v0.18.3" };
    machine.refusal = status(403, "Forbidden");
    machine.namespace = null;
    expect(await machine.report()).toEqual([DELETE, GET]);
    expect(nodeFeatureMessage(machine.records)).toBeUndefined();
    expect(await machine.report(1_800_000)).toEqual([]);
  });

  it("the first write has no answer, but takes effect, and then FEATURES = off → the object is found and removed", async () => {
    const machine = publishingMachine();
    await machine.report();
    machine.records.remove("nodeFeature");
    machine.evict();
    machine.refusal = failure({ kind: "unanswered", message: "" });
    await machine.report();
    machine.refusal = undefined;
    machine.namespace = null;
    expect(await machine.report(60_000)).toEqual([GET, DELETE]);
    expect(machine.records.get("nodeFeature")?.object).toBeUndefined();
    expect(await machine.report()).toEqual([]);
  });

  it("a failed write of features that then are as before → they are written again, and no message is left", async () => {
    const machine = publishingMachine();
    await machine.report();
    machine.has(withGpu("1002"));
    machine.refusal = status(500, "InternalError");
    await machine.report();
    machine.refusal = undefined;
    machine.has(withGpu());
    // The failed write may have taken effect.
    expect(await machine.report(60_000)).toEqual([APPLY]);
    expect(nodeFeatureMessage(machine.records)).toBeUndefined();
    expect(await machine.report()).toEqual([]);
  });

  it("the removal fails, and the machine registers the same Node again → written again, and no message is left", async () => {
    const machine = publishingMachine();
    await machine.report();
    machine.registers("start-1", "n-1", "node deleted");
    machine.refusal = failure({ kind: "unanswered", message: "" });
    await machine.report();
    machine.refusal = undefined;
    machine.registers("start-1");
    // The failed removal may have taken effect.
    expect(await machine.report(60_000)).toEqual([APPLY]);
    expect(nodeFeatureMessage(machine.records)).toBeUndefined();
    expect(await machine.report()).toEqual([]);
  });

  it("a failed write, and then FEATURES = off → no message is left", async () => {
    const machine = publishingMachine();
    machine.refusal = NO_PATH;
    await machine.report();
    machine.namespace = null;
    await machine.report(60_000);
    expect(nodeFeatureMessage(machine.records)).toBeUndefined();
  });
});

test("features that change with each report → four writes at once, then one in ten minutes", async () => {
  const machine = publishingMachine();
  const written: number[] = [];
  for (let report = 0; report < 180; report++) {
    machine.has(withGpu(report.toString(16).padStart(4, "0")));
    if ((await machine.report()).length > 0) written.push(report);
  }
  expect(written).toEqual([0, 1, 2, 3, 61, 121]);
  expect(nodeFeatureMessage(machine.records)).toContain("they change too often");
  machine.namespace = null;
  expect(await machine.report()).toEqual([DELETE]);
});

test("an operator registers the machine again → its object is written, and an attempt does not wait", async () => {
  const machine = publishingMachine();
  publishAgain(machine.records);
  expect(machine.records.get("nodeFeature")).toBeUndefined();
  await machine.report();
  publishAgain(machine.records);
  machine.refusal = NO_PATH;
  expect(await machine.report()).toEqual([APPLY]);
  publishAgain(machine.records);
  expect(await machine.report(1)).toEqual([APPLY]);
});

describe("the bytes of the join token's machines", () => {
  it.each([
    ["no answer of the fleet index", null, "the fleet index does not answer", 60_000],
    [
      "a turn",
      { waitMs: 30_000, isGranted: true, limit: "bytes of Nodes" },
      "the limit of bytes of Nodes",
      30_000,
    ],
  ])("%s → the write waits", async (_, turn, text, waitMs) => {
    const machine = publishingMachine();
    machine.turn = turn;
    expect(await machine.report()).toEqual([]);
    expect(nodeFeatureMessage(machine.records)).toContain(text);
    machine.turn &&= { waitMs: 999_999, isGranted: false, limit: "" };
    expect(await machine.report(waitMs - 1)).toEqual([]);
    machine.turn ??= { waitMs: 0, isGranted: true, limit: "" };
    expect(await machine.report(1)).toEqual([APPLY]);
  });

  it("an object that does not grow → needs no turn", async () => {
    const machine = publishingMachine();
    await machine.report();
    machine.turn = null;
    machine.has(withGpu("1002"));
    expect(await machine.report()).toEqual([APPLY]);
  });
});
