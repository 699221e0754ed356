// What is served, and where: discovery in both forms, OpenAPI as far as kubectl asks, health, paths that lead nowhere.
import { expect } from "vitest";
import { type Case, failure, type RequestCase } from "./case.ts";

const all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const onStatus = ["get", "patch", "update"];

interface Resource {
  /** Path of its group and version. */
  at: string;
  name: string;
  singular: string;
  namespaced: boolean;
  kind: string;
  verbs: string[];
  shortNames?: string[];
  categories?: string[];
  /** storageVersionHash; what is not stored has none. */
  hash?: string;
  below?: { name: string; verbs: string[]; kind?: { group: string; version: string; kind: string } }[];
}

const core = "/api/v1";
const events = "/apis/events.k8s.io/v1";
const coordination = "/apis/coordination.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const authorization = "/apis/authorization.k8s.io/v1";
const authentication = "/apis/authentication.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";

function row(
  at: string,
  [name, singular, kind, hash]: [string, string, string, string?],
  scope: "namespaced" | "cluster",
  rest: Partial<Resource> = {},
): Resource {
  const namespaced = scope === "namespaced";
  return { at, name, singular, namespaced, kind, verbs: all, ...(hash !== undefined && { hash }), ...rest };
}

function review(at: string, name: string, kind: string, scope: "namespaced" | "cluster"): Resource {
  return row(at, [name, kind.toLowerCase(), kind], scope, { verbs: ["create"] });
}

const status = { name: "status", verbs: onStatus };

const resources: Resource[] = [
  row(core, ["nodes", "node", "Node", "XwShjMxG9Fs="], "cluster", { shortNames: ["no"], below: [status] }),
  row(core, ["events", "event", "Event", "r2yiGXH7wu8="], "namespaced", { shortNames: ["ev"] }),
  row(core, ["namespaces", "namespace", "Namespace", "Q3oi5N2YM8M="], "cluster", {
    verbs: all.filter((verb) => verb !== "deletecollection"),
    shortNames: ["ns"],
    below: [{ name: "finalize", verbs: ["update"] }, status],
  }),
  row(core, ["serviceaccounts", "serviceaccount", "ServiceAccount", "pbx9ZvyFpBE="], "namespaced", {
    shortNames: ["sa"],
    below: [
      {
        name: "token",
        verbs: ["create"],
        kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
      },
    ],
  }),
  row(core, ["configmaps", "configmap", "ConfigMap", "qFsyl6wFWjQ="], "namespaced", { shortNames: ["cm"] }),
  row(core, ["secrets", "secret", "Secret", "S6u1pOWzb84="], "namespaced"),
  row(events, ["events", "event", "Event", "r2yiGXH7wu8="], "namespaced", { shortNames: ["ev"] }),
  row(coordination, ["leases", "lease", "Lease", "gqkMMb/YqFM="], "namespaced"),
  row(rbac, ["clusterroles", "clusterrole", "ClusterRole", "bYE5ZWDrJ44="], "cluster"),
  row(rbac, ["roles", "role", "Role", "7FuwZcIIItM="], "namespaced"),
  row(rbac, ["clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", "48tpQ8gZHFc="], "cluster"),
  row(rbac, ["rolebindings", "rolebinding", "RoleBinding", "eGsCzGH6b1g="], "namespaced"),
  review(authorization, "selfsubjectaccessreviews", "SelfSubjectAccessReview", "cluster"),
  review(authorization, "subjectaccessreviews", "SubjectAccessReview", "cluster"),
  review(authorization, "selfsubjectrulesreviews", "SelfSubjectRulesReview", "cluster"),
  review(authorization, "localsubjectaccessreviews", "LocalSubjectAccessReview", "namespaced"),
  review(authentication, "tokenreviews", "TokenReview", "cluster"),
  review(authentication, "selfsubjectreviews", "SelfSubjectReview", "cluster"),
  row(
    admission,
    ["validatingadmissionpolicies", "validatingadmissionpolicy", "ValidatingAdmissionPolicy", "6OxvlMmQ6is="],
    "cluster",
    { categories: ["api-extensions"], below: [status] },
  ),
  row(
    admission,
    [
      ...(["validatingadmissionpolicybindings", "validatingadmissionpolicybinding"] as const),
      ...(["ValidatingAdmissionPolicyBinding", "v9715VZqakg="] as const),
    ],
    "cluster",
    { categories: ["api-extensions"] },
  ),
];

