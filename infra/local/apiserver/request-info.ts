// What a request asks for: verb, resource, namespace, name. Mirrors apiserver's RequestInfoFactory; reads no body.
import { exactName } from "./read/selectors.ts";

/** The attributes that authorisation and routing go by. */
export interface RequestInfo {
  /** "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"; "" for another method. */
  verb: string;
  group: string;
  version: string;
  /** "" for all namespaces and for resources without one. */
  namespace: string;
  resource: string;
  subresource: string;
  /** Of a list or watch the one name that its path or its fieldSelector asks for. */
  name: string;
}

const verbs: Record<string, string> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** runtime.Convert_Slice_string_To_bool: a parameter that is there is true, unless it says otherwise. */
export function isSet(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

/** What of a path comes after the version. A namespace is itself a resource, with subresources of its own. */
function splitResourcePath(parts: string[]) {
  const namespaceSubresources = ["status", "finalize"];
  if (parts[0] !== "namespaces") {
    return { namespace: "", resource: parts[0], name: parts[1] ?? "", subresource: parts[2] ?? "" };
  }
  const [, namespace = "", resource, name = "", subresource = ""] = parts;
  if (resource === undefined || namespaceSubresources.includes(resource)) {
    return { namespace, resource: "namespaces", name: namespace, subresource: resource ?? "" };
  }
  return { namespace, resource, name, subresource };
}

/** The path decoded and split; undefined when it is not valid percent-encoding. */
function splitPath(path: string): string[] | undefined {
  try {
    return decodeURIComponent(path)
      .replaceAll(/^\/+|\/+$/g, "")
      .split("/");
  } catch {
    return undefined;
  }
}

/** A request without a name in its path is about a collection, whose selector may still ask for one name. */
function collectionInfo(verb: string, query: URLSearchParams): { verb: string; name: string } {
  if (verb === "delete") return { verb: "deletecollection", name: "" };
  if (verb !== "get") return { verb, name: "" };
  return {
    verb: isSet(query.get("watch")) ? "watch" : "list",
    name: exactName(query.get("fieldSelector") ?? "") ?? "",
  };
}

/** Undefined for a path that is no resource's, such as /version and the discovery documents. */
export function parseRequestInfo(method: string, url: URL): RequestInfo | undefined {
  const parts = splitPath(url.pathname);
  const start = parts?.[0] === "api" ? 2 : 3;
  if (!parts || (parts[0] !== "api" && parts[0] !== "apis") || parts.length <= start) return undefined;
  const [group = "", version = ""] = parts[0] === "api" ? ["", parts[1]] : [parts[1], parts[2]];
  const { namespace, resource = "", name, subresource } = splitResourcePath(parts.slice(start));
  const attributes = { group, version, namespace, resource, subresource, name };
  const verb = verbs[method] ?? "";
  return name === "" ? { ...attributes, ...collectionInfo(verb, url.searchParams) } : { ...attributes, verb };
}
