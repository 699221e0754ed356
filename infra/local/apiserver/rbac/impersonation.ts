// Acting as somebody else: Impersonate-* headers → another user, if the caller may. Mirrors apiserver's constrained
// impersonation, without nodes associated with pods.
import { quote } from "../../../../shared/go/strings.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import type { User } from "../authentication.ts";
import type { Outcome } from "../object.ts";
import { badRequest } from "../status.ts";
import type { Attributes } from "./rules.ts";

interface WantedUser {
  name: string;
  uid: string;
  groups: string[];
  extra: Record<string, string[]>;
}

const extraPrefix = "impersonate-extra-";

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Several headers of one name have become one by now. */
function valuesOf(header: string | null): string[] {
  return header === null ? [] : header.split(", ");
}

function wantedUser(headers: Headers): WantedUser {
  const extra = [...headers].filter(([name]) => name.startsWith(extraPrefix));
  return {
    name: headers.get("impersonate-user") ?? "",
    uid: headers.get("impersonate-uid") ?? "",
    groups: valuesOf(headers.get("impersonate-group")),
    extra: Object.fromEntries(
      extra.map(([name, value]) => [decoded(name.slice(extraPrefix.length)), valuesOf(value)]),
    ),
  };
}

function goTexts(texts: readonly string[]): string {
  return texts.length > 0 ? `[]string{${texts.map((text) => quote(text)).join(", ")}}` : "[]string(nil)";
}

/** Go's %#v of the user. */
function goText({ name, uid, groups, extra }: WantedUser): string {
  const pairs = Object.entries(extra).map(([key, values]) => `${quote(key)}:${goTexts(values)}`);
  const map = pairs.length > 0 ? `map[string][]string{${pairs.join(", ")}}` : "map[string][]string(nil)";
  const strings = `Name:${quote(name)}, UID:${quote(uid)}`;
  return `&user.DefaultInfo{${strings}, Groups:${goTexts(groups)}, Extra:${map}}`;
}

const authentication = "authentication.k8s.io";

function serviceAccountOf(name: string): { namespace: string; name: string } | undefined {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  return namespace !== undefined && account !== undefined ? { namespace, name: account } : undefined;
}

function nodeOf(name: string): string | undefined {
  return /^system:node:(.+)$/.exec(name)?.[1];
}

/** A way to impersonate: "" is the one that grants all requests of the other user. */
type Mode = "arbitrary-node" | "serviceaccount" | "user-info" | "";

/** allImpersonationModes: the narrow one that suits, and then the wide one. None but that gives all rights there are. */
function modesFor({ name, uid, groups, extra }: WantedUser): Mode[] {
  const isPlain = uid === "" && groups.length === 0 && Object.keys(extra).length === 0;
  if (nodeOf(name) !== undefined) return isPlain ? ["arbitrary-node", ""] : [""];
  if (serviceAccountOf(name)) return isPlain ? ["serviceaccount", ""] : [""];
  return groups.includes("system:masters") ? [""] : ["user-info", ""];
}

/** What the caller has to be allowed, one for each thing that he wants to be. */
function requirements(wanted: WantedUser, mode: Mode): Attributes[] {
  const verb = mode === "" ? "impersonate" : `impersonate:${mode}`;
  const group = mode === "" ? "" : authentication;
  const required = { verb, group, namespace: "", subresource: "" };
  const account = serviceAccountOf(wanted.name);
  const node = mode === "" ? undefined : nodeOf(wanted.name);
  const who =
    node === undefined
      ? { ...required, resource: "users", name: wanted.name }
      : { ...required, resource: "nodes", name: node };
  const ofAuthentication = { ...required, group: authentication };
  return [
    account ? { ...required, ...account, resource: "serviceaccounts" } : who,
    ...(wanted.uid === "" ? [] : [{ ...ofAuthentication, resource: "uids", name: wanted.uid }]),
    ...wanted.groups.map((name) => ({ ...required, resource: "groups", name })),
    ...Object.entries(wanted.extra).flatMap(([subresource, values]) =>
      values.map((name) => ({ ...ofAuthentication, resource: "userextras", subresource, name })),
    ),
  ];
}

function groupsOf(wanted: WantedUser, mode: Mode): string[] {
  const account = serviceAccountOf(wanted.name);
  if (mode === "arbitrary-node") return ["system:nodes"];
  if (!account || wanted.groups.length > 0) return wanted.groups;
  return ["system:serviceaccounts", `system:serviceaccounts:${account.namespace}`];
}

function impersonated(wanted: WantedUser, mode: Mode): User {
  const { name, uid, extra } = wanted;
  const groups = groupsOf(wanted, mode);
  const everybody = name === "system:anonymous" ? "system:unauthenticated" : "system:authenticated";
  const isComplete = groups.includes(everybody) || groups.includes("system:unauthenticated");
  return {
    name,
    uid,
    groups: isComplete ? groups : [...groups, everybody],
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

/**
 * The user that a request is to be made as: the caller, when it has no such headers. `refuse` tells why a user may not
 * do something; `request` is what the request itself asks for.
 */
export function impersonate(
  caller: User,
  headers: Headers,
  request: Attributes,
  refuse: (user: User, attributes: Attributes) => Status | undefined,
): Outcome<User> {
  const wanted = wantedUser(headers);
  const { name, uid, groups, extra } = wanted;
  if (name === "") {
    const isNobody = uid === "" && groups.length === 0 && Object.keys(extra).length === 0;
    const message = `requested ${goText(wanted)} without impersonating a user name`;
    return isNobody ? { ok: caller } : { refused: badRequest(message) };
  }
  let first: Status | undefined;
  for (const mode of modesFor(wanted)) {
    const on = mode === "" ? [] : [{ ...request, verb: `impersonate-on:${mode}:${request.verb}` }];
    const refused = [...on, ...requirements(wanted, mode)]
      .map((attributes) => refuse(caller, attributes))
      .find((status) => status !== undefined);
    if (!refused) return { ok: impersonated(wanted, mode) };
    first ??= refused;
  }
  return first ? { refused: first } : { ok: caller };
}
