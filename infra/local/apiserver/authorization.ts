// Whether a user may do what a request asks for: members of system:masters everything, others what RBAC grants.
import { quote } from "../../../shared/go/strings.ts";
import type { Status } from "../../../shared/kubernetes/types.ts";
import type { User } from "./authentication.ts";
import type { RuleResolver } from "./rbac/resolver.ts";
import { type Attributes, ruleAllows } from "./rbac/rules.ts";
import { forbidden, forbiddenPath } from "./status.ts";

/** `reason` says by which binding, or what could not be resolved; "" when there is nothing to say. */
export interface Decision {
  allowed: boolean;
  reason: string;
}

function errorsText(errors: readonly string[]): string {
  return errors.length === 1 ? errors.join("") : `[${errors.join(", ")}]`;
}

/** rbac.RBACAuthorizer.Authorize, behind the privileged group's authorizer. */
export function authorize(resolver: RuleResolver, user: User, attributes: Attributes): Decision {
  if (user.groups.includes("system:masters")) return { allowed: true, reason: "" };
  const namespace = "path" in attributes ? "" : attributes.namespace;
  const { rules, errors } = resolver.grantsOf(user, namespace);
  const granted = rules.find(({ rule }) => ruleAllows(rule, attributes));
  if (granted) return { allowed: true, reason: `RBAC: allowed by ${granted.source}` };
  return { allowed: false, reason: errors.length > 0 ? `RBAC: ${errorsText(errors)}` : "" };
}

/** responsewriters.forbiddenMessage, with what could look like HTML escaped. */
function forbiddenMessage({ name }: User, attributes: Attributes): string {
  const who = `User ${quote(name)} cannot ${attributes.verb}`;
  const what = () => {
    if ("path" in attributes) return `path ${quote(attributes.path)}`;
    const { group, namespace, resource, subresource } = attributes;
    const full = subresource === "" ? resource : `${resource}/${subresource}`;
    const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quote(namespace)}`;
    return `resource ${quote(full)} in API group ${quote(group)} ${where}`;
  };
  return `${who} ${what()}`.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
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
  resolver: RuleResolver,
  user: User,
  attributes: Attributes,
): Status | undefined {
  const { allowed, reason } = authorize(resolver, user, attributes);
  if (allowed) return undefined;
  const message = forbiddenMessage(user, attributes);
  const why = reason === "" ? message : `${message}: ${reason}`;
  if ("path" in attributes) return forbiddenPath(why);
  return forbidden(attributes, attributes.name, why);
}