/** The entries of an APIResourceList. */
function entriesOf(resource: Resource): object[] {
  const { name, singular, namespaced, kind, verbs, shortNames, categories, hash, below = [] } = resource;
  const entry = {
    name,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(hash !== undefined && { storageVersionHash: hash }),
  };
  const others = below.map((sub) => ({
    name: `${name}/${sub.name}`,
    singularName: "",
    namespaced,
    ...(sub.kind ?? { kind }),
    verbs: sub.verbs,
  }));
  return [entry, ...others];
}

function aggregatedOf({ name, singular, namespaced, kind, verbs, below, ...rest }: Resource): object {
  return expect.objectContaining({
    resource: name,
    responseKind: { group: "", version: "", kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(rest.shortNames && { shortNames: rest.shortNames }),
    ...(rest.categories && { categories: rest.categories }),
    ...(below && {
      subresources: expect.arrayContaining(
        below.map((sub) => ({
          subresource: sub.name,
          responseKind: sub.kind ?? { group: "", version: "", kind },
          verbs: sub.verbs,
        })),
      ),
    }),
  });
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const groupPaths = [...new Set(resources.map(({ at }) => at))];

function lists(at: string): Case {
  const group = at === core ? "" : (at.split("/")[2] ?? "");
  const here = resources.filter((resource) => resource.at === at);
  return {
    situation: `the resources of ${at}`,
    request: () => ({ path: at }),
    outcome: () => ({
      code: 200,
      body: {
        kind: "APIResourceList",
        ...(group !== "" && { apiVersion: "v1" }),
        groupVersion: group === "" ? "v1" : `${group}/v1`,
        resources: expect.arrayContaining(here.flatMap(entriesOf)),
      },
    }),
  };
}

function aggregates(at: string): Case {
  const group = at === core ? undefined : at.split("/")[2];
  const here = resources.filter((resource) => resource.at === at);
  return {
    situation: `${at} in aggregated discovery`,
    request: () => ({
      path: at === core ? "/api" : "/apis",
      headers: { accept: `${aggregatedType},application/json` },
    }),
    outcome: () => ({
      code: 200,
      headers: { "content-type": aggregatedType },
      ...matchItems(group, here),
    }),
  };
}

function matchItems(group: string | undefined, here: Resource[]) {
  const version = {
    version: "v1",
    resources: expect.arrayContaining(here.map(aggregatedOf)),
    freshness: "Current",
  };
  return {
    body: {
      kind: "APIGroupDiscoveryList",
      apiVersion: "apidiscovery.k8s.io/v2",
      metadata: {},
      items: expect.arrayContaining([
        { metadata: group === undefined ? {} : { name: group }, versions: [version] },
      ]),
    },
  };
}

function describesGroup(at: string): Case {
  const [, , name = ""] = at.split("/");
  const version = { groupVersion: `${name}/v1`, version: "v1" };
  return {
    situation: `the group of ${at}`,
    request: () => ({ path: `/apis/${name}` }),
    outcome: () => ({
      code: 200,
      body: { kind: "APIGroup", apiVersion: "v1", name, versions: [version], preferredVersion: version },
    }),
  };
}

const groups: Case[] = [
  {
    situation: "the versions of the core group, and where to reach them",
    request: () => ({ path: "/api" }),
    outcome: () => ({
      code: 200,
      body: {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: expect.any(String) }],
      },
    }),
  },
  {
    situation: "the groups",
    request: () => ({ path: "/apis" }),
    outcome: () => ({
      code: 200,
      body: {
        kind: "APIGroupList",
        apiVersion: "v1",
        groups: expect.arrayContaining(
          groupPaths
            .filter((at) => at !== core)
            .map((at) => expect.objectContaining({ name: at.split("/")[2] })),
        ),
      },
    }),
  },
  {
    situation: "a client that knows no aggregated discovery of this version gets the plain one",
    request: () => ({
      path: "/apis",
      headers: {
        accept: "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json",
      },
    }),
    outcome: () => ({ code: 200, body: { kind: "APIGroupList" } }),
  },
  ...[
    "/api/",
    "/apis/",
    "/api/v1/",
    "/apis/coordination.k8s.io/",
    "/apis/coordination.k8s.io/v1/",
    "/version/",
  ].map((path): Case => ({
    situation: `${path} with a slash at its end`,
    request: () => ({ path }),
    outcome: () => ({ code: 200 }),
  })),
];

