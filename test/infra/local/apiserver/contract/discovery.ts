// Lists the documents that clients read before they request objects: groups, resources, version, health, and the
// part of OpenAPI that kubectl reads. The embedded apiserver must have them like a real apiserver, which has more
// of each.
import { expect } from "vitest";
import { fieldsOf, listOf } from "../../../../../infra/local/apiserver/object.ts";
import { send } from "../test-server.ts";
import { type Case, failure } from "./case.ts";

interface Row {
  group: string;
  resource: string;
  kind: string;
  namespaced: boolean;
  shortNames?: string[];
}

const rbac = "rbac.authorization.k8s.io";
const admission = "admissionregistration.k8s.io";

/** The resources that kubectl and client-node use. */
const rows: Row[] = [
  { group: "", resource: "namespaces", kind: "Namespace", namespaced: false, shortNames: ["ns"] },
  { group: "", resource: "nodes", kind: "Node", namespaced: false, shortNames: ["no"] },
  { group: "", resource: "nodes/status", kind: "Node", namespaced: false },
  { group: "", resource: "events", kind: "Event", namespaced: true, shortNames: ["ev"] },
  { group: "", resource: "pods", kind: "Pod", namespaced: true, shortNames: ["po"] },
  { group: "", resource: "serviceaccounts", kind: "ServiceAccount", namespaced: true, shortNames: ["sa"] },
  { group: "", resource: "serviceaccounts/token", kind: "TokenRequest", namespaced: true },
  { group: "", resource: "configmaps", kind: "ConfigMap", namespaced: true, shortNames: ["cm"] },
  { group: "", resource: "services", kind: "Service", namespaced: true, shortNames: ["svc"] },
  { group: "events.k8s.io", resource: "events", kind: "Event", namespaced: true, shortNames: ["ev"] },
  { group: "coordination.k8s.io", resource: "leases", kind: "Lease", namespaced: true },
  { group: rbac, resource: "clusterroles", kind: "ClusterRole", namespaced: false },
  { group: rbac, resource: "clusterrolebindings", kind: "ClusterRoleBinding", namespaced: false },
  { group: rbac, resource: "roles", kind: "Role", namespaced: true },
  { group: rbac, resource: "rolebindings", kind: "RoleBinding", namespaced: true },
  {
    group: admission,
    resource: "validatingadmissionpolicies",
    kind: "ValidatingAdmissionPolicy",
    namespaced: false,
  },
  {
    group: admission,
    resource: "validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    namespaced: false,
  },
];

const documentOf = (group: string) => (group === "" ? "/api/v1" : `/apis/${group}/v1`);

const resources: Case[] = rows.map(({ group, resource, ...rest }) => ({
  situation: `${documentOf(group)} has ${resource}`,
  run: async (server) => {
    const { body } = await send(server, { path: documentOf(group) });
    expect(body).toMatchObject({
      kind: "APIResourceList",
      groupVersion: group === "" ? "v1" : `${group}/v1`,
    });
    const found = listOf(body["resources"]).map(fieldsOf);
    expect(found.find(({ name }) => name === resource)).toMatchObject(rest);
  },
}));

const groups: Case[] = ["coordination.k8s.io", "events.k8s.io", rbac, admission, "authorization.k8s.io"].map(
  (group) => ({
    situation: `/apis names ${group} and its preferred version`,
    run: async (server) => {
      const described = {
        name: group,
        versions: expect.arrayContaining([{ groupVersion: `${group}/v1`, version: "v1" }]),
        preferredVersion: { groupVersion: `${group}/v1`, version: "v1" },
      };
      const { body } = await send(server, { path: "/apis" });
      expect(listOf(body["groups"]).map(fieldsOf)).toContainEqual(expect.objectContaining(described));
      expect(await send(server, { path: `/apis/${group}` })).toMatchObject({
        code: 200,
        body: { kind: "APIGroup", apiVersion: "v1", ...described },
      });
    },
  }),
);

const others: Case[] = [
  {
    situation: "/api",
    request: () => ({ path: "/api" }),
    outcome: () => ({ code: 200, body: { kind: "APIVersions", versions: ["v1"] } }),
  },
  ...["/healthz", "/livez", "/readyz"].map((path): Case => ({
    situation: path,
    request: () => ({ path }),
    outcome: () => ({ code: 200, text: "ok" }),
  })),
  ...["/nowhere", "/apis/nothing.example.com", "/apis/nothing.example.com/v1/things"].map((path): Case => ({
    situation: `nothing at ${path}`,
    request: () => ({ path }),
    outcome: () => ({ code: 404, text: "404 page not found\n" }),
  })),
  {
    situation: "an unknown resource of a group that is served",
    request: () => ({ path: "/api/v1/nopes" }),
    outcome: () => failure(404, "NotFound", "the server could not find the requested resource", {}),
  },
  {
    situation: "OpenAPI says that the server validates the fields of a patch",
    run: async (server) => {
      const headers = { accept: "application/json" };
      const { text } = await send(server, { path: "/openapi/v3/api/v1", headers });
      const paths = Object.values(fieldsOf(fieldsOf(JSON.parse(text))["paths"])).map(fieldsOf);
      const patches = paths.map((path) => fieldsOf(path["patch"]));
      const ofNodes = patches.find(
        (patch) => fieldsOf(patch["x-kubernetes-group-version-kind"])["kind"] === "Node",
      );
      const names = [...listOf(ofNodes?.["parameters"])].map((parameter) => fieldsOf(parameter)["name"]);
      expect(names).toContain("fieldValidation");
    },
  },
];

export const discovering: Case[] = [...resources, ...groups, ...others];
