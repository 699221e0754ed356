// Tests that a Node never exceeds the grant of the machine's join token, for each source of a value.
import * as fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { reportedInitialNode, reportedSetters } from "../../../shared/from-report/reported-node.ts";
import { NOTHING_REMEMBERED } from "../../../shared/from-report/reported-status.ts";
import { namesToCheck, withinGrant } from "../../../shared/from-report/within-grant.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { leaveOthers } from "../../../shared/node/parts.ts";
import { updateNode } from "../../../shared/node/update-node.ts";
import { type Facts, factsSchema } from "../../../shared/protocol/facts.ts";
import type { Grant } from "../../../shared/protocol/join-tokens.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";
import { success } from "../../../shared/result.ts";
import { facts, HEALTHY } from "../../worker/support/facts.ts";

const NAME = "edge-7";
const OURS = "rollcall.test";
const NOTHING: Grant = { withoutFactsOnlyTaint: false };

const reportedBy = (what: Facts) => ({
  name: NAME,
  facts: what,
  vitals: {
    ...HEALTHY,
    remainingSeconds: Object.fromEntries((what.dropIns?.conditions ?? []).map(({ type }) => [type, 300])),
  },
  nowMs: Date.UTC(2026, 0, 1),
  memory: structuredClone(NOTHING_REMEMBERED),
  recordEvent: () => undefined,
});

/** In these tests no Node has the name `db.internal`, and another Node has `edge-8.shop.example.com`. */
const holderOf = (grant: Grant) => ({
  name: NAME,
  grant,
  fieldManager: OURS,
  isOtherNode: (name: string) => name === "edge-8.shop.example.com",
});

/** Returns the Node that a machine with these facts registers, and the parts that the grant did not allow. */
function created(what: Facts, grant: Grant): { node: Node; left: string[] } {
  const initial = reportedInitialNode(reportedBy(what), grant);
  if (!initial.ok) throw new Error(initial.error);
  const { node } = initial.value;
  const left = withinGrant(undefined, node, what, holderOf(grant));
  return { node: structuredClone(node), left };
}

/** Returns the Node after a report with these facts, and the parts that the grant did not allow. */
function updated(before: Node, what: Facts, grant: Grant): { node: Node; left: string[]; changed: boolean } {
  let left: string[] = [];
  const { node, changed } = updateNode(before, () => success(false), "linux", "amd64", [
    ...reportedSetters(reportedBy(what)),
    (draft) => {
      left = withinGrant(before, draft, what, holderOf(grant));
      leaveOthers(before, draft, OURS);
      return null;
    },
  ]);
  return { node: structuredClone(node), left, changed };
}

const settings = (more: Partial<Facts["settings"]>) => ({ settings: { ...facts(NAME).settings, ...more } });
const dropIns = (more: Partial<NonNullable<Facts["dropIns"]>>): Partial<Facts> => ({
  dropIns: { resources: {}, labels: {}, conditions: [], working: 1, failures: [], ...more },
});
const cloud = {
  ...settings({ cloudProvider: "aws" }),
  cloud: {
    providerID: "aws:///eu-west-1a/i-0",
    instanceType: "m5.large",
    zone: "eu-west-1a",
    region: "eu-west-1",
  },
};
const CONDITION = {
  type: "RaidDegraded",
  status: "True",
  reason: "Failed",
  message: "md0",
  expiresInSeconds: 300,
} as const;
const TAINT = { key: "example.com/a", value: "b", effect: "NoSchedule" } as const;

