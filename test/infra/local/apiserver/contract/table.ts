// Forms in which objects are shown: Tables of every kind, metadata only, YAML, and what cannot be had.
import { expect } from "vitest";
import type { Sent } from "../test-server.ts";
import { type Case, failure, lease, leases, node, nodes, type RequestCase } from "./case.ts";

const metaTypes = (as: string, version = "v1") => `application/json;as=${as};v=${version};g=meta.k8s.io`;
const table = { accept: metaTypes("Table") };

/** "Name:name" is a name, "Created At:date" and "Validations:integer" are no text, "-Wide" shows with -o wide only. */
function columnsOf(notation: string): object[] {
  return notation.split(",").map((part) => {
    const [name = "", type = "string"] = part.split(":");
    const isWide = name.startsWith("-");
    return {
      name: isWide ? name.slice(1) : name,
      type: type === "name" ? "string" : type,
      format: type === "name" ? "name" : "",
      priority: isWide ? 1 : 0,
    };
  });
}

const age = expect.stringMatching(/^\d+s$/);

interface Shown {
  kind: string;
  path: string;
  columns: string;
  /** Makes the object; none where nobody can. */
  object?: (name: string) => object;
  cells?: (name: string) => unknown[];
}

/** One object of a kind as a Table of one row. */
function shows({ kind, path, columns, object, cells }: Shown): Case {
  return {
    situation: `a Table of one ${kind}`,
    before: (name) => (object ? [{ method: "POST", path, body: object(name) } satisfies Sent] : []),
    request: (name) => ({
      path: `${path}?${object ? `fieldSelector=metadata.name=${name}` : ""}`,
      headers: table,
    }),
    outcome: (name) => ({
      code: 200,
      body: {
        kind: "Table",
        apiVersion: "meta.k8s.io/v1",
        columnDefinitions: columnsOf(columns),
        rows: cells
          ? [{ cells: cells(name), object: { kind: "PartialObjectMetadata", metadata: { name } } }]
          : [],
      },
    }),
  };
}

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const inDefault = (resource: string) => `/api/v1/namespaces/default/${resource}`;
const nodeColumns =
  "Name:name,Status,Roles,Age,Version,-Internal-IP,-External-IP,-OS-Image,-Kernel-Version,-Container-Runtime";
const eventColumns = "Last Seen,Type,Reason,Object,-Subobject,-Source,Message,-First Seen,-Count,-Name:name";
const bindingColumns = "Name:name,Role,Age,-Users,-Groups,-ServiceAccounts";

const binding = (kind: string) => (name: string) => ({
  metadata: { name },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: "view" },
  subjects: [
    { kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" },
    { kind: "User", name: "joe", apiGroup: "rbac.authorization.k8s.io" },
    { kind: "Group", name: "machines", apiGroup: "rbac.authorization.k8s.io" },
    { kind: "ServiceAccount", name: "worker", namespace: "shop" },
  ],
});

