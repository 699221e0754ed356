// Lists Tables with the columns of `kubectl get` for each kind, which the embedded and a real apiserver must answer
// alike, in the same order of fields.
import { expect, vi } from "vitest";
import { type Sent, send } from "../test-server.ts";
import { type Case, lease, leases, node, nodes } from "./case.ts";

const metaTypes = (as: string, version = "v1") => `application/json;as=${as};v=${version};g=meta.k8s.io`;
const table = { accept: metaTypes("Table") };

/**
 * Returns the column definitions for a short notation. "Name:name" is the name, "Created At:date" and
 * "Validations:integer" have other types. `kubectl` shows "-Wide" only with -o wide.
 */
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

/** An object's age. The object may be minutes old if the apiserver already runs for other tests. */
const age = expect.stringMatching(/^(\d+m)?(\d+s)?$/);

interface Shown {
  kind: string;
  path: string;
  columns: string;
  /** Returns the object to create; absent if clients cannot create objects of the kind. */
  object?: (name: string) => object;
  cells?: (name: string) => unknown[];
}

/** Returns a case that reads one object of a kind as a Table with one row. */
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

const inDefault = (resource: string) => `/api/v1/namespaces/default/${resource}`;
const nodeColumns =
  "Name:name,Status,Roles,Age,Version,-Internal-IP,-External-IP,-OS-Image,-Kernel-Version,-Container-Runtime";
const eventColumns = "Last Seen,Type,Reason,Object,-Subobject,-Source,Message,-First Seen,-Count,-Name:name";
const kinds: Case[] = [
  {
    kind: "Namespace",
    path: "/api/v1/namespaces",
    columns: "Name:name,Status,Age",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, "Active", age],
  },
  {
    kind: "Secret",
    path: inDefault("secrets"),
    columns: "Name:name,Type,Data,Age",
    object: (name: string) => ({ metadata: { name }, data: { a: "YQ==" } }),
    cells: (name: string) => [name, "Opaque", 1, age],
  },
  {
    kind: "ConfigMap",
    path: inDefault("configmaps"),
    columns: "Name:name,Data,Age",
    object: (name: string) => ({ metadata: { name }, data: { a: "x" }, binaryData: { b: "YQ==" } }),
    cells: (name: string) => [name, 2, age],
  },
  {
    kind: "event of events.k8s.io",
    path: "/apis/events.k8s.io/v1/namespaces/default/events",
    columns: eventColumns,
    object: (name: string) => ({
      metadata: { name },
      eventTime: "2026-03-01T10:00:00.000000Z",
      regarding: { kind: "Node", name },
      reportingController: "tests",
      reportingInstance: "t",
      action: "A",
      reason: "R",
      note: "a note",
      type: "Normal",
    }),
    cells: (name: string) => [
      expect.any(String),
      "Normal",
      "R",
      `node/${name}`,
      "",
      "tests, t",
      "a note",
      expect.any(String),
      1,
      name,
    ],
  },
  {
    kind: "ServiceAccount",
    path: inDefault("serviceaccounts"),
    columns: "Name:name,Age",
    object: (name: string) => ({ metadata: { name } }),
    cells: (name: string) => [name, age],
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
];

const order: Case[] = [
  {
    situation: "fields are in Go's order: clients compare texts",
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

const serviceTable: Case = {
  situation: "a Table of the Service of the apiserver itself",
  // A real server creates this object a moment after the server is ready.
  run: async (server) => {
    const path = `${inDefault("services")}/kubernetes`;
    const show = async () =>
      expect(await send(server, { path, headers: table })).toMatchObject({
        code: 200,
        body: {
          columnDefinitions: columnsOf("Name:name,Type,Cluster-IP,External-IP,Port(s),Age,-Selector"),
          rows: [{ cells: ["kubernetes", "ClusterIP", "10.0.0.1", "<none>", "443/TCP", age, "<none>"] }],
        },
      });
    await vi.waitFor(show, { timeout: 20_000, interval: 50 });
  },
};

export const tables: Case[] = [...kinds, serviceTable, ...nodeTables, ...including, ...order];