describe.each<[way: string, Partial<Facts>, what: (node: Node) => unknown, Grant, left: string]>([
  [
    "--node-labels",
    settings({ nodeLabels: { tier: "x" } }),
    (n) => n.metadata?.labels?.["tier"],
    { ...NOTHING, mayLabel: [] },
    "label tier",
  ],
  [
    "a drop-in's label",
    dropIns({ labels: { tier: "x" } }),
    (n) => n.metadata?.labels?.["tier"],
    { ...NOTHING, mayLabel: [] },
    "label tier",
  ],
  [
    "a cloud's zone",
    cloud,
    (n) => n.metadata?.labels?.["topology.kubernetes.io/zone"],
    { ...NOTHING, mayLabel: [] },
    "label topology.kubernetes.io/zone",
  ],
  [
    "the inventory",
    { ...settings({ inventoryLabels: true }), inventory: { cpu: { model: "a" } } },
    (n) => n.metadata?.labels?.["rollcall.dev/cpu-model"],
    { ...NOTHING, mayLabel: [] },
    "label rollcall.dev/cpu-model",
  ],
  [
    "a taint",
    settings({ registerWithTaints: [TAINT] }),
    (n) => n.spec?.taints?.find(({ key }) => key === TAINT.key),
    { ...NOTHING, mayTaint: ["example.org/*"] },
    "taint example.com/a",
  ],
  [
    "--cloud-provider external",
    settings({ cloudProvider: "external" }),
    (n) => n.spec?.taints?.find(({ key }) => key.startsWith("node.cloudprovider")),
    { ...NOTHING, mayTaint: [] },
    "taint node.cloudprovider.kubernetes.io/uninitialized",
  ],
  [
    "a configured provider ID",
    settings({ providerID: "aws:///eu-west-1a/i-9" }),
    (n) => n.spec?.providerID,
    { ...NOTHING, mayCloud: ["aws:///us-*"] },
    "provider ID aws:///eu-west-1a/i-9",
  ],
  [
    "a cloud's provider ID",
    cloud,
    (n) => n.spec?.providerID,
    { ...NOTHING, mayCloud: [] },
    "provider ID aws:///eu-west-1a/i-0",
  ],
  [
    "a drop-in's condition",
    dropIns({ conditions: [CONDITION] }),
    (n) => n.status?.conditions?.find(({ type }) => type === CONDITION.type),
    { ...NOTHING, mayCondition: ["Other"] },
    "condition RaidDegraded",
  ],
  [
    "a drop-in's resource",
    dropIns({ resources: { "example.com/gpu": 4 } }),
    (n) => n.status?.capacity?.["example.com/gpu"],
    { ...NOTHING, mayResource: ["example.com/fpga"] },
    "resource example.com/gpu",
  ],
  [
    "a device plugin's resource",
    { devices: { capacity: { "example.com/gpu": 4 }, allocatable: { "example.com/gpu": 4 }, removed: [] } },
    (n) => n.status?.allocatable?.["example.com/gpu"],
    { ...NOTHING, mayResource: [] },
    "resource example.com/gpu",
  ],
  [
    "an address",
    {},
    (n) => n.status?.addresses?.find(({ address }) => address === "10.0.0.5"),
    { ...NOTHING, mayAddress: ["10.1.0.0/16"] },
    "address 10.0.0.5",
  ],
  [
    "a hostname that is an address",
    settings({ hostname: "192.0.2.7" }),
    (n) => n.status?.addresses?.find(({ address }) => address === "192.0.2.7"),
    { ...NOTHING, mayAddress: ["10.0.0.0/8"] },
    "address 192.0.2.7",
  ],
  [
    "another host's name",
    settings({ hostname: "db.internal" }),
    (n) => n.status?.addresses?.find(({ address }) => address === "db.internal"),
    { ...NOTHING, mayAddress: ["10.0.0.0/8"] },
    "address db.internal",
  ],
])("%s", (_, more, what, grant, named) => {
  it("without a limit in the token → is there", () => {
    const { node, left } = created(facts(NAME, more), NOTHING);
    expect(what(node)).toBeDefined();
    expect(left).toEqual([]);
  });

  it("beyond the token → left out, and named; the rest stays", () => {
    const { node, left } = created(facts(NAME, more), grant);
    expect(what(node)).toBeUndefined();
    expect(left).toContain(named);
    expect(node.metadata?.labels).toMatchObject({ "kubernetes.io/os": "linux" });
    expect(node.status?.capacity).toMatchObject({ cpu: "4" });
  });
});

