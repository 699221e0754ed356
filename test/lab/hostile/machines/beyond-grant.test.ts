// Tests that `beyondGrant` finds each part of a Node that its machine's token does not allow, and nothing else.
import { describe, expect, it, test } from "vitest";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { beyondGrant, type Granted, type SetByOthers } from "./beyond-grant.ts";

const NOBODY: SetByOthers = {
  labels: new Set(),
  annotations: new Set(),
  taints: new Set(),
  conditions: new Set(),
  resources: new Set(),
  isCordoned: false,
};
const FACTS_ONLY = { key: "rollcall.dev/facts-only", effect: "NoSchedule" } as const;

const OWN = {
  "rollcall.dev/machine": "",
  "rollcall.dev/deployment": "rollcall",
  "node.kubernetes.io/exclude-disruption": "",
  "failure-domain.beta.kubernetes.io/region": "rollcall.dev",
};

type Parts = { metadata?: object; spec?: object; status?: object };

/** Returns the Node of a machine with default settings, with these changes. */
function nodeWith({ metadata, spec, status }: Parts): Node {
  return {
    metadata: {
      name: "edge-7",
      labels: { "rollcall.dev/hostname": "edge-7", "rollcall.dev/os": "linux", ...OWN },
      annotations: { "rollcall.dev/owner": "rollcall" },
      ...metadata,
    },
    spec: { taints: [FACTS_ONLY], ...spec },
    status: { ...status },
  };
}

const found = (node: Node, granted: Granted, others: Partial<SetByOthers> = {}) =>
  beyondGrant(node, {
    granted,
    deployment: "rollcall",
    others: { ...NOBODY, ...others },
    otherNodes: ["edge-8", "edge-9.shop.example.com"],
  });
const labels = (more: Record<string, string>) => ({ metadata: { labels: { ...OWN, ...more } } });
const taint = (key: string, value?: string) => ({ key, effect: "NoSchedule", ...(value && { value }) });
const taints = (...more: object[]) => ({ spec: { taints: [FACTS_ONLY, ...more] } });
const capacity = (name: string) => ({ status: { capacity: { [name]: "1" } } });
const condition = (type: string) => ({ status: { conditions: [{ type, status: "True" }] } });
const address = (type: string, text: string) => ({ status: { addresses: [{ type, address: text }] } });
const annotation = (key: string, value: string) => ({
  metadata: { annotations: { "rollcall.dev/owner": "rollcall", [key]: value } },
});

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const GRANTED_TAINT = { key: "tenant", value: "shop", effect: "NoSchedule" } as const;

