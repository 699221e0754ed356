// Lists the faults of the apiserver and of the network to it, and other writers' changes of Nodes and leases.
import type { KubeFault } from "./cluster.ts";
import { type Begin, type Fault, faultsWith, NOTHING } from "./fault.ts";

const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

const of = faultsWith({ isOfMachine: false });
const ofMachine = faultsWith({ isOfMachine: true });

/** Adds a fault of the apiserver. `only`: the requests that meet it; absent: all requests. */
const onKube =
  (fault: KubeFault, only?: RegExp): Begin =>
  ({ world: { cluster, kubeTrouble, kubeGone, time } }) => {
    const own = { fault, ...(only && { of: only }) };
    const changed = () => {
      const all = [...cluster.faults];
      kubeTrouble.set(all.length > 0, time.nowMs());
      // Of two faults of all requests, the earlier one counts.
      const general = all.find(({ of }) => !of);
      kubeGone.set(general !== undefined && NO_ANSWERS.has(general.fault.kind), time.nowMs());
    };
    cluster.faults.add(own);
    changed();
    return () => {
      cluster.faults.delete(own);
      changed();
    };
  };

/** The faults with which no request succeeds. */
const NO_ANSWERS = new Set<KubeFault["kind"]>(["away", "refuses connections", "page"]);

/** Changes the machine's Node or lease as another writer, at once. The Worker reverts the change or leaves it. */
const otherWriter =
  (
    method: string,
    pathOf: (name: string) => string,
    bodyOf: () => object = () => ({}),
    type = MERGE,
  ): Begin =>
  async ({ world, machine }) => {
    const nowMs = world.time.nowMs();
    machine.foreign.set(true, nowMs);
    await world.cluster.admin(method, pathOf(machine.name), bodyOf(), type);
    machine.foreign.set(false, nowMs);
    return NOTHING;
  };

const node = (name: string) => `/api/v1/nodes/${name}`;

/** Deletes the Node. An operator registers the machine again at the end. */
const deleted: Begin = async ({ world, machine }) => {
  const unblock = machine.block();
  await world.cluster.admin("DELETE", node(machine.name));
  return async () => {
    await world.operator("POST", `/v1/nodes/${machine.name}/register`).catch(NOTHING);
    unblock();
  };
};

const READY_FALSE = {
  status: {
    conditions: [{ type: "Ready", status: "False", reason: "ByHand", message: "another writer wrote this" }],
  },
};
const TAINT = { spec: { taints: [{ key: "example.com/maintenance", value: "", effect: "NoSchedule" }] } };

const controllerRestarts: Begin = async ({ world }) => {
  if (!world.stopController) return NOTHING;
  await world.endController();
  return () => world.startController();
};

export const CLUSTER_FAULTS: readonly Fault[] = [
  of("the apiserver is away", [10, 240], onKube({ kind: "away" })),
  of("the apiserver refuses connections", [10, 240], onKube({ kind: "refuses connections" })),
  of("the apiserver answers 429", [10, 240], onKube({ kind: "status", code: 429, retryAfterS: 1 })),
  of("the apiserver answers 429 for 30 s", [10, 240], onKube({ kind: "status", code: 429, retryAfterS: 30 })),
  of("the apiserver answers 500", [10, 240], onKube({ kind: "status", code: 500 })),
  of(
    "the apiserver answers 403 to statuses",
    [10, 240],
    onKube({ kind: "status", code: 403 }, /^PATCH .*status/),
  ),
  of("the apiserver answers 401", [10, 120], onKube({ kind: "status", code: 401 })),
  of(
    "the apiserver answers 409 to statuses",
    [10, 120],
    onKube({ kind: "status", code: 409 }, /^PATCH .*status/),
  ),
  of(
    "the apiserver answers 409 to leases",
    [10, 120],
    onKube({ kind: "status", code: 409 }, /^PUT .*leases/),
  ),
  of("a tunnel answers with its own page", [10, 240], onKube({ kind: "page", code: 502 })),
  of("the apiserver answers after 300 ms", [20, 240], onKube({ kind: "slow", ms: 300 })),
  of("the apiserver answers after 2 s", [20, 240], onKube({ kind: "slow", ms: 2000 })),
  of("answers of the apiserver are lost", [10, 120], onKube({ kind: "answers lost" }, /^(PUT|PATCH|POST)/)),
  of("a third of the requests to the apiserver fails", [20, 240], onKube({ kind: "some fail", share: 0.3 })),
  ofMachine("its Node is deleted", [20, 120], deleted),
  ofMachine(
    "its lease is deleted",
    [1, 1],
    otherWriter("DELETE", (name) => `${LEASES}/${name}`),
  ),
  ofMachine(
    "another writer sets Ready to False",
    [1, 1],
    otherWriter(
      "PATCH",
      (name) => `${node(name)}/status`,
      () => READY_FALSE,
      STRATEGIC,
    ),
  ),
  ofMachine(
    "another writer taints its Node",
    [1, 1],
    otherWriter("PATCH", node, () => TAINT, STRATEGIC),
  ),
  ofMachine(
    "another writer cordons its Node",
    [1, 1],
    otherWriter("PATCH", node, () => ({ spec: { unschedulable: true } })),
  ),
  ofMachine(
    "another writer removes the deployment's label",
    [1, 1],
    otherWriter("PATCH", node, () => ({ metadata: { labels: { "rollcall.dev/deployment": null } } })),
  ),
  of("the node controller is away", [20, 200], controllerRestarts),
];
