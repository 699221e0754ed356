// Lists requests of the Worker's account that the admission policies of infra/rbac refuse, and some that the
// policies accept. Data only: every request is a dry run against the fixtures.
import type { Lease, Node } from "../../../shared/kubernetes/types.ts";
import { adoptionPatch, MOVED_LABELS, QUEUE_LABEL, QUEUE_REGION } from "../../../shared/node/ownership.ts";
import type { Sent } from "../../infra/local/apiserver/test-server.ts";

const NODES = "/api/v1/nodes";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const ACCOUNTS = "/api/v1/namespaces/rollcall-system/serviceaccounts";
const SECRETS = "/api/v1/namespaces/rollcall-system/secrets";
const OTHER_LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

const OWNED = { annotations: { "rollcall.dev/owner": "rollcall" } };
const OWNED_BY_EAST = { annotations: { "rollcall.dev/owner": "east" } };
const OTHER_TAINT = { key: "example.com/other", value: "x", effect: "NoSchedule" };
const FACTS_ONLY = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };

const leaseOf = (name: string, metadata: object, uid = "1") => ({
  metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }], ...metadata },
  spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" },
});

/** The cluster operator's decisions, as annotations of the namespace. */
export const configuration = {
  "rollcall.dev/without-facts-only-taint": "west, east",
  "rollcall.dev/max-capacity": "cpu=4, example.com/gpu=2",
  "rollcall.dev/bystanders": "rollcall",
  "rollcall.dev/passed-over-by-hints": "west",
  "rollcall.dev/rule-taints": "east",
  "rollcall.dev/api-audiences": "api.example.com, api.example.org",
};

const RESTRICTED = "example.node-restriction.kubernetes.io/tier";
const CONTROL_PLANE = "node-role.kubernetes.io/control-plane";
const THEIRS = "node-role.kubernetes.io/theirs";
const MACHINE = "rollcall.dev/machine";
const DEPLOYMENT = "rollcall.dev/deployment";
const PUBLIC_IP = "flannel.alpha.coreos.com/public-ip";

/** Objects of other writers, which exist before the requests. */
export const fixtures: {
  path: string;
  body: { metadata: { name: string; annotations?: object; labels?: object }; spec?: object; status?: object };
}[] = [
  {
    path: NODES,
    body: {
      metadata: {
        name: "mine",
        // An operator and an agent have set these labels.
        labels: { [RESTRICTED]: "front", [CONTROL_PLANE]: "", [THEIRS]: "true" },
        annotations: { ...OWNED.annotations, [PUBLIC_IP]: "10.0.0.1" },
      },
      spec: { unschedulable: true, taints: [FACTS_ONLY] },
      // This Node was created before the cluster had a bound on capacity.
      status: { capacity: { cpu: "8" } },
    },
  },
  { path: NODES, body: { metadata: { name: "kubelets" } } },
  {
    path: NODES,
    body: {
      metadata: { name: "easts", ...OWNED_BY_EAST },
      spec: { taints: [FACTS_ONLY, { key: "node.kubernetes.io/down", effect: "NoSchedule" }, OTHER_TAINT] },
    },
  },
  {
    path: NODES,
    // An operator has removed the taint of this Node.
    body: {
      metadata: {
        name: "wests",
        labels: { "node-role.kubernetes.io/master": "" },
        annotations: { "rollcall.dev/owner": "west" },
      },
    },
  },
  {
    path: NODES,
    body: {
      metadata: { name: "offered", annotations: { "rollcall.dev/adopt": "rollcall" } },
      spec: { taints: [OTHER_TAINT] },
    },
  },
  {
    path: NODES,
    body: {
      metadata: {
        name: "offered-by-east",
        labels: { [DEPLOYMENT]: "east" },
        annotations: { ...OWNED_BY_EAST.annotations, "rollcall.dev/adopt": "rollcall" },
      },
    },
  },
  { path: LEASES, body: leaseOf("mine", OWNED) },
  { path: LEASES, body: leaseOf("kubelets", {}) },
  { path: LEASES, body: leaseOf("easts", OWNED_BY_EAST) },
  { path: OTHER_LEASES, body: leaseOf("mine", OWNED) },
  ...[ACCOUNTS, SECRETS].map((path) => ({ path, body: { metadata: { name: "east" } } })),
  // The name of this Node is that of the Worker's account.
  { path: NODES, body: { metadata: { name: "rollcall" } } },
];