describe.each<[what: string, Parts, within: Granted, beyond: Granted]>([
  [
    "a label",
    labels({ "example.com/a": "x" }),
    { mayLabel: ["example.com/*"] },
    { mayLabel: ["example.com/b"] },
  ],
  ["the model of its hardware", labels({ "rollcall.dev/cpu-model": "x" }), {}, { mayLabel: [] }],
  ["a hostname", labels({ "rollcall.dev/hostname": "other" }), {}, { mayLabel: [] }],
  [
    "a zone",
    labels({ "rollcall.dev/zone": "a" }),
    { mayLabel: ["topology.kubernetes.io/zone"] },
    { mayLabel: ["zone"] },
  ],
  [
    "a zone of the token",
    labels({ "rollcall.dev/zone": "a" }),
    { labels: { "failure-domain.beta.kubernetes.io/zone": "a" }, mayLabel: [] },
    { mayLabel: [] },
  ],
  ["a label of the token", labels({ tier: "x" }), { labels: { tier: "x" }, mayLabel: [] }, { mayLabel: [] }],
  ["another value of it", labels({ tier: "x" }), { labels: { tier: "x" } }, { labels: { tier: "y" } }],
  ["a taint", taints(taint("tenant", "x")), {}, { mayTaint: ["other"] }],
  [
    "a taint of the token",
    taints(GRANTED_TAINT),
    { taints: [GRANTED_TAINT], mayTaint: [] },
    { mayTaint: [] },
  ],
  ["no taint", { ...labels({}), spec: { taints: [] } }, { withoutFactsOnlyTaint: true }, {}],
  [
    "a provider ID",
    { spec: { taints: [FACTS_ONLY], providerID: "aws:///a" } },
    { mayCloud: ["aws:*"] },
    { mayCloud: ["gce:*"] },
  ],
  ["a condition", condition("RaidDegraded"), {}, { mayCondition: ["Example*"] }],
  ["a resource", capacity("example.com/gpu"), { mayResource: ["example.com/gpu"] }, { mayResource: [] }],
  [
    "an IPv4 address",
    address("InternalIP", "10.1.2.3"),
    { mayAddress: ["10.0.0.0/8"] },
    { mayAddress: ["10.2.0.0/16"] },
  ],
  [
    "an IPv6 address",
    address("InternalIP", "fd00::1"),
    { mayAddress: ["fd00::/8"] },
    { mayAddress: ["10.0.0.0/8"] },
  ],
  ["a host's name", address("Hostname", "db.internal"), {}, { mayAddress: ["10.0.0.0/8", ".internal"] }],
  [
    "a name below its own",
    address("InternalDNS", "edge-7.shop.example.com"),
    { mayAddress: ["10.0.0.0/8", ".shop.example.com"] },
    { mayAddress: ["10.0.0.0/8", ".example.com"] },
  ],
  ["a label, by default", labels({ tier: "x" }), { mayAll: true }, { mayAll: false }],
  ["a taint, by default", taints(taint("tenant", "x")), { mayAll: true }, { mayAll: false }],
  [
    "a taint instead of the facts-only one, by default",
    { ...labels({}), spec: { taints: [taint("tenant", "x")] } },
    { mayAll: false, withoutFactsOnlyTaint: true, mayLabel: ["*"] },
    { mayAll: false, withoutFactsOnlyTaint: true, mayLabel: ["*"], mayTaint: [] },
  ],
  ["a condition, by default", condition("RaidDegraded"), {}, { mayAll: false }],
  ["a resource, by default", capacity("example.com/gpu"), { mayAll: true }, { mayAll: false }],
  [
    "a provider ID, by default",
    { spec: { taints: [FACTS_ONLY], providerID: "aws:///a" } },
    { mayAll: true },
    { mayAll: false },
  ],
  ...["203.0.113.7", "100.64.0.1", "172.32.0.1", "2001:db8::1", "db.internal"].map(
    (text): [string, Parts, Granted, Granted] => [
      `${text}, by default`,
      address("ExternalIP", text),
      { mayAll: false, mayAddress: ["*"] },
      { mayAll: false },
    ],
  ),
  ...["10.1.2.3", "172.31.255.255", "192.168.0.1", "fdff::1"].map(
    (text): [string, Parts, Granted, Granted] => [
      `${text}, by default`,
      address("InternalIP", text),
      { mayAll: false },
      { mayAll: false, mayAddress: [] },
    ],
  ),
  ["a provided IP", annotation(PROVIDED, "10.1.2.3"), {}, { mayAddress: ["10.2.0.0/16"] }],
])("%s", (_, parts, within, beyond) => {
  it("within the token → nothing", () => {
    expect(found(nodeWith(parts), within)).toEqual([]);
  });
  it("beyond it → found", () => {
    expect(found(nodeWith(parts), beyond)).toHaveLength(1);
  });
});

describe("parts that no token allows", () => {
  test.each<[what: string, Parts, found: string]>([
    [
      "a label of the control plane",
      labels({ "node-role.kubernetes.io/control-plane": "" }),
      "label node-role.kubernetes.io/control-plane=",
    ],
    ["a label of NodeRestriction's", labels({ "x.k8s.io/a": "b" }), "label x.k8s.io/a=b"],
    ["a role", labels({ "node-role.kubernetes.io/edge": "" }), "label node-role.kubernetes.io/edge="],
    ["a label of rollcall's", labels({ "rollcall.dev/x": "" }), "label rollcall.dev/x="],
    ["a role in the list", annotation("rollcall.dev/roles", "edge"), "annotation rollcall.dev/roles=edge"],
    [
      "another machine's label",
      labels({ "rollcall.dev/machine": "no" }),
      "the label rollcall.dev/machine= is not there",
    ],
    [
      "another deployment's label",
      labels({ "rollcall.dev/deployment": "west" }),
      "the label rollcall.dev/deployment=rollcall is not there",
    ],
    ["room for pods", { status: { allocatable: { pods: "110" } } }, "room for 110 pods"],
    ["room for a pod's memory", { status: { allocatable: { memory: "1Gi" } } }, "room for 1Gi memory"],
    ...["kubernetes.io/hostname", "kubernetes.io/arch", "topology.kubernetes.io/zone"].map(
      (key): [string, Parts, string] => [
        `a label that others count: ${key}`,
        labels({ [key]: "x" }),
        `label ${key}=x`,
      ],
    ),
    ["another owner", { metadata: { annotations: { "rollcall.dev/owner": "west" } } }, "owner west"],
    ["an annotation", annotation("cilium.io/key", "x"), "annotation cilium.io/key=x"],
    [
      "attaching that is not true",
      annotation("volumes.kubernetes.io/controller-managed-attach-detach", "x"),
      "annotation volumes.kubernetes.io/controller-managed-attach-detach=x",
    ],
    ["a cordon", { spec: { taints: [FACTS_ONLY], unschedulable: true } }, "unschedulable"],
    ["a range of pods", { spec: { taints: [FACTS_ONLY], podCIDR: "10.0.0.0/24" } }, "spec.podCIDR"],
    ["a network's condition", condition("NetworkUnavailable"), "condition NetworkUnavailable"],
    ["loopback", address("InternalIP", "127.0.0.1"), "address InternalIP 127.0.0.1"],
    ["a metadata server", address("ExternalIP", "169.254.169.254"), "address ExternalIP 169.254.169.254"],
    ["loopback of IPv6", address("InternalIP", "::1"), "address InternalIP ::1"],
    ["a multicast address", address("InternalIP", "224.0.0.1"), "address InternalIP 224.0.0.1"],
    ...[
      "edge-8",
      "localhost",
      "edge-9.shop.example.com",
      "Edge-9.shop.example.com.",
      "edge-7.169.254.169.254.nip.io",
      "edge-7.localhost",
      "edge-7.127.1",
      "edge-7.0x7f",
      "127.0.0.１",
      "169.254.169。254",
      "::ffff:127.0.0.1%1",
      "edge.169.254.169.254%eth0",
    ].map((name): [string, Parts, string] => [name, address("Hostname", name), `address Hostname ${name}`]),
  ])("%s", (_, parts, text) => {
    expect(found(nodeWith(parts), {})).toEqual([text]);
  });
});