it("the provider ID begins as the token allows → is there; ends so → left out", () => {
  const under = (pattern: string) => created(facts(NAME, cloud), { ...NOTHING, mayCloud: [pattern] });
  expect(under("aws:///eu-*").node.spec?.providerID).toBe("aws:///eu-west-1a/i-0");
  expect(under("i-0*").left).toEqual(["provider ID aws:///eu-west-1a/i-0"]);
});

it("a taint of the token itself, which allows the machine no taint → is there", () => {
  const { node, left } = created(facts(NAME), { ...NOTHING, taints: [TAINT], mayTaint: [] });
  expect(node.spec?.taints?.map(({ key }) => key)).toContain(TAINT.key);
  expect(left).toEqual([]);
});

it("a drop-in's condition beyond the token → the other conditions stay", () => {
  const types = (what: Facts) =>
    created(what, { ...NOTHING, mayCondition: [] }).node.status?.conditions?.map(({ type }) => type);
  const without = types(facts(NAME, dropIns({})));
  expect(without).toContain("Ready");
  expect(types(facts(NAME, dropIns({ conditions: [CONDITION] })))).toEqual(without);
});

it.each([
  ["any condition", undefined, false],
  ["all conditions by a pattern", ["*"], false],
  ["it by its name", ["MaintenanceInProgress"], true],
])(
  "a drop-in's lifecycle condition, and the token allows %s → on the Node: %3$s",
  (_, mayCondition, isThere) => {
    const what = facts(NAME, dropIns({ conditions: [{ ...CONDITION, type: "MaintenanceInProgress" }] }));
    const { node } = created(what, { ...NOTHING, ...(mayCondition && { mayCondition }) });
    expect(node.status?.conditions?.some(({ type }) => type === "MaintenanceInProgress")).toBe(isThere);
  },
);

it("a drop-in's condition within the token changes → the Node's changes", () => {
  const grant = { ...NOTHING, mayCondition: [CONDITION.type] };
  const { node: before } = created(facts(NAME, dropIns({ conditions: [CONDITION] })), grant);
  const well = facts(NAME, dropIns({ conditions: [{ ...CONDITION, status: "False" }] }));
  const { node, left } = updated(before, well, grant);
  expect(node.status?.conditions).toContainEqual(
    expect.objectContaining({ type: CONDITION.type, status: "False" }),
  );
  expect(left).toEqual([]);
});

it("a registration over a Node with another writer's resource, which the token does not allow → the resource stays", () => {
  const { node } = created(facts(NAME), NOTHING);
  const before = structuredClone(node);
  before.status!.capacity!["example.com/dongle"] = "4";
  const draft = structuredClone(node);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a registered Node has all parts of a draft
  const left = withinGrant(
    before,
    draft as DraftNode,
    facts(NAME),
    holderOf({ ...NOTHING, mayResource: [] }),
  );
  expect(draft.status?.capacity).toMatchObject({ "example.com/dongle": "4" });
  expect(left).toEqual(["resource example.com/dongle"]);
});

const UNSCHEDULABLE = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" } as const;

test.each<[situation: string, Partial<Facts["settings"]>, isIn: boolean]>([
  ["of a machine that cordons its Node at registration → is there", { registerSchedulable: false }, true],
  ["without a cordon → left out", { registerWithTaints: [UNSCHEDULABLE] }, false],
  [
    "with another effect, and a cordon → left out",
    { registerSchedulable: false, registerWithTaints: [{ ...UNSCHEDULABLE, effect: "NoExecute" }] },
    false,
  ],
])("the taint of cordoned Nodes, which the token does not allow, %s", (_, more, isIn) => {
  const { node, left } = created(facts(NAME, settings(more)), { ...NOTHING, mayTaint: [] });
  const effects = node.spec?.taints?.filter(({ key }) => key === UNSCHEDULABLE.key) ?? [];
  expect(effects.map(({ effect }) => effect)).toEqual(
    more.registerSchedulable === false ? ["NoSchedule"] : [],
  );
  expect(left).toEqual(isIn ? [] : [`taint ${UNSCHEDULABLE.key}`]);
});