/** Returns the fixture at a path. */
type Found = (path: string) => Node & Lease;

type Case = [situation: string, sent: (found: Found) => Sent];
/** A refused case. `rule`: a part of the message of the rule that refuses it. */
type Refused = [rule: string, ...Case];

const create =
  (body: object, path = NODES) =>
  (): Sent => ({ method: "POST", path, body });
const patch =
  (path: string, body: object, type = "strategic") =>
  (): Sent => ({
    method: "PATCH",
    path: `${NODES}/${path}`,
    type,
    body,
  });
const remove = (path: string, options?: object) => (): Sent => ({
  method: "DELETE",
  path,
  // If the request has a body, the server reads dryRun from the body and ignores the query.
  ...(options && { body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"], ...options } }),
});
const report = (status: object) => patch("mine/status", { status });
const put =
  (path: string, metadata: object, spec: object = {}) =>
  (found: Found): Sent => {
    const lease = found(path);
    const body = {
      ...lease,
      metadata: { ...lease.metadata, ...metadata },
      spec: { ...lease.spec, ...spec },
    };
    return { method: "PUT", path, body };
  };
/** Returns the request that adopts a Node, with the Worker's own patch. */
const adopt =
  (name: string, withoutTaint: boolean, spec: object = {}) =>
  (found: Found): Sent => {
    const adoption = adoptionPatch(found(`${NODES}/${name}`), "rollcall", withoutTaint);
    const body = { ...adoption, spec: { ...(adoption["spec"] as object), ...spec } };
    return { method: "PATCH", path: `${NODES}/${name}`, type: "strategic", body };
  };

/** Returns the request that adopts a Node and sets the new deployment's label. */
const adoptLabelled = (name: string) => (found: Found) => {
  const { body, ...sent } = adopt(name, false)(found);
  const { metadata, ...more } = body as { metadata: object };
  return { ...sent, body: { ...more, metadata: { ...metadata, labels: { [DEPLOYMENT]: "rollcall" } } } };
};

const NOT_OURS = "the Node is not of the deployment";
const NO_OWNER = "this account writes Nodes with the annotation";
const OWN_LABELS = "this account writes the labels rollcall.dev/machine";
const OFFERS = "rollcall.dev/adopt is an operator's";
const FINALIZERS = "finalizers of a Node";
const REFERENCES = "owner references of a Node";
const NEW_SPEC = "a Node is created with";
const SPEC = "the spec of a Node that exists";
const TAINTS = "of the taints of a Node that exists";
const finalizers = ["example.com/stay"];
const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "kubelets", uid: "1" }];
const NO_TAINT = "a Node is created and adopted with the taint";
const LABELS = "labels of node-restriction.kubernetes.io";
const BYSTANDERS = "a Node that runs no pods has its host";
const AGENTS = "annotations that a network";
const BOUND = "a Node has more than the cluster allows it";
const ORPHANS = "a Node is deleted with what belongs to it";
const newNode = (metadata: object = {}, spec: object = {}, status: object = {}) => ({
  metadata: { name: "new", ...OWNED, ...metadata },
  spec: { taints: [FACTS_ONLY], ...spec },
  status,
});
const labelled = (labels: object) => ({ metadata: { labels } });
const annotated = (annotations: object) => ({ metadata: { annotations } });
const annotatedNode = (key: string) => newNode({ annotations: { ...OWNED.annotations, [key]: "10.0.0.2" } });

