// Tells clients what is served: /api, /apis, the groups and their resources. Derived from the resource table alone.
// Aggregated discovery is left out: clients that ask for it take these documents instead.
import type { ResourceType } from "../resource-type.ts";
import { resourceTypes } from "../resources.ts";

export function groupNames(): string[] {
  return [...new Set(resourceTypes.map(({ group }) => group))].filter((group) => group !== "").sort();
}

export function typesOf(group: string): ResourceType[] {
  return resourceTypes.filter((type) => type.group === group);
}

function apiGroup(group: string) {
  const preferredVersion = { groupVersion: `${group}/v1`, version: "v1" };
  return { name: group, versions: [preferredVersion], preferredVersion };
}

function resourceEntries(type: ResourceType): object[] {
  const { resource, singular, namespaced, kind, verbs, shortNames, subresources = [] } = type;
  const entry = {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames && { shortNames }),
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

function groupDocument(group: string, version: string | undefined): object | undefined {
  if (!groupNames().includes(group)) return undefined;
  if (version === undefined) return { kind: "APIGroup", apiVersion: "v1", ...apiGroup(group) };
  return version === "v1" ? resourceList(group) : undefined;
}

/** The discovery document at a path, which has no slash at its end; undefined when there is none. */
export function discoveryDocument(path: string, host: string): object | undefined {
  const serverAddressByClientCIDRs = [{ clientCIDR: "0.0.0.0/0", serverAddress: host }];
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs };
  if (path === "/api/v1") return resourceList("");
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groupNames().map(apiGroup) };
  const [, api, group = "", version, ...rest] = path.split("/");
  return api === "apis" && rest.length === 0 ? groupDocument(group, version) : undefined;
}