test.each<[nodeIPs: string[], grant: Grant, provided: string | undefined]>([
  [["10.0.0.5"], NOTHING, "10.0.0.5"],
  [["10.0.0.5"], { ...NOTHING, mayAddress: ["10.0.0.0/8"] }, "10.0.0.5"],
  [["10.0.0.5"], { ...NOTHING, mayAddress: ["10.1.0.0/16"] }, undefined],
  [["10.0.0.5", "fd00::5"], { ...NOTHING, mayAddress: ["10.0.0.0/8"] }, undefined],
  [["10.0.0.5", "fd00::5"], { ...NOTHING, mayAddress: ["10.0.0.0/8", "fd00::/8"] }, "10.0.0.5,fd00::5"],
])("node IPs %j for an external cloud, under %j → the annotation is %s", (nodeIPs, grant, provided) => {
  const addresses = { nodeIPs, lookup: [], onInterface: nodeIPs, defaultRoute: {} };
  const what = facts(NAME, { ...settings({ cloudProvider: "external" }), addresses });
  const { node } = created(what, grant);
  expect(node.metadata?.annotations?.["alpha.kubernetes.io/provided-node-ip"]).toBe(provided);
  // The other annotations stay.
  expect(Object.keys(node.metadata?.annotations ?? {})).not.toEqual([]);
});

test.each([
  ["loopback", "127.0.0.1"],
  ["link-local", "169.254.169.254"],
  ["IPv6 loopback", "::1"],
  ["multicast", "224.0.0.1"],
  ["unspecified", "0.0.0.0"],
])("an address that is %s never gets into the Node, unless the token allows it", (_, address) => {
  const at = facts(NAME, {
    ...cloud,
    cloud: {
      ...cloud.cloud,
      addresses: [
        { type: "InternalIP", address },
        { type: "InternalIP", address: "10.0.0.5" },
      ],
    },
  });
  const addresses = (grant: Grant) => created(at, grant).node.status?.addresses?.map((each) => each.address);
  expect(addresses(NOTHING)).toEqual(["10.0.0.5"]);
  expect(addresses({ ...NOTHING, mayAddress: [`${address}/${address.includes(":") ? 128 : 32}`] })).toEqual([
    address,
  ]);
});

