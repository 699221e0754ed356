// Tells clients what is served: /api, /apis, the groups and aggregated discovery. Derived from the resource table alone.
import { createHash } from "node:crypto";
import type { ResourceType, Subresource } from "./resource-type.ts";
import { resourceTypes } from "./resources.ts";

/** Upstream's order of preference (APIService priorities); groups that are not named here come last. */
const preferredGroups = [
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "rbac.authorization.k8s.io",
  "admissionregistration.k8s.io",
  "coordination.k8s.io",
];

function preference(group: string): number {
  const index = preferredGroups.indexOf(group);
  return index === -1 ? preferredGroups.length : index;
}

/** All groups but the core one, in upstream's order. */
export function groupNames(): string[] {
  const groups = new Set(resourceTypes.map((type) => type.group).filter((group) => group !== ""));
  return [...groups].sort((left, right) => preference(left) - preference(right));
}

export function typesOf(group: string): ResourceType[] {
  const types = resourceTypes.filter((type) => type.group === group);
  return types.sort((left, right) => (left.resource < right.resource ? -1 : 1));
}

function apiGroup(group: string) {
  const preferredVersion = { groupVersion: `${group}/v1`, version: "v1" };
  return { name: group, versions: [preferredVersion], preferredVersion };
}

/** discovery.StorageVersionHash; what cannot be listed is not stored. */
function storageVersionHash({ group, version, kind, verbs }: ResourceType): string | undefined {
  if (!verbs.includes("list")) return undefined;
  const hash = createHash("sha256").update(`${group}/${version}/${kind}`).digest();
  return hash.subarray(0, 8).toString("base64");
}

function resourceEntries(type: ResourceType): object[] {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories, subresources = [] } = type;
  const hash = storageVersionHash(type.stored ? { ...type, group: "" } : type);
  const entry = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(hash !== undefined && { storageVersionHash: hash }),
  };
  const below = subresources.map((subresource) => ({
    name: `${resource}/${subresource.name}`,
    singularName: "",
    namespaced,
    ...(subresource.kind ?? { kind }),
    verbs: subresource.verbs,
  }));
  return [entry, ...below];
}

function resourceList(group: string): object {
  return {
    kind: "APIResourceList",
    ...(group !== "" && { apiVersion: "v1" }),
    groupVersion: group === "" ? "v1" : `${group}/v1`,
    resources: typesOf(group).flatMap(resourceEntries),
  };
}

/** Group and version are only given where they are not those of the resource. */
function aggregatedSubresource({ kind }: ResourceType, subresource: Subresource): object {
  const responseKind = subresource.kind ?? { group: "", version: "", kind };
  return { subresource: subresource.name, responseKind, verbs: subresource.verbs };
}

function aggregatedResource(type: ResourceType): object {
  const { resource, kind, namespaced, singular, verbs, shortNames, categories, subresources } = type;
  return {
    resource,
    responseKind: { group: "", version: "", kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(subresources && {
      subresources: subresources.map((subresource) => aggregatedSubresource(type, subresource)),
    }),
  };
}

function aggregated(groups: string[]): object {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map((group) => ({
      metadata: group === "" ? {} : { name: group },
      versions: [{ version: "v1", resources: typesOf(group).map(aggregatedResource), freshness: "Current" }],
    })),
  };
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

export interface Document {
  body: object;
  contentType: string;
}

/** The parameters of a media range come in any order. */
function wantsAggregated(accept: string): boolean {
  const parameters = ["as=APIGroupDiscoveryList", "g=apidiscovery.k8s.io", "v=v2"];
  return accept.split(",").some((range) => {
    const parts = range.split(";").map((part) => part.trim());
    return parts[0] === "application/json" && parameters.every((parameter) => parts.includes(parameter));
  });
}

function rootDocument(path: string, accept: string, host: string): Document | undefined {
  if (path !== "/api" && path !== "/apis") return undefined;
  const groups = path === "/api" ? [""] : groupNames();
  if (wantsAggregated(accept)) return { body: aggregated(groups), contentType: aggregatedType };
  const serverAddressByClientCIDRs = [{ clientCIDR: "0.0.0.0/0", serverAddress: host }];
  const body =
    path === "/api"
      ? { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs }
      : { kind: "APIGroupList", apiVersion: "v1", groups: groups.map(apiGroup) };
  return { body, contentType: "application/json" };
}

function groupDocument(path: string): object | undefined {
  const [, api, group = "", version, ...rest] = path.split("/");
  if (path === "/api/v1") return resourceList("");
  if (api !== "apis" || rest.length > 0 || !groupNames().includes(group)) return undefined;
  if (version === undefined) return { kind: "APIGroup", apiVersion: "v1", ...apiGroup(group) };
  return version === "v1" ? resourceList(group) : undefined;
}

/** The discovery document at a path, which has no slash at its end; undefined when there is none. */
export function discoveryDocument(path: string, accept: string, host: string): Document | undefined {
  const root = rootDocument(path, accept, host);
  if (root) return root;
  const body = groupDocument(path);
  return body && { body, contentType: "application/json" };
}

/** Whether the path is below a group that is served, or below the core one. */
export function isBelowServedGroup(path: string): boolean {
  const [, api, group = ""] = path.split("/");
  return api === "api" || (api === "apis" && groupNames().includes(group));
}
