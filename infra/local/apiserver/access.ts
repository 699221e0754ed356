// What a handler may ask about its caller: who he is, what he may do, what he may grant; and the answers to reviews.
import type { Status } from "../../../shared/kubernetes/types.ts";
import type { Authenticator, User } from "./authentication.ts";
import { authorize } from "./authorization.ts";
import type { ApiObject, Outcome } from "./object.ts";
import { type RbacWrite, refuseEscalation } from "./rbac/escalation.ts";
import type { RuleResolver } from "./rbac/resolver.ts";
import { reviewAccess } from "./reviews/access.ts";
import { reviewRules, reviewSelf, reviewToken } from "./reviews/identity.ts";
import type { ResourceType } from "./resource-type.ts";
import type { TokenSigner } from "./service-account-tokens.ts";

/** The caller of one request. */
export interface Access {
  user: User;
  signer: TokenSigner;
  /** The 403 of a write that would grant what the caller has not. */
  refuseEscalation: (write: RbacWrite) => Status | undefined;
  /** The answer to a review; undefined when the kind is none. */
  review: (type: ResourceType, sent: ApiObject, namespace: string) => Outcome<ApiObject> | undefined;
}

/** Everything that a server knows about access. */
export interface AccessControl {
  authenticator: Authenticator;
  resolver: RuleResolver;
  now: () => Date;
}

export function accessOf({ authenticator, resolver, now }: AccessControl, user: User): Access {
  const decide = authorize.bind(undefined, resolver);
  return {
    user,
    signer: authenticator.signer,
    refuseEscalation: (write) => {
      const isAllowed = (attributes: Parameters<typeof decide>[1]) => decide(user, attributes).allowed;
      return refuseEscalation({ user, resolver, isAllowed }, write);
    },
    review: ({ kind, group }, sent, namespace) => {
      switch (kind) {
        case "SelfSubjectReview":
          return { ok: reviewSelf(sent, user, now()) };
        case "SelfSubjectRulesReview":
          return reviewRules(sent, (inNamespace) => resolver.grantsOf(user, inNamespace));
        case "TokenReview":
          return reviewToken(sent, authenticator.review);
        case "SelfSubjectAccessReview":
        case "SubjectAccessReview":
        case "LocalSubjectAccessReview":
          return reviewAccess(group, sent, { user, namespace }, decide);
        default:
          return undefined;
      }
    },
  };
}