describe("a DNS name of the machine", () => {
  const SHOP: Grant = { ...NOTHING, mayAddress: ["10.0.0.0/8", ".shop.example.com"], exactNames: true };
  const RANGE: Grant = { ...NOTHING, mayAddress: ["10.0.0.0/8"], exactNames: true };
  const OLD: Grant = { ...NOTHING, mayAddress: ["10.0.0.0/8"] };
  it.each<[name: string, grant: Grant, isIn: boolean]>([
    // The grant of these rows has no mayAddress, so it does not limit addresses.
    [NAME, NOTHING, true],
    ["db.internal", NOTHING, true],
    ["localhost", NOTHING, false],
    ["localhost.", NOTHING, false],
    ["edge-8", NOTHING, false],
    ["edge-8.shop.example.com", NOTHING, false],
    ["Edge-8.shop.example.com.", NOTHING, false],
    ["a.localhost", NOTHING, false],
    ["edge-7.169.254.169.254.nip.io", NOTHING, false],
    ["edge-7.0x7f.1", NOTHING, false],
    // Go's HTTP client reads full-width characters as ASCII, and its dialer an IPv4 address in IPv6 with a zone.
    ["127.0.0.１", NOTHING, false],
    ["edge-８.shop.example.com", NOTHING, false],
    ["::ffff:127.0.0.1%1", NOTHING, false],
    // A range in the grant allows only the Node's own name. An ending also allows the Node's name with this ending.
    [NAME, RANGE, true],
    ["edge-7.shop.example.com", RANGE, false],
    ["edge-7.attacker.example", RANGE, false],
    [NAME, SHOP, true],
    ["edge-7.shop.example.com", SHOP, true],
    ["edge-7.attacker.example", SHOP, false],
    ["x.edge-7.shop.example.com", SHOP, false],
    ["edge-8.shop.example.com", SHOP, false],
    ["edge-7.x.shop.example.com", SHOP, false],
    // A token of an earlier version allows names that begin with the Node's name, except for addresses in disguise.
    [NAME, OLD, true],
    ["edge-7.shop.example.com", OLD, true],
    ["edge-7.169.254.169.254.nip.io", OLD, false],
    ["edge-7.10-0-0-1.sslip.io", OLD, false],
    ["edge-7.127.0.0.1", OLD, false],
    ["edge-7.0x7f000001", OLD, false],
    ["edge-7.127.0.0.１", OLD, false],
    ["edge-8.shop.example.com", OLD, false],
  ])("%s under %j → in the Node: %s", (name, grant, isIn) => {
    const { node, left } = created(facts(NAME, settings({ hostname: name })), grant);
    const found = node.status?.addresses?.some(({ address }) => address === name);
    expect([found, left.includes(`address ${name}`)]).toEqual([isIn, !isIn]);
  });

  it("that a cloud's controller has set → stays", () => {
    const { node } = created(facts(NAME), NOTHING);
    const addresses = [...(node.status?.addresses ?? []), { type: "InternalDNS", address: "edge-8" }];
    const managedFields = [
      { manager: "cloud", fieldsV1: { "f:status": { "f:addresses": { 'k:{"type":"InternalDNS"}': {} } } } },
    ];
    const before = {
      ...node,
      metadata: { ...node.metadata, managedFields },
      status: { ...node.status, addresses },
    };
    const held = structuredClone(before) as DraftNode;
    expect([withinGrant(before, held, facts(NAME), holderOf(NOTHING)), held.status.addresses]).toEqual([
      [],
      addresses,
    ]);
    const own = structuredClone({ ...before, metadata: node.metadata }) as DraftNode;
    expect(withinGrant(own, structuredClone(own), facts(NAME), holderOf(NOTHING))).toEqual([
      "address edge-8",
    ]);
  });

  it("an IP address beyond the grant, which a cloud's controller has set with another type → the controller's stays", () => {
    const { node } = created(facts(NAME), RANGE);
    const address = "203.0.113.9";
    const [theirs, own] = ["ExternalIP", "InternalIP"].map((type) => ({ type, address }));
    const managedFields = [
      { manager: "cloud", fieldsV1: { "f:status": { "f:addresses": { 'k:{"type":"ExternalIP"}': {} } } } },
    ];
    const metadata = { ...node.metadata, managedFields };
    const before = { ...node, metadata, status: { ...node.status, addresses: [theirs!] } };
    const held = structuredClone({ ...before, status: { ...node.status, addresses: [theirs!, own!] } });
    const left = withinGrant(before, held as DraftNode, facts(NAME), holderOf(RANGE));
    expect([left, held.status.addresses]).toEqual([[`address ${address}`], [theirs]]);
  });

  it("names to ask the apiserver about: of several labels, not its own, in one spelling, without a limit only", () => {
    const addresses = ["a.example", "A.example.", "localhost", NAME, "10.0.0.5", "b.nip.io"];
    const what = facts(NAME, {
      ...settings({ hostname: "db.internal" }),
      cloud: {
        ...cloud.cloud,
        addresses: addresses.map((address) => ({ type: "InternalDNS" as const, address })),
      },
    });
    expect(namesToCheck(what, holderOf(NOTHING))).toEqual(["db.internal", "a.example"]);
    expect(namesToCheck(what, holderOf(OLD))).toEqual([]);
  });
});