const kinds: Case[] = [
  {
    kind: "Namespace",
    path: "/api/v1/namespaces",
    columns: "Name:name,Status,Age",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, "Active", age],
  },
  {
    kind: "ServiceAccount",
    path: inDefault("serviceaccounts"),
    columns: "Name:name,Age",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, age],
  },
  {
    kind: "ConfigMap",
    path: inDefault("configmaps"),
    columns: "Name:name,Data,Age",
    object: (name: string) => ({ metadata: { name }, data: { a: "1", b: "2" }, binaryData: { c: "AA==" } }),
    cells: (name: string) => [name, 3, age],
  },
  {
    kind: "Secret",
    path: inDefault("secrets"),
    columns: "Name:name,Type,Data,Age",
    object: (name: string) => ({ metadata: { name }, type: "example.com/x", data: { a: "AA==" } }),
    cells: (name: string) => [name, "example.com/x", 1, age],
  },
  {
    kind: "Lease",
    path: leases,
    columns: "Name:name,Holder,Age",
    object: (name: string) => lease(name, { holderIdentity: "me" }),
    cells: (name: string) => [name, "me", age],
  },
  {
    kind: "Lease without a holder",
    path: leases,
    columns: "Name:name,Holder,Age",
    object: (name: string) => lease(name, {}),
    cells: (name: string) => [name, "", age],
  },
  {
    kind: "ClusterRole",
    path: `${rbac}/clusterroles`,
    columns: "Name:name,Created At:date",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, expect.stringMatching(/Z$/)],
  },
  {
    kind: "Role",
    path: `${rbac}/namespaces/default/roles`,
    columns: "Name:name,Created At:date",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, expect.stringMatching(/Z$/)],
  },
  {
    kind: "ClusterRoleBinding",
    path: `${rbac}/clusterrolebindings`,
    columns: bindingColumns,
    object: binding("ClusterRole"),
    cells: (name: string) => [name, "ClusterRole/view", age, "jane, joe", "machines", "shop/worker"],
  },
  {
    kind: "RoleBinding",
    path: `${rbac}/namespaces/default/rolebindings`,
    columns: bindingColumns,
    object: binding("Role"),
    cells: (name: string) => [name, "Role/view", age, "jane, joe", "machines", "shop/worker"],
  },
  {
    kind: "ValidatingAdmissionPolicyBinding",
    path: `${admission}/validatingadmissionpolicybindings`,
    columns: "Name:name,PolicyName,ParamRef,Age",
    object: (name: string) => ({
      metadata: { name },
      spec: { policyName: "some", validationActions: ["Audit"] },
    }),
    cells: (name: string) => [name, "some", "<unset>", age],
  },
  {
    kind: "Event with a count",
    path: inDefault("events"),
    columns: eventColumns,
    object: (name: string) => ({
      metadata: { name },
      involvedObject: { kind: "Node", name, fieldPath: "spec.x" },
      reason: "R",
      message: " padded\n",
      source: { component: "kubelet", host: "h" },
      count: 3,
      type: "Normal",
    }),
    cells: (name: string) => [
      "<unknown>",
      "Normal",
      "R",
      `node/${name}`,
      "spec.x",
      "kubelet, h",
      "padded",
      "<unknown>",
      3,
      name,
    ],
  },
  {
    kind: "Event of a series",
    path: "/apis/events.k8s.io/v1/namespaces/default/events",
    columns: eventColumns,
    object: (name: string) => ({
      metadata: { name },
      regarding: { kind: "Node", name },
      reason: "R",
      note: "n",
      action: "A",
      type: "Warning",
      reportingController: "example.com/c",
      reportingInstance: "i",
      eventTime: "2001-01-01T00:00:00.000000Z",
      series: { count: 7, lastObservedTime: "2001-01-01T00:00:00.000000Z" },
    }),
    cells: (name: string) => [
      expect.stringMatching(/^\d+y$/),
      "Warning",
      "R",
      `node/${name}`,
      "",
      "example.com/c, i",
      "n",
      expect.stringMatching(/^\d+y$/),
      7,
      name,
    ],
  },
  {
    kind: "Pod, of which there are none",
    path: "/api/v1/namespaces/kube-public/pods",
    columns: "Name:name,Ready,Status,Restarts,Age,-IP,-Node,-Nominated Node,-Readiness Gates",
  },
].map(shows);

function nodeCells(
  situation: string,
  rest: object,
  labels: Record<string, string>,
  ...cells: unknown[]
): Case {
  return {
    situation: `a Node ${situation}`,
    before: (name) => [{ method: "POST", path: nodes, body: node(name, rest, { labels }) }],
    request: (name) => ({ path: `${nodes}/${name}`, headers: table }),
    outcome: (name) => ({
      code: 200,
      body: { columnDefinitions: columnsOf(nodeColumns), rows: [{ cells: [name, ...cells] }] },
    }),
  };
}

const unknown = ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"];
const ready = (status: string) => ({ conditions: [{ type: "Ready", status }] });