const nodesRefused: Refused[] = [
  [NOT_OURS, "claim a kubelet's Node", patch("kubelets", { metadata: OWNED })],
  [
    NOT_OURS,
    "claim a kubelet's Node by its status",
    patch("kubelets/status", { metadata: OWNED, status: { phase: "Running" } }),
  ],
  [
    NOT_OURS,
    "claim a kubelet's Node by server-side apply",
    patch(
      "kubelets?fieldManager=x&force=true",
      { apiVersion: "v1", kind: "Node", metadata: { name: "kubelets", ...OWNED } },
      "apply",
    ),
  ],
  [
    NOT_OURS,
    "offer itself a kubelet's Node",
    patch("kubelets", { metadata: { annotations: { "rollcall.dev/adopt": "rollcall" } } }),
  ],
  [NOT_OURS, "label a kubelet's Node", patch("kubelets", { metadata: { labels: { a: "b" } } })],
  [
    NOT_OURS,
    "write a kubelet's status",
    patch("kubelets/status", { status: { conditions: [{ type: "Ready", status: "False" }] } }),
  ],
  [NOT_OURS, "delete a kubelet's Node", remove(`${NODES}/kubelets`)],
  [NOT_OURS, "take another deployment's Node", patch("easts", { metadata: OWNED })],
  [NOT_OURS, "write another deployment's status", patch("easts/status", { status: { phase: "Running" } })],
  [NOT_OURS, "delete a Node that it is offered", remove(`${NODES}/offered`)],
  [NO_OWNER, "create a Node without an owner", create(newNode({ annotations: {} }))],
  [
    NO_OWNER,
    "create a Node of a generated name without an owner",
    create({ metadata: { generateName: "new-" }, spec: { taints: [FACTS_ONLY] } }),
  ],
  [NO_OWNER, "create another deployment's Node", create(newNode(OWNED_BY_EAST))],
  [
    NO_OWNER,
    "create a Node without an owner by server-side apply",
    patch("new?fieldManager=x", { apiVersion: "v1", kind: "Node", metadata: { name: "new" } }, "apply"),
  ],
  [
    NO_OWNER,
    "remove the owner",
    patch("mine", { metadata: { annotations: { "rollcall.dev/owner": null } } }),
  ],
  [
    NO_OWNER,
    "remove the owner by the status",
    patch("mine/status", { metadata: { annotations: { "rollcall.dev/owner": null } } }),
  ],
  [NO_OWNER, "change the owner", patch("mine", { metadata: OWNED_BY_EAST })],
  [NO_OWNER, "adopt a Node for another deployment", patch("offered", { metadata: OWNED_BY_EAST })],
  [
    OFFERS,
    "offer its Node to another deployment",
    patch("mine", { metadata: { annotations: { "rollcall.dev/adopt": "east" } } }),
  ],
  [FINALIZERS, "create with finalizers", create(newNode({ finalizers }))],
  [FINALIZERS, "add finalizers", patch("mine", { metadata: { finalizers } })],
  [FINALIZERS, "add finalizers by the status", patch("mine/status", { metadata: { finalizers } })],
  [REFERENCES, "create with owner references", create(newNode({ ownerReferences }))],
  [REFERENCES, "add owner references", patch("mine", { metadata: { ownerReferences } })],
  [REFERENCES, "add owner references by the status", patch("mine/status", { metadata: { ownerReferences } })],
  [NEW_SPEC, "create with a pod CIDR", create(newNode({}, { podCIDR: "10.1.0.0/24" }))],
  [SPEC, "set a pod CIDR", patch("mine", { spec: { podCIDR: "10.1.0.0/24" } })],
  [SPEC, "set a provider ID", patch("mine", { spec: { providerID: "x" } })],
  [SPEC, "uncordon", patch("mine", { spec: { unschedulable: null } })],
  [SPEC, "cordon at adoption", adopt("offered", false, { unschedulable: true })],
  [TAINTS, "add a taint", patch("mine", { spec: { taints: [FACTS_ONLY, OTHER_TAINT] } })],
  [TAINTS, "remove the facts-only taint", patch("mine", { spec: { taints: null } })],
  [TAINTS, "remove others' taints at adoption", adopt("offered", false, { taints: [FACTS_ONLY] })],
  [
    TAINTS,
    "add another taint at adoption",
    adopt("offered", false, { taints: [OTHER_TAINT, { key: "a", effect: "NoExecute" }] }),
  ],
  [NO_TAINT, "create a Node without the facts-only taint", create(newNode({}, { taints: [OTHER_TAINT] }))],
  [NO_TAINT, "create a Node without taints", create(newNode({}, { taints: [] }))],
  [
    NO_TAINT,
    "create a Node that pods are only advised against",
    create(newNode({}, { taints: [{ ...FACTS_ONLY, effect: "PreferNoSchedule" }] })),
  ],
  [NO_TAINT, "adopt a Node without the facts-only taint", adopt("offered", true)],
  ...[
    "node-restriction.kubernetes.io/tier",
    RESTRICTED,
    CONTROL_PLANE,
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/etcd",
    "kubernetes.io/role",
  ].map((key): Refused => [
    LABELS,
    `create a Node with the label ${key}`,
    create(newNode({ labels: { [key]: "x" } })),
  ]),
  [LABELS, "set such a label", patch("mine", labelled({ "node-role.kubernetes.io/master": "" }))],
  [
    LABELS,
    "set such a label by the status",
    patch("mine/status", labelled({ "node-restriction.kubernetes.io/tier": "x" })),
  ],
  [LABELS, "change an operator's such label", patch("mine/status", labelled({ [RESTRICTED]: "back" }))],
  [LABELS, "remove an operator's such label", patch("mine/status", labelled({ [CONTROL_PLANE]: null }))],
  ...Object.values<readonly string[]>(MOVED_LABELS)
    .flat()
    .map((key): Refused => [
      BYSTANDERS,
      `label its Node ${key}`,
      patch("mine/status", labelled({ [key]: "x" })),
    ]),
  [BYSTANDERS, "create such a Node", create(newNode({ labels: { "kubernetes.io/hostname": "new" } }))],
  [
    OWN_LABELS,
    "say that its Node is another deployment's",
    patch("mine", labelled({ [DEPLOYMENT]: "east" })),
  ],
  [OWN_LABELS, "say so by the status", patch("mine/status", labelled({ [DEPLOYMENT]: "east" }))],
  [OWN_LABELS, "create such a Node", create(newNode({ labels: { [DEPLOYMENT]: "" } }))],
  [OWN_LABELS, "give its machine's label a value", patch("mine", labelled({ [MACHINE]: "no" }))],
  [OWN_LABELS, "give a role a value", patch("mine", labelled({ "node-role.kubernetes.io/edge": "x" }))],
  ...[
    PUBLIC_IP,
    "io.cilium.network.ipv4-pod-cidr",
    "network.cilium.io/ipv4-cilium-host",
    "projectcalico.org/IPv4Address",
    "kilo.squat.ai/endpoint",
    "csi.volume.kubernetes.io/nodeid",
    "cluster.x-k8s.io/machine",
    "kubeadm.alpha.kubernetes.io/cri-socket",
  ].map((key): Refused => [AGENTS, `create a Node with the annotation ${key}`, create(annotatedNode(key))]),
  [AGENTS, "set such an annotation", patch("mine", annotated({ "karpenter.sh/do-not-disrupt": "true" }))],
  [
    AGENTS,
    "change an agent's annotation by the status",
    patch("mine/status", annotated({ [PUBLIC_IP]: "10.0.0.2" })),
  ],
  [AGENTS, "remove an agent's annotation", patch("mine/status", annotated({ [PUBLIC_IP]: null }))],
  [
    BOUND,
    "create a Node with more capacity than is allowed",
    create(newNode({}, {}, { capacity: { cpu: "4001m" } })),
  ],
  [
    BOUND,
    "create a Node with more allocatable than is allowed",
    create(newNode({}, {}, { capacity: { cpu: "4" }, allocatable: { cpu: "5" } })),
  ],
  [BOUND, "report more capacity than is allowed", report({ capacity: { "example.com/gpu": "3" } })],
  [BOUND, "report more allocatable than is allowed", report({ allocatable: { cpu: "4001m" } })],
  [BOUND, "report even more of what was too much before", report({ capacity: { cpu: "9" } })],
  [
    ORPHANS,
    "delete its Node and orphan its leases",
    remove(`${NODES}/mine`, { propagationPolicy: "Orphan" }),
  ],
  [ORPHANS, "orphan them by the query", remove(`${NODES}/mine?propagationPolicy=Orphan`)],
  [ORPHANS, "orphan them the old way", remove(`${NODES}/mine?orphanDependents=true`)],
];

