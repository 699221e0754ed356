// Lists the rules for Nodes and their changes, which the embedded and a real apiserver must have alike, and the
// fields that each of a Node's two paths ignores.
import { type Case, type Cause, failure, invalid, made, node, nodes, patched, refused } from "./case.ts";
import { badName, badValue, invalidValue } from "./texts.ts";

const effects = 'supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"';

function badSpec(situation: string, spec: object, ...causes: Cause[]): Case {
  return refused(situation, nodes, "Node", { spec }, ...causes);
}

function badStatus(situation: string, status: object, ...causes: Cause[]): Case {
  return refused(situation, nodes, "Node", { status }, ...causes);
}

const taints: Case[] = [
  badSpec(
    "a taint with a bad key, value and effect",
    { taints: [{ key: "-a", value: "b c", effect: "Foo" }] },
    ["metadata.taints[0].key", invalidValue("-a", badName)],
    ["metadata.taints[0].value", invalidValue("b c", badValue)],
    ["metadata.taints[0].effect", `Unsupported value: "Foo": ${effects}`],
  ),
  badSpec("a taint without an effect", { taints: [{ key: "a" }] }, [
    "metadata.taints[0].effect",
    "Required value",
  ]),
  badSpec(
    "two taints of one key and effect",
    {
      taints: [
        { key: "a", effect: "NoSchedule" },
        { key: "a", value: "b", effect: "NoSchedule" },
      ],
    },
    [
      "metadata.taints[1]",
      'Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: ' +
        "taints must be unique by key and effect pair",
    ],
  ),
  {
    situation: "a Node that brings its not-ready taint gets no second one",
    request: (name) =>
      made(
        nodes,
        node(name, { spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] } }),
      ),
    outcome: () => ({
      code: 201,
      body: { spec: { taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] } },
    }),
  },
];

const cidrs: Case[] = [
  {
    situation: "pod CIDRs of both families; the first is the podCIDR",
    request: (name) => made(nodes, node(name, { spec: { podCIDRs: ["10.0.0.0/24", "fd00::/64"] } })),
    outcome: () => ({
      code: 201,
      body: { spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24", "fd00::/64"] } },
    }),
  },
  {
    situation: "a podCIDR that is not the first of podCIDRs replaces them",
    request: (name) =>
      made(nodes, node(name, { spec: { podCIDR: "10.0.5.0/24", podCIDRs: ["10.0.0.0/24", "fd00::/64"] } })),
    outcome: () => ({ code: 201, body: { spec: { podCIDR: "10.0.5.0/24", podCIDRs: ["10.0.5.0/24"] } } }),
  },
];

const statuses: Case[] = [
  badStatus("a negative capacity", { capacity: { cpu: "-1" }, allocatable: {} }, [
    "status.capacity.cpu",
    invalidValue("-1", "must be greater than or equal to 0"),
  ]),
  badStatus("half a pod", { allocatable: { pods: "1.5" } }, [
    "status.allocatable.pods",
    invalidValue("1500m", "must be an integer"),
  ]),
  badStatus(
    "half a GPU, which is allocatable too",
    { capacity: { "example.com/gpu": "0.5" } },
    ["status.capacity.example.com/gpu", invalidValue("500m", "must be an integer")],
    ["status.allocatable.example.com/gpu", invalidValue("500m", "must be an integer")],
  ),
  {
    situation: "allocatable that is said to be nothing stays nothing",
    request: (name) => made(nodes, node(name, { status: { capacity: { cpu: "1" }, allocatable: {} } })),
    outcome: () => ({ code: 201, body: { status: { capacity: { cpu: "1" } } } }),
  },
  {
    situation: "the dynamic kubelet configuration is dropped",
    request: (name) =>
      made(
        nodes,
        node(name, {
          spec: { configSource: { configMap: { name: "a", namespace: "b", kubeletConfigKey: "c" } } },
          status: { config: { error: "x" } },
        }),
      ),
    outcome: () => ({ code: 201, body: { spec: { taints: [{}] } } }),
  },
];

const full = {
  spec: { podCIDR: "10.0.0.0/24", providerID: "p" },
  status: { capacity: { cpu: "1" } },
};

const updates: Case[] = [
  {
    situation: "what of a Node's spec never changes",
    before: (name) => [made(nodes, node(name, full))],
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}`,
      body: node(name, { spec: { podCIDR: "10.0.1.0/24" } }),
    }),
    // The reason about the provider ID differs between the releases.
    outcome: () => ({
      code: 422,
      body: {
        details: {
          causes: [
            {
              field: "spec.podCIDRs",
              message: 'Forbidden: node updates may not change podCIDR except from "" to valid',
            },
            { field: "spec.providerID" },
          ],
        },
      },
    }),
  },
  {
    situation: "podCIDR and providerID may be set once",
    before: (name) => [made(nodes, node(name))],
    request: (name) => patched(name, "merge", { spec: { podCIDR: "10.0.0.0/24", providerID: "p" } }),
    outcome: () => ({ code: 200, body: { spec: { podCIDRs: ["10.0.0.0/24"], providerID: "p" } } }),
  },
  {
    situation: "an address twice in the status",
    before: (name) => [made(nodes, node(name))],
    request: (name) =>
      patched(
        name,
        "merge",
        {
          status: {
            addresses: [
              { type: "Hostname", address: "h" },
              { type: "Hostname", address: "h" },
            ],
          },
        },
        "/status",
      ),
    outcome: (name) =>
      invalid("Node", name, ["status.addresses[1]", 'Duplicate value: {"Type":"Hostname","Address":"h"}']),
  },
  {
    situation: "a write of the status takes all metadata, and nothing of the spec",
    before: (name) => [made(nodes, node(name, full))],
    request: (name) => ({
      method: "PUT",
      path: `${nodes}/${name}/status`,
      body: node(
        name,
        {
          spec: { unschedulable: true, taints: [{ key: "-" }] },
          status: { capacity: { cpu: "2" }, config: { error: "x" } },
        },
        { labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.com/x"] },
      ),
    }),
    outcome: () => ({
      code: 200,
      body: {
        metadata: { labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.com/x"] },
        spec: { podCIDR: "10.0.0.0/24", providerID: "p" },
        status: { capacity: { cpu: "2" }, allocatable: { cpu: "2" } },
      },
    }),
  },
  {
    situation: "a write of the status is not there to make a Node",
    request: (name) => ({ method: "PUT", path: `${nodes}/${name}/status`, body: node(name) }),
    outcome: (name) => failure(404, "NotFound", `nodes "${name}" not found`, { name, kind: "nodes" }),
  },
];

export const nodeRules: Case[] = [...taints, ...cidrs, ...statuses, ...updates];
