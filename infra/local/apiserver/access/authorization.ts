// Whether a user may do what a request asks for: members of system:masters everything, others what RBAC grants.
import { quote } from "../../../../shared/go/strings.ts";
import type { Status } from "../../../../shared/kubernetes/types.ts";
import type { User } from "./authentication.ts";
import type { RuleResolver } from "./rule-resolver.ts";
import { type Attributes, ruleAllows } from "./rules.ts";
import { forbidden, forbiddenPath } from "../status.ts";

/** `reason` says what could not be resolved; "" when there is nothing to say. */
export interface Decision {
  allowed: boolean;
  reason: string;
}

function errorsText(errors: readonly string[]): string {
  return errors.length === 1 ? errors.join("") : `[${errors.join(", ")}]`;
}

/** rbac.RBACAuthorizer.Authorize, behind the privileged group's authorizer. */
export function authorize(
  resolver: RuleResolver,
  user: Pick<User, "name" | "groups">,
  attributes: Attributes,
): Decision {
  if (user.groups.includes("system:masters")) return { allowed: true, reason: "" };
  const namespace = "path" in attributes ? "" : attributes.namespace;
  const { rules, errors } = resolver.grantsOf(user, namespace);
  if (rules.some((rule) => ruleAllows(rule, attributes))) return { allowed: true, reason: "" };
  return { allowed: false, reason: errors.length > 0 ? `RBAC: ${errorsText(errors)}` : "" };
}

/** responsewriters.forbiddenMessage */
function forbiddenMessage(user: string, attributes: Attributes): string {
  const who = `User ${quote(user)} cannot ${attributes.verb}`;
  if ("path" in attributes) return `${who} path ${quote(attributes.path)}`;
  const { group, namespace, resource, subresource } = attributes;
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
  return `${who} resource ${quote(full)} in API group ${quote(group)} ${where}`;
}

/** A URL's path as it was meant, which rules and refusals are about; as it is when nothing can be made of it. */
export function decodedPath({ pathname }: URL): string {
  try {
    return decodeURIComponent(pathname);
  } catch {
    return pathname;
  }
}

/** The 403 that a request gets; undefined when it may go on. */
export function refuseForbidden(
  decide: (user: User, attributes: Attributes) => Decision,
  user: User,
  attributes: Attributes,
): Status | undefined {
  const { allowed, reason } = decide(user, attributes);
  if (allowed) return undefined;
  const message = forbiddenMessage(user.name, attributes);
  const why = reason === "" ? message : `${message}: ${reason}`;
  return "path" in attributes ? forbiddenPath(why) : forbidden(attributes, attributes.name, why);
}

/** Impersonation is not supported: a request that asks for it must not pass as the caller's own. */
export function refuseImpersonation(headers: Headers): Status | undefined {
  const isWanted = [...headers.keys()].some((name) => name.startsWith("impersonate-"));
  const users = { group: "", resource: "users" };
  return isWanted
    ? forbidden(users, headers.get("impersonate-user") ?? "", "impersonation is not supported")
    : undefined;
}