describe.each([
  "rollcall.dev/machine",
  "a.rollcall.dev/b",
  "node-role.kubernetes.io/edge",
  "kubernetes.io/role",
])("%s, which no machine gives itself", (key) => {
  // The schemas already refuse most of these facts; withinGrant is tested without the schemas.
  const ways: [way: string, Partial<Facts>][] = [
    ["--node-labels", settings({ nodeLabels: { [key]: "x" } })],
    ["a drop-in", dropIns({ labels: { [key]: "x" } })],
  ];
  const token = { ...NOTHING, mayLabel: ["*"] };

  it.each(ways)("by %s → left out of a new Node, whatever the token allows", (_, more) => {
    const { node, left } = created(facts(NAME, more), token);
    expect(node.metadata?.labels).not.toHaveProperty([key]);
    expect(left).toEqual([`label ${key}`]);
  });

  it("by a drop-in, on a Node that has it → stays unchanged, also when the drop-in stops", () => {
    const { node } = created(facts(NAME), token);
    const before = {
      ...node,
      metadata: { ...node.metadata, labels: { ...node.metadata?.labels, [key]: "" } },
    };
    const said = updated(before, facts(NAME, dropIns({ labels: { [key]: "x" } })), token);
    expect(said.node.metadata?.labels).toHaveProperty([key], "");
    expect(said.left).toEqual([`label ${key}`]);
    const stopped = updated(said.node, facts(NAME, { dropIns: null }), token);
    expect(stopped.node.metadata?.labels).toHaveProperty([key], "");
  });
});

test("labels of rollcall's that another writer has listed as a drop-in's → stay", () => {
  const { node } = created(facts(NAME), NOTHING);
  const before: Node = {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata?.labels, "rollcall.dev/machine": "" },
      annotations: { ...node.metadata?.annotations, "rollcall.dev/fact-labels": "rollcall.dev/machine" },
    },
  };
  const { node: after } = updated(before, facts(NAME), NOTHING);
  expect(after.metadata?.labels).toHaveProperty(["rollcall.dev/machine"], "");
});

describe("values that the token sets", () => {
  const grant = { ...NOTHING, labels: { "topology.kubernetes.io/zone": "shop-7", tier: "front" } };

  it("win over a cloud and a drop-in", () => {
    const what = facts(NAME, { ...cloud, ...dropIns({ labels: { tier: "back" } }) });
    const { node, left } = created(what, grant);
    expect(node.metadata?.labels).toMatchObject(grant.labels);
    expect(node.metadata?.annotations).not.toHaveProperty("rollcall.dev/fact-labels");
    const listed = node.metadata?.annotations?.["rollcall.dev/node-labels"]?.split(",");
    expect(listed).toContain("topology.kubernetes.io/region");
    expect(listed).not.toContain("topology.kubernetes.io/zone");
    expect(left).toEqual(["label topology.kubernetes.io/zone", "label tier"]);
  });

  it("given to a Node whose machine no longer reports its label → the label stays, and is not named", () => {
    const { node: before } = created(facts(NAME, dropIns({ labels: { tier: "back" } })), NOTHING);
    const { node, left } = updated(before, facts(NAME, { dropIns: null }), grant);
    expect(node.metadata?.labels).toMatchObject({ tier: "back" });
    expect(left).toEqual([]);
  });

  it("stay when a drop-in reports others, and when it stops", () => {
    const { node: before } = created(facts(NAME), grant);
    const said = updated(before, facts(NAME, dropIns({ labels: { tier: "back" } })), grant);
    expect(said.node.metadata?.labels).toMatchObject(grant.labels);
    expect(said.left).toEqual(["label tier"]);
    expect(updated(said.node, facts(NAME, { dropIns: null }), grant).node.metadata?.labels).toMatchObject(
      grant.labels,
    );
  });
});

