// Reads the verb, resource, namespace and name of a request. Mirrors apiserver's RequestInfoFactory.
import { exactName } from "./read/selectors.ts";

/** The attributes that authorisation and routing use. */
export interface RequestInfo {
  /** "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", or "" for an unknown method. */
  verb: string;
  group: string;
  version: string;
  /** The namespace. "" for all namespaces, and for resources without a namespace. */
  namespace: string;
  resource: string;
  subresource: string;
  /** The name of the object. For a list or watch, the one name in its path or fieldSelector. */
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

/** Returns a boolean parameter: true unless it is absent, 0 or false. Mirrors runtime.Convert_Slice_string_To_bool. */
export function isSet(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

/** Splits the part of a path after the version. A namespace is a resource too, with subresources of its own. */
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

/** Decodes a path and splits it at slashes. Returns undefined if its percent-encoding is not valid. */
function splitPath(path: string): string[] | undefined {
  try {
    return decodeURIComponent(path)
      .replaceAll(/^\/+|\/+$/g, "")
      .split("/");
  } catch {
    return undefined;
  }
}

/** Returns the verb and name of a request without a name in its path; its fieldSelector may name one object. */
function collectionInfo(verb: string, query: URLSearchParams): { verb: string; name: string } {
  if (verb === "delete") return { verb: "deletecollection", name: "" };
  if (verb !== "get") return { verb, name: "" };
  return {
    verb: isSet(query.get("watch")) ? "watch" : "list",
    name: exactName(query.get("fieldSelector") ?? "") ?? "",
  };
}

/** Returns a request's attributes, or undefined if its path, like /version, belongs to no resource. */
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