const LEASE_PLACE = "leases of Nodes are in the namespace";
const LEASE_NOT_OURS = "the lease is not of the deployment";
const LEASE_NO_OWNER = "this account writes leases with the annotation";
const HOLDER = "the holder of a lease";
const LEASE_REFERENCES = "a lease belongs to the Node";
const LEASE_FINALIZERS = "finalizers of a lease";
const LEASE_ORPHANS = "a lease is deleted with what belongs to it";

const leasesRefused: Refused[] = [
  // Normally the account has no role in this namespace; the test grants a role, so that only the policy can refuse.
  [LEASE_PLACE, "renew a lease of another namespace", put(`${OTHER_LEASES}/mine`, {})],
  [LEASE_PLACE, "delete a lease of another namespace", remove(`${OTHER_LEASES}/mine`)],
  [LEASE_NOT_OURS, "take a kubelet's lease", put(`${LEASES}/kubelets`, OWNED)],
  [LEASE_NOT_OURS, "renew a kubelet's lease", put(`${LEASES}/kubelets`, {})],
  [LEASE_NOT_OURS, "delete a kubelet's lease", remove(`${LEASES}/kubelets`)],
  [LEASE_NOT_OURS, "take another deployment's lease", put(`${LEASES}/easts`, OWNED)],
  [LEASE_NO_OWNER, "create a lease without an owner", create(leaseOf("new", {}), LEASES)],
  [LEASE_NO_OWNER, "give its lease away", put(`${LEASES}/mine`, OWNED_BY_EAST)],
  [
    HOLDER,
    "create a lease that another holds",
    create({ ...leaseOf("new", OWNED), spec: { holderIdentity: "kubelets" } }, LEASES),
  ],
  [HOLDER, "change the holder", put(`${LEASES}/mine`, {}, { holderIdentity: "x" })],
  [
    LEASE_REFERENCES,
    "create a lease that belongs to another Node",
    create(leaseOf("new", { ...OWNED, ownerReferences }), LEASES),
  ],
  [LEASE_REFERENCES, "have its lease belong to another Node", put(`${LEASES}/mine`, { ownerReferences })],
  [LEASE_FINALIZERS, "add finalizers", put(`${LEASES}/mine`, { finalizers })],
  [LEASE_ORPHANS, "delete its lease, orphaning", remove(`${LEASES}/mine`, { propagationPolicy: "Orphan" })],
  [LEASE_ORPHANS, "orphan by the query", remove(`${LEASES}/mine?propagationPolicy=Orphan`)],
];