describe("values of other writers", () => {
  const owned = (fields: object) => [{ manager: "kubectl-label", operation: "Update", fieldsV1: fields }];
  const before = (): Node => {
    const { node } = created(facts(NAME), NOTHING);
    return {
      ...node,
      metadata: {
        ...node.metadata,
        labels: { ...node.metadata?.labels, team: "blue" },
        managedFields: owned({
          "f:metadata": { "f:labels": { "f:team": {} } },
          "f:status": {
            "f:capacity": { "f:example.com/dongle": {} },
            "f:conditions": { 'k:{"type":"KernelDeadlock"}': {} },
          },
        }),
      },
      status: {
        ...node.status,
        capacity: { ...node.status?.capacity, "example.com/dongle": "4" },
        allocatable: { ...node.status?.allocatable, "example.com/dongle": "4" },
        conditions: [
          { type: "KernelDeadlock", status: "False", reason: "None", message: "as the detector says" },
          ...(node.status?.conditions ?? []),
        ],
      },
    };
  };

  it("stay when a drop-in reports others, and when it stops", () => {
    const what = facts(
      NAME,
      dropIns({
        labels: { team: "red" },
        resources: { "example.com/dongle": 0 },
        conditions: [{ ...CONDITION, type: "KernelDeadlock" }],
      }),
    );
    const said = updated(before(), what, NOTHING);
    const stopped = updated(said.node, facts(NAME, { dropIns: null }), NOTHING);
    for (const { node } of [said, stopped]) {
      expect(node.metadata?.labels).toMatchObject({ team: "blue" });
      expect(node.status?.capacity).toMatchObject({ "example.com/dongle": "4" });
      expect(node.status?.conditions).toContainEqual(
        expect.objectContaining({ type: "KernelDeadlock", status: "False", message: "as the detector says" }),
      );
    }
    expect(said.left).toEqual([
      "condition KernelDeadlock (as kubectl-label has set it)",
      "resource example.com/dongle (as kubectl-label has set it)",
    ]);
  });
});

test("conditions of other writers stay also where the apiserver records no writer", () => {
  const { node } = created(facts(NAME), NOTHING);
  const theirs = { type: CONDITION.type, status: "False", reason: "None", message: "as the detector says" };
  const before = {
    ...node,
    status: { ...node.status, conditions: [theirs, ...(node.status?.conditions ?? [])] },
  };
  const { node: after, left } = updated(before, facts(NAME, dropIns({ conditions: [CONDITION] })), NOTHING);
  expect(after.status?.conditions).toContainEqual(theirs);
  expect(left).toEqual(["condition RaidDegraded"]);
});

test("values beyond the token are left out of every report, and change nothing", () => {
  const grant = { ...NOTHING, mayLabel: [], mayResource: [], mayCondition: [] };
  const what = facts(
    NAME,
    dropIns({
      labels: { tier: "x" },
      resources: { "example.com/gpu": 4 },
      conditions: [CONDITION],
    }),
  );
  const { node: before } = created(what, grant);
  const { changed, left } = updated(before, what, grant);
  expect(changed).toBe(false);
  expect(left).toEqual(["label tier", "condition RaidDegraded", "resource example.com/gpu"]);
});