const nodeTables: Case[] = [
  nodeCells("without a status", {}, {}, "Unknown", "<none>", age, "", ...unknown),
  nodeCells("that is Ready", { status: ready("True") }, {}, "Ready", "<none>", age, "", ...unknown),
  nodeCells(
    "that nobody hears of",
    { status: ready("Unknown") },
    {},
    "NotReady",
    "<none>",
    age,
    "",
    ...unknown,
  ),
  nodeCells(
    "that is cordoned",
    { spec: { unschedulable: true }, status: ready("False") },
    {},
    "NotReady,SchedulingDisabled",
    "<none>",
    age,
    "",
    ...unknown,
  ),
  nodeCells(
    "with roles",
    {},
    { "node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "x", "kubernetes.io/role": "c" },
    "Unknown",
    "a,b,c",
    age,
    "",
    ...unknown,
  ),
  nodeCells(
    "with addresses and versions",
    {
      status: {
        addresses: [
          { type: "Hostname", address: "h" },
          { type: "InternalIP", address: "10.0.0.1" },
          { type: "InternalIP", address: "fd00::1" },
          { type: "ExternalIP", address: "192.0.2.1" },
        ],
        nodeInfo: {
          kubeletVersion: "v1.36.0",
          osImage: "OS",
          kernelVersion: "6.1",
          architecture: "arm64",
          containerRuntimeVersion: "containerd://2",
        },
      },
    },
    {},
    "Unknown",
    "<none>",
    age,
    "v1.36.0",
    "10.0.0.1",
    "192.0.2.1",
    "OS",
    "6.1 (arm64)",
    "containerd://2",
  ),
];

const namespace = "/api/v1/namespaces/default";

function included(includeObject: string, object: object | null): Case {
  return {
    situation: `includeObject=${includeObject}`,
    request: () => ({ path: `${namespace}?includeObject=${includeObject}`, headers: table }),
    outcome: () => ({ code: 200, body: { rows: [{ object }] } }),
  };
}

const including: Case[] = [
  included("None", null),
  included("Metadata", {
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: { name: "default" },
  }),
  included("", { kind: "PartialObjectMetadata" }),
  included("Object", { kind: "Namespace", apiVersion: "v1", spec: { finalizers: ["kubernetes"] } }),
  {
    situation: "includeObject=Foo",
    request: () => ({ path: `${namespace}?includeObject=Foo`, headers: table }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        `Unable to convert to Table as requested: includeObject: Invalid value: "Foo": ` +
          "must be 'Metadata', 'Object', 'None', or empty",
      ),
  },
  {
    situation: "a list's Table has the list's metadata",
    request: () => ({ path: "/api/v1/namespaces?limit=1", headers: table }),
    outcome: () => ({
      code: 200,
      body: {
        metadata: {
          resourceVersion: expect.any(String),
          continue: expect.any(String),
          remainingItemCount: expect.any(Number),
        },
        rows: [{ cells: [expect.any(String), "Active", expect.any(String)] }],
      },
    }),
  },
];

/** What an Accept header gets for one object or a list. */
function accepts(accept: string, path: string, outcome: RequestCase["outcome"]): Case {
  return {
    situation: `Accept: ${accept} of ${path}`,
    request: () => ({ path, headers: { accept } }),
    outcome,
  };
}

const produced = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const asItIs = () => ({ code: 200, body: { kind: "Namespace" } });
const notHere = () =>
  failure(406, "NotAcceptable", `only the following media types are accepted: ${produced}`);
const nowhere = () =>
  failure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${produced}`, {});

const negotiating: Case[] = [
  accepts("*/*", namespace, asItIs),
  accepts("application/json", namespace, asItIs),
  accepts("application/json;stream=watch", namespace, asItIs),
  accepts("text/html,application/xhtml+xml,*/*;q=0.8", namespace, asItIs),
  accepts(`${metaTypes("Table", "v2")},application/json`, namespace, asItIs),
  accepts(`${metaTypes("Nothing")},application/json`, namespace, asItIs),
  accepts(`application/json;q=0.5,${metaTypes("Table")}`, namespace, () => ({
    code: 200,
    body: { kind: "Table" },
  })),
  accepts(metaTypes("Table", "v1beta1"), namespace, () => ({
    code: 200,
    body: { kind: "Table", apiVersion: "meta.k8s.io/v1beta1" },
  })),
  accepts(metaTypes("PartialObjectMetadata"), namespace, () => ({
    code: 200,
    body: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { name: "default" } },
  })),
  accepts(metaTypes("PartialObjectMetadataList"), "/api/v1/namespaces?limit=1", () => ({
    code: 200,
    body: {
      kind: "PartialObjectMetadataList",
      metadata: { continue: expect.any(String) },
      items: [
        {
          kind: "PartialObjectMetadata",
          apiVersion: "meta.k8s.io/v1",
          metadata: { name: expect.any(String) },
        },
      ],
    },
  })),
  accepts(metaTypes("PartialObjectMetadata"), "/api/v1/namespaces", () =>
    failure(
      406,
      "NotAcceptable",
      "you requested PartialObjectMetadata, but the requested object is a list (*core.NamespaceList)",
    ),
  ),
  accepts(metaTypes("PartialObjectMetadataList"), namespace, () =>
    failure(
      406,
      "NotAcceptable",
      "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
    ),
  ),
  accepts(metaTypes("Table", "v2"), namespace, notHere),
  accepts("application/json;sv=v3", namespace, notHere),
  accepts("text/html", namespace, nowhere),
  accepts("application/cbor", namespace, nowhere),
  accepts("application/*", namespace, nowhere),
  accepts("application/yaml", "/api/v1/namespaces/default", () => ({
    code: 200,
    headers: { "content-type": "application/yaml" },
    text: expect.stringMatching(/^apiVersion: v1\nkind: Namespace\nmetadata:\n {2}creationTimestamp: ".+"\n/),
  })),
  accepts(metaTypes("Table"), "/api/v1/namespaces/none", () => ({
    code: 404,
    text: expect.stringMatching(/^\{\n {2}"kind": "Status",\n/),
  })),
];

const printing: Case[] = [
  ...["pretty=true", "pretty=1"].map((query): Case => ({
    situation: `?${query} prints for people`,
    request: () => ({ path: `${namespace}?${query}` }),
    outcome: () => ({ code: 200, text: expect.stringMatching(/^\{\n {2}"kind": "Namespace",\n/) }),
  })),
  ...["", "pretty", "pretty=0", "pretty=nonsense"].map((query): Case => ({
    situation: `?${query} prints one line`,
    request: () => ({ path: `${namespace}?${query}` }),
    outcome: () => ({
      code: 200,
      text: expect.stringMatching(/^\{"kind":"Namespace","apiVersion":"v1",.*\}\n$/),
    }),
  })),
  {
    situation: "a browser gets lines",
    request: () => ({ path: namespace, headers: { "user-agent": "Mozilla/5.0 (X11)" } }),
    outcome: () => ({ code: 200, text: expect.stringMatching(/^\{\n/) }),
  },
  {
    situation: "fields are in Go's order",
    before: (name) => [
      {
        method: "POST",
        path: leases,
        body: {
          spec: { renewTime: null, leaseDurationSeconds: 40, holderIdentity: "<&>" },
          metadata: { labels: { a: "b" }, name },
        },
      },
    ],
    request: (name) => ({ path: `${leases}/${name}` }),
    outcome: (name) => ({
      code: 200,
      text: expect.stringMatching(
        new RegExp(
          `^\\{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":\\{"name":"${name}",` +
            `"namespace":"kube-node-lease","uid":"[^"]+","resourceVersion":"\\d+","creationTimestamp":"[^"]+",` +
            `"labels":\\{"a":"b"\\},"managedFields":.*,"spec":\\{"holderIdentity":"\\\\u003c\\\\u0026\\\\u003e",` +
            `"leaseDurationSeconds":40\\}\\}\n$`,
        ),
      ),
    }),
  },
];

export const tables: Case[] = [...kinds, ...nodeTables, ...including, ...negotiating, ...printing];
