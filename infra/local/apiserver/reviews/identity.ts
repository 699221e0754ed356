// SelfSubjectReview, SelfSubjectRulesReview and TokenReview: who somebody is, and all that he may do. Mirrors
// registry/authentication and selfsubjectrulesreview.
import { type ApiObject, fieldsOf, listOf, type Outcome, textOf } from "../object.ts";
import type { Authenticated, User } from "../authentication.ts";
import type { Grants } from "../rbac/resolver.ts";
import type { PolicyRule } from "../rbac/rules.ts";
import { badRequest } from "../status.ts";
import { timeOf } from "../write.ts";

function userInfo({ name, uid, groups, extra }: User) {
  return { username: name, ...(uid !== "" && { uid }), groups, ...(extra && { extra }) };
}

export function reviewSelf(sent: ApiObject, user: User, now: Date): ApiObject {
  const { kind, apiVersion } = sent;
  const metadata = { creationTimestamp: timeOf(now) };
  return { kind, apiVersion, metadata, status: { userInfo: userInfo(user) } };
}

function resourceRule({ verbs, apiGroups, resources, resourceNames }: PolicyRule) {
  return { verbs, apiGroups, resources, ...(resourceNames.length > 0 && { resourceNames }) };
}

export function reviewRules(sent: ApiObject, grantsIn: (namespace: string) => Grants): Outcome<ApiObject> {
  const namespace = textOf(fieldsOf(sent["spec"])["namespace"]);
  if (namespace === "") return { refused: badRequest("no namespace on request") };
  const { rules, errors } = grantsIn(namespace);
  const all = rules.map(({ rule }) => rule);
  const status = {
    resourceRules: all.filter(({ resources }) => resources.length > 0).map(resourceRule),
    nonResourceRules: all
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(errors.length > 0 && { evaluationError: errors.length > 1 ? `[${errors.join(", ")}]` : errors[0] }),
  };
  const { kind, apiVersion } = sent;
  return { ok: { kind, apiVersion, metadata: {}, spec: {}, status } };
}

export function reviewToken(
  sent: ApiObject,
  authenticate: (token: string, audiences: string[]) => Authenticated,
): Outcome<ApiObject> {
  const spec = fieldsOf(sent["spec"]);
  const token = textOf(spec["token"]);
  if (token === "") return { refused: badRequest("token is required for TokenReview in authentication") };
  const answer = authenticate(token, listOf(spec["audiences"]).map(textOf));
  if ("error" in answer) return { ok: { ...sent, status: { user: {}, error: answer.error } } };
  const { user, audiences } = answer;
  return { ok: { ...sent, status: { authenticated: true, user: userInfo(user), audiences } } };
}
