// Answers the paths that belong to no resource: version, health, discovery (/api, /apis, the groups), and the parts
// of OpenAPI v3 that kubectl reads before a write. Aggregated discovery is not supported.
import { answerBody, answerNothing, answerStatus, answerText } from "./answers/answer.ts";
import type { ResourceType } from "./resource-type.ts";
import { resourceTypes } from "./resources.ts";
import * as refuse from "./status.ts";

const version = {
  major: "1",
  minor: "36",
  gitVersion: "v1.36.3",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
};

const healthPaths = new Set(["/healthz", "/livez", "/readyz"]);

export function answerNonResource(request: Request, { pathname, host }: URL): Response {
  const path = pathname.replace(/\/$/, "");
  if (healthPaths.has(path)) return answerText(200, "ok");
  const document = path === "/version" ? version : (openApiDocument(path) ?? discoveryDocument(path, host));
  if (!document) return answerNothing();
  return request.method === "GET" ? answerBody(200, document) : answerStatus(refuse.methodNotAllowed());
}

function groupNames(): string[] {
  return [...new Set(resourceTypes.map(({ group }) => group))].filter((group) => group !== "").sort();
}

function typesOf(group: string): ResourceType[] {
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

/** Returns the discovery document for a path without a slash at its end, or undefined if the path has none. */
function discoveryDocument(path: string, host: string): object | undefined {
  const serverAddressByClientCIDRs = [{ clientCIDR: "0.0.0.0/0", serverAddress: host }];
  if (path === "/api") return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs };
  if (path === "/api/v1") return resourceList("");
  if (path === "/apis") return { kind: "APIGroupList", apiVersion: "v1", groups: groupNames().map(apiGroup) };
  const [, api, group = "", version, ...rest] = path.split("/");
  return api === "apis" && rest.length === 0 ? groupDocument(group, version) : undefined;
}

function pathOf(group: string): string {
  return group === "" ? "api/v1" : `apis/${group}/v1`;
}

/** Describes the PATCH of a kind. kubectl's QueryParamVerifierV3 reads the parameters in it. */
function patchOf({ group, version, kind }: ResourceType): object {
  const patchTypes = ["apply-patch+yaml", "merge-patch+json", "strategic-merge-patch+json"];
  const content = Object.fromEntries(patchTypes.map((type) => [`application/${type}`, {}]));
  return {
    "x-kubernetes-action": "patch",
    "x-kubernetes-group-version-kind": { group, version, kind },
    parameters: ["dryRun", "fieldManager", "fieldValidation", "force"].map((name) => ({
      name,
      in: "query",
      schema: { type: name === "force" ? "boolean" : "string" },
    })),
    requestBody: { content },
    responses: {},
  };
}

function document(group: string): object {
  const patchable = typesOf(group).filter(({ verbs }) => verbs.includes("patch"));
  const entries = patchable.map((type) => {
    const scope = type.namespaced ? "namespaces/{namespace}/" : "";
    return [`/${pathOf(group)}/${scope}${type.resource}/{name}`, { patch: patchOf(type) }];
  });
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths: Object.fromEntries(entries),
    components: {},
  };
}

/** Returns the document for a path below /openapi/v3, or undefined if the path has none. */
function openApiDocument(path: string): object | undefined {
  const groups = ["", ...groupNames()];
  if (path === "/openapi/v3") {
    const paths = groups.map((group) => [
      pathOf(group),
      { serverRelativeURL: `/openapi/v3/${pathOf(group)}` },
    ]);
    return { paths: Object.fromEntries(paths) };
  }
  const group = groups.find((group) => path === `/openapi/v3/${pathOf(group)}`);
  return group === undefined ? undefined : document(group);
}
