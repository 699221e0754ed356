// As much of OpenAPI v3 as kubectl asks for before it writes: which kinds can be patched, and that the server
// validates fields itself. Derived from the resource table alone.
import { groupNames, typesOf } from "./discovery.ts";
import type { ResourceType } from "../resource-type.ts";

function pathOf(group: string): string {
  return group === "" ? "api/v1" : `apis/${group}/v1`;
}

/** kubectl's QueryParamVerifierV3 looks for the parameter of a PATCH of the kind. */
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

/** The document at a path below /openapi/v3; undefined when there is none. */
export function openApiDocument(path: string): object | undefined {
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