const OWN_TOKENS = "an account asks for tokens of its own";
const AUDIENCE = "a token is for the apiserver itself";
const A_DAY = "24 hours at most";
const BOUND_TO = "is bound to the Secret";
const A_DAY_SECONDS = 24 * 3600;
const OWN_AUDIENCE = "https://kubernetes.default.svc";

/** Returns a TokenRequest like the Worker's. `spec` replaces fields. */
const askForToken = (spec: object = {}, account = "rollcall") =>
  create(
    {
      spec: {
        audiences: [],
        expirationSeconds: A_DAY_SECONDS,
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name: account },
        ...spec,
      },
    },
    `${ACCOUNTS}/${account}/token`,
  );
const boundTo = (ref: object | null) => askForToken({ boundObjectRef: ref });

const tokensRefused: Refused[] = [
  [OWN_TOKENS, "have a token of another account", askForToken({}, "east")],
  [AUDIENCE, "have a token for somebody else", askForToken({ audiences: ["sts.example.com"] })],
  [
    AUDIENCE,
    "have a token for somebody else as well",
    askForToken({ audiences: [OWN_AUDIENCE, "sts.example.com"] }),
  ],
  [
    AUDIENCE,
    "have a token for whose name only begins alike",
    askForToken({ audiences: [`${OWN_AUDIENCE}x`] }),
  ],
  [
    AUDIENCE,
    "have a token for whose name only ends alike",
    askForToken({ audiences: [`https://x.test/?${OWN_AUDIENCE}`] }),
  ],
  [A_DAY, "have a token for more than a day", askForToken({ expirationSeconds: A_DAY_SECONDS + 1 })],
  [BOUND_TO, "have a token that nothing ends", boundTo(null)],
  [
    BOUND_TO,
    "bind a token to another account's Secret",
    boundTo({ apiVersion: "v1", kind: "Secret", name: "east" }),
  ],
  [
    BOUND_TO,
    "bind a token to a Node of its name",
    boundTo({ apiVersion: "v1", kind: "Node", name: "rollcall" }),
  ],
];