const lost = failure(404, "NotFound", "the server could not find the requested resource", {});
const nowhere = { code: 404, text: "404 page not found\n" };
const noMethod = failure(
  405,
  "MethodNotAllowed",
  "the server does not allow this method on the requested resource",
  {},
);

function leads(method: string, path: string, outcome: ReturnType<RequestCase["outcome"]>): Case {
  return {
    situation: `${method} ${path} → ${outcome.code}`,
    request: () => ({ method, path }),
    outcome: () => outcome,
  };
}

const paths: Case[] = [
  leads("GET", "/apis/coordination.k8s.io/v1beta1", lost),
  leads("GET", "/apis/coordination.k8s.io/v2/leases", lost),
  leads("GET", "/api/v2", lost),
  leads("GET", "/api/v1/nothings", lost),
  leads("GET", "/api/v1/nodes/x/nothing", lost),
  leads("GET", "/api/v1/namespaces//default", lost),
  leads("GET", "/apis/example.com", nowhere),
  leads("GET", "/apis/example.com/v1/things", nowhere),
  leads("GET", "/nothing", nowhere),
  leads("GET", "/livez/nothing", nowhere),
  leads("PUT", "/api/v1/nodes", noMethod),
  leads("PATCH", "/api/v1/namespaces", noMethod),
  leads("POST", "/api/v1/namespaces/default", noMethod),
  leads("POST", "/api/v1/nodes/x/status", noMethod),
  leads("DELETE", "/api/v1/nodes/x/status", noMethod),
  leads("OPTIONS", "/api/v1/nodes", noMethod),
  leads("HEAD", "/api/v1/nodes", { code: 405 }),
  leads("HEAD", "/api/v1/namespaces/default", { code: 405 }),
  leads("POST", "/api", noMethod),
  leads("POST", "/version", noMethod),
  leads("GET", "/livez", { code: 200, text: "ok" }),
  leads("GET", "/readyz", { code: 200, text: "ok" }),
  leads("GET", "/healthz", { code: 200, text: "ok" }),
  leads("GET", "/livez/ping", { code: 200, text: "ok" }),
  leads("GET", "/readyz/etcd", { code: 200, text: "ok" }),
  leads("GET", "/readyz?verbose", {
    code: 200,
    text: expect.stringMatching(/^\[\+\]ping ok\n[^]*\nreadyz check passed\n$/),
  }),
  leads("GET", "/livez?verbose&exclude=etcd", {
    code: 200,
    text: expect.stringContaining("[+]etcd excluded: ok\n"),
  }),
  leads("GET", "/livez?exclude=etcd", { code: 200, text: "ok" }),
  leads("GET", "/", {
    code: 200,
    body: { paths: expect.arrayContaining(["/api", "/apis", "/livez", "/version"]) },
  }),
  leads("GET", "/version", { code: 200, body: { major: "1", minor: "36", gitVersion: "v1.36.3" } }),
];

const openApi: Case[] = [
  {
    situation: "OpenAPI v3 of each group and version",
    request: () => ({ path: "/openapi/v3", headers: { accept: "application/json" } }),
    outcome: () => ({
      code: 200,
      text: expect.stringMatching(/"api\/v1":\{"serverRelativeURL":"\/openapi\/v3\/api\/v1/),
    }),
  },
  ...groupPaths.map((at): Case => ({
    situation: `OpenAPI v3 of ${at}: the server validates fields itself`,
    request: () => ({ path: `/openapi/v3${at}` }),
    outcome: () => ({ code: 200, body: { openapi: "3.0.0", paths: expect.any(Object) } }),
  })),
  {
    situation: "OpenAPI v2 in the message that kubectl asks for",
    request: () => ({
      path: "/openapi/v2",
      headers: { accept: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf" },
    }),
    outcome: () => ({
      code: 200,
      headers: { "content-type": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" },
      text: expect.stringContaining("\u00032.0\u0012"),
    }),
  },
];

export const discovering: Case[] = [
  ...groups,
  ...groupPaths.map(lists),
  ...groupPaths.filter((at) => at !== core).map(describesGroup),
  ...groupPaths.map(aggregates),
  ...paths,
  ...openApi,
];