test.each<[what: string, Parts]>([
  ["its capacity", capacity("hugepages-2Mi")],
  ["volumes that it attaches", capacity("attachable-volumes-csi-a")],
  ["a bystander's labels", labels({ "rollcall.dev/os": "linux", "rollcall.dev/arch": "arm64" })],
  ["no room for pods", { status: { capacity: { pods: "110" }, allocatable: { pods: "0" } } }],
  ["pressure", condition("MemoryPressure")],
  ["a drop-in that fails", condition("DropInsFailed")],
  [
    "its own name",
    {
      status: {
        addresses: [
          { type: "Hostname", address: "edge-7" },
          { type: "InternalDNS", address: "edge-7" },
        ],
      },
    },
  ],
  ["what the apiserver gives a new Node", taints(taint("node.kubernetes.io/not-ready"))],
  ["what setters list", annotation("rollcall.dev/fact-labels", "a")],
])("%s, with a token that allows nothing → nothing", (_, parts) => {
  const nothing = {
    mayLabel: [],
    mayTaint: [],
    mayCondition: [],
    mayResource: [],
    mayCloud: [],
    mayAddress: [],
  };
  expect(found(nodeWith(parts), nothing)).toEqual([]);
});

test.each<[what: string, Parts, Partial<SetByOthers>]>([
  ["a label", labels({ team: "a" }), { labels: new Set(["team"]) }],
  ["a label instead of the token's", labels({ tier: "x" }), { labels: new Set(["tier"]) }],
  ["an annotation", annotation("note", "a"), { annotations: new Set(["note"]) }],
  ["a taint", taints(taint("hold")), { taints: new Set(["hold"]) }],
  ["a condition", condition("KernelDeadlock"), { conditions: new Set(["KernelDeadlock"]) }],
  ["a resource", capacity("example.com/dongle"), { resources: new Set(["example.com/dongle"]) }],
  ["a cordon", { spec: { taints: [FACTS_ONLY], unschedulable: true } }, { isCordoned: true }],
])("%s that another writer has set → nothing", (_, parts, others) => {
  const granted: Granted = { mayLabel: [], mayTaint: [], mayCondition: [], mayResource: [] };
  const tier = { labels: { tier: "front" } };
  const isInstead = parts === undefined || others.labels?.has("tier") === true;
  expect(found(nodeWith(parts), isInstead ? { ...granted, ...tier } : granted, others)).toEqual([]);
});

test("the token's role and its list → nothing; under a token without it → both are found", () => {
  const node = nodeWith({
    metadata: {
      labels: { ...OWN, "node-role.kubernetes.io/edge": "" },
      annotations: { "rollcall.dev/owner": "rollcall", "rollcall.dev/roles": "edge" },
    },
  });
  expect(found(node, { roles: ["edge"], mayLabel: [] })).toEqual([]);
  expect(found(node, {})).toHaveLength(2);
});

test("a part of the token that is missing → found", () => {
  const granted: Granted = { labels: { tier: "front" }, taints: [GRANTED_TAINT] };
  expect(found(nodeWith({}), granted)).toEqual([
    "the label tier=front is not there",
    "the taint tenant=shop:NoSchedule is not there",
  ]);
});