/** The refused cases, by the name of the policy that must refuse them. */
export const refused: Record<string, Refused[]> = {
  "rollcall-tokens": tokensRefused,
  "rollcall-nodes": nodesRefused,
  "rollcall-leases": leasesRefused,
};

export const accepted: Case[] = [
  ["have a token of its own for a day", askForToken()],
  ["have one for the time that there is without a wish", askForToken({ expirationSeconds: null })],
  ["have one for the apiserver by its name", askForToken({ audiences: [OWN_AUDIENCE] })],
  [
    "have one for the apiserver by all its names",
    askForToken({ audiences: [`${OWN_AUDIENCE}.cluster.local`, "k3s", "api.example.org"] }),
  ],
  [
    "create a Node with taints, provider ID, and unschedulable",
    create(newNode({}, { taints: [FACTS_ONLY, OTHER_TAINT], providerID: "x", unschedulable: true })),
  ],
  [
    "label its Node and write its status",
    patch("mine/status", { metadata: { labels: { a: "b" } }, status: { phase: "Running" } }),
  ],
  [
    "create a Node with the labels of one that runs no pods",
    create(
      newNode({
        labels: {
          "node.kubernetes.io/exclude-disruption": "",
          [QUEUE_LABEL]: QUEUE_REGION,
          ...Object.fromEntries(Object.keys(MOVED_LABELS).map((key) => [key, "x"])),
        },
      }),
    ),
  ],
  ["delete its Node", remove(`${NODES}/mine`)],
  ["delete its Node as the Worker does", remove(`${NODES}/mine`, { preconditions: {} })],
  ["delete its Node after its leases", remove(`${NODES}/mine`, { propagationPolicy: "Foreground" })],
  [
    "create a Node with other roles, other annotations, and as much as is allowed",
    create(
      newNode(
        {
          labels: {
            "node-role.kubernetes.io/edge": "",
            "node.kubernetes.io/instance-type": "x",
            "not-node-restriction.example.com/a": "x",
          },
          annotations: {
            ...OWNED.annotations,
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            "alpha.kubernetes.io/provided-node-ip": "10.0.0.2",
            "notcilium.io/a": "x",
          },
        },
        {},
        {
          capacity: { cpu: "4", "example.com/gpu": "2", memory: "100Ti" },
          allocatable: { cpu: "4000m" },
        },
      ),
    ),
  ],
  [
    "give its Node rollcall's labels and roles, and take them away",
    patch(
      "mine/status",
      labelled({
        [MACHINE]: "",
        [DEPLOYMENT]: "rollcall",
        "node-role.kubernetes.io/edge": "",
        [THEIRS]: null,
      }),
    ),
  ],
  ["leave a role's value as it is", patch("mine/status", labelled({ [THEIRS]: "true" }))],
  ["take over the label of a Node that another deployment had", adoptLabelled("offered-by-east")],
  ["report what was too much before", report({ capacity: { cpu: "8", memory: "1Gi" } })],
  ["report as much as is allowed", report({ capacity: { cpu: "4" }, allocatable: { cpu: "4" } })],
  ["adopt a Node that it is offered, with the facts-only taint", adopt("offered", false)],
  ["adopt a Node that another deployment had", adopt("offered-by-east", false)],
  ["create a lease", create(leaseOf("new", OWNED), LEASES)],
  ["renew its lease", put(`${LEASES}/mine`, {}, { renewTime: "2026-01-01T00:00:10.000000Z" })],
  ["renew what a Node before has left", put(`${LEASES}/mine`, leaseOf("mine", OWNED, "2").metadata)],
  ["delete its lease", remove(`${LEASES}/mine`)],
];
