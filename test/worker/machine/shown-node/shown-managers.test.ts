// Tests which writer set the labels and taints of a Node, by the apiserver's managedFields.
import { expect, it } from "vitest";
import type { Node, Taint } from "../../../../shared/kubernetes/types.ts";
import { shownManagers } from "../../../../worker/machine/shown-node.ts";

const OURS = "rollcall.site-a";
const CONTROLLER = "kube-controller-manager";
const NOT_READY: Taint = { key: "node.kubernetes.io/not-ready", effect: "NoExecute" };
const FACTS_ONLY: Taint = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
const GPU: Taint = { key: "gpu", value: "a100", effect: "NoSchedule" };

const labelled = (labels: Record<string, string>, owners: [manager: string, ...keys: string[]][]): Node => ({
  metadata: {
    labels,
    managedFields: owners.map(([manager, ...keys]) => ({
      manager,
      fieldsV1: { "f:metadata": { "f:labels": Object.fromEntries(keys.map((key) => [`f:${key}`, {}])) } },
    })),
  },
});
const tainted = (taints: Taint[], ...owners: string[]): Node => ({
  metadata: {
    managedFields: owners.map((manager) => ({ manager, fieldsV1: { "f:spec": { "f:taints": {} } } })),
  },
  spec: { taints },
});

it.each<[situation: string, node: Node | undefined, labels: Record<string, string>]>([
  ["there is no Node → nothing", undefined, {}],
  ["the apiserver records nobody → nothing", { metadata: { labels: { a: "1" } } }, {}],
  [
    "ours and somebody else's",
    labelled({ a: "1", b: "2" }, [
      [OURS, "a"],
      ["kubectl-label", "b"],
    ]),
    { a: OURS, b: "kubectl-label" },
  ],
  [
    "both have set the same value → it stays theirs",
    labelled({ a: "1" }, [
      [OURS, "a"],
      ["argocd", "a"],
    ]),
    { a: "argocd" },
  ],
  [
    "one of which is not recorded who set it → absent",
    labelled({ a: "1", "example.com/b": "2" }, [[OURS, "a"]]),
    { a: OURS },
  ],
  ["recorded and gone → absent", labelled({}, [["kubectl-label", "a"]]), {}],
])("labels: %s", (_, node, labels) => {
  expect(shownManagers(node, "site-a", undefined)).toEqual({ labels, taints: {} });
});

it.each<[situation: string, node: Node, taints: Record<string, string>]>([
  [
    "as they were created → ours; a condition's is admission's",
    tainted([FACTS_ONLY, GPU, NOT_READY], OURS),
    { "rollcall.dev/facts-only:NoSchedule": OURS, "gpu:NoSchedule": OURS },
  ],
  [
    "a controller has changed the list last → the conditions' are its own",
    tainted([FACTS_ONLY, NOT_READY, { key: "drain", effect: "NoSchedule" }], CONTROLLER),
    {
      "rollcall.dev/facts-only:NoSchedule": OURS,
      "node.kubernetes.io/not-ready:NoExecute": CONTROLLER,
    },
  ],
  [
    "a person has → all but the conditions' and what is said",
    tainted([GPU, NOT_READY, { key: "drain", effect: "NoSchedule" }], "kubectl-taint"),
    { "gpu:NoSchedule": OURS, "drain:NoSchedule": "kubectl-taint" },
  ],
  [
    "what is said, with another value → who changed it",
    tainted([{ ...GPU, value: "h100" }], "kubectl-taint"),
    { "gpu:NoSchedule": "kubectl-taint" },
  ],
  [
    "two have → nobody knows",
    tainted([{ key: "drain", effect: "NoSchedule" }], "kubectl-taint", "argocd"),
    {},
  ],
  [
    "the apiserver records nobody → what is said alone",
    tainted([GPU, NOT_READY]),
    { "gpu:NoSchedule": OURS },
  ],
])("taints: %s", (_, node, taints) => {
  expect(shownManagers(node, "site-a", { taints: [GPU] })).toEqual({ labels: {}, taints });
});