describe("for any grant and any report", () => {
  const key = fc.constantFrom(
    "tier",
    "team",
    "example.com/a",
    "example.com/b",
    "topology.kubernetes.io/zone",
  );
  const type = fc.constantFrom("RaidDegraded", "FanFailed");
  const resource = fc.constantFrom("example.com/gpu", "example.com/fpga");
  const value = fc.constantFrom("x", "y");
  const address = fc.constantFrom("10.0.0.5", "127.0.0.1", "192.0.2.7", "2001:db8::1", "169.254.169.254");
  const labels = fc.dictionary(key, value, { noNullPrototype: true });
  const some = <T>(one: fc.Arbitrary<T>) => fc.option(fc.uniqueArray(one), { nil: undefined });
  const grants = fc.record({
    withoutFactsOnlyTaint: fc.boolean(),
    labels: fc.option(labels, { nil: undefined }),
    mayLabel: some(fc.constantFrom("tier", "example.com/*", "*")),
    mayTaint: some(fc.constantFrom("tier", "example.com/*")),
    mayCondition: some(type),
    mayResource: some(resource),
    mayAddress: some(fc.constantFrom("10.0.0.0/8", "192.0.2.0/24", "2001:db8::/32")),
    mayCloud: some(fc.constantFrom("aws:///eu-*", "aws:///us-*")),
  }) as fc.Arbitrary<Grant>;
  const reports = fc
    .record({
      nodeLabels: labels,
      taints: fc.uniqueArray(key),
      cloudProvider: fc.constantFrom(undefined, "external" as const, "aws" as const),
      zone: value,
      providerID: fc.constantFrom("aws:///eu-west-1a/i-0", "aws:///us-east-1a/i-0"),
      hostname: fc.constantFrom(NAME, "127.0.0.1", "db.internal"),
      labels,
      resources: fc.dictionary(resource, fc.nat(9), { noNullPrototype: true }),
      devices: fc.dictionary(resource, fc.nat(9), { noNullPrototype: true }),
      conditions: fc.uniqueArray(type),
      addresses: fc.uniqueArray(address),
    })
    .map((r): Facts => {
      const { settings: base } = facts(NAME);
      const what: Facts = facts(NAME, {
        settings: {
          ...base,
          hostname: r.hostname,
          nodeLabels: r.nodeLabels,
          registerWithTaints: r.taints.map((taint) => ({ key: taint, effect: "NoSchedule" as const })),
          ...(r.cloudProvider && { cloudProvider: r.cloudProvider }),
          providerID: r.providerID,
        },
        ...(r.cloudProvider === "aws" && {
          cloud: {
            providerID: r.providerID,
            instanceType: "m5",
            zone: r.zone,
            addresses: r.addresses.map((each) => ({ type: "InternalIP" as const, address: each })),
          },
        }),
        ...dropIns({
          labels: r.labels,
          resources: r.resources,
          conditions: r.conditions.map((each) => ({ ...CONDITION, type: each })),
        }),
        devices: { capacity: r.devices, allocatable: r.devices, removed: [] },
      });
      return factsSchema.parse(what);
    });

  const allows = (patterns: readonly string[] | undefined, text: string) =>
    patterns === undefined ||
    patterns.some((each) => each === text || (each.endsWith("*") && text.startsWith(each.slice(0, -1))));
  const OWN = /^(beta\.)?kubernetes\.io\/|^node\.kubernetes\.io\/exclude/;
  const RANGES: Record<string, RegExp> = {
    "10.0.0.0/8": /^10\./,
    "192.0.2.0/24": /^192\.0\.2\./,
    "2001:db8::/32": /^2001:db8:/,
  };

  function expectWithin(node: Node, grant: Grant): void {
    const nodeLabels = node.metadata?.labels ?? {};
    expect(nodeLabels).toMatchObject(grant.labels ?? {});
    for (const [label] of Object.entries(nodeLabels))
      expect(OWN.test(label) || grant.labels?.[label] !== undefined || allows(grant.mayLabel, label)).toBe(
        true,
      );
    if (grant.mayLabel && !allows(grant.mayLabel, "kubernetes.io/hostname"))
      expect(nodeLabels["kubernetes.io/hostname"]).toBe(NAME);
    for (const { key: taint } of node.spec?.taints ?? [])
      expect(taint === "rollcall.dev/facts-only" || allows(grant.mayTaint, taint)).toBe(true);
    if (node.spec?.providerID) expect(allows(grant.mayCloud, node.spec.providerID)).toBe(true);
    for (const { type: each } of node.status?.conditions ?? [])
      expect(/Pressure$|^Ready$|^DropInsFailed$/.test(each) || allows(grant.mayCondition, each)).toBe(true);
    for (const list of [node.status?.capacity ?? {}, node.status?.allocatable ?? {}])
      for (const each of Object.keys(list).filter((text) => text.includes("/")))
        expect(allows(grant.mayResource, each)).toBe(true);
    for (const { address: each } of node.status?.addresses ?? []) {
      if (grant.mayAddress === undefined) expect(each).not.toMatch(/^(127|169\.254)\./);
      else expect(each === NAME || grant.mayAddress.some((range) => RANGES[range]?.test(each))).toBe(true);
    }
  }

  it("the Node is within it, after its creation and after any further reports", () => {
    fc.assert(
      fc.property(grants, reports, fc.array(reports, { maxLength: 3 }), (grant, first, others) => {
        let { node } = created(first, grant);
        expectWithin(node, grant);
        for (const what of others) {
          ({ node } = updated(node, what, grant));
          expectWithin(node, grant);
        }
      }),
      { numRuns: 100 },
    );
  });
});
