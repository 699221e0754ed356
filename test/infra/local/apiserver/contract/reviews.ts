// Reviews: questions about access and identity that store nothing.
import { expect } from "vitest";
import { send } from "../test-server.ts";
import {
  accountName,
  authentication,
  authorization,
  createAccount,
  createGrantee,
  requestToken,
} from "./accounts.ts";
import { type Case, failure, timestamp } from "./case.ts";

const invalid = '.authorization.k8s.io "" is invalid: ';
const nodes = { verb: "get", resource: "nodes" };

interface ReviewCase {
  situation: string;
  kind: "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews";
  body: object;
  outcome: object;
}

function answered(status: object) {
  return { code: 201, body: { status } };
}

const accessReviews: ReviewCase[] = [
  {
    situation: "an administrator may do anything",
    kind: "selfsubjectaccessreviews",
    body: { spec: { resourceAttributes: nodes } },
    outcome: {
      code: 201,
      body: {
        kind: "SelfSubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        spec: { resourceAttributes: nodes },
        status: { allowed: true },
      },
    },
  },
  {
    situation: "a path",
    kind: "selfsubjectaccessreviews",
    body: { spec: { nonResourceAttributes: { verb: "get", path: "/x" } } },
    outcome: answered({ allowed: true }),
  },
  {
    situation: "nothing is asked",
    kind: "selfsubjectaccessreviews",
    body: { spec: {} },
    outcome: failure(
      422,
      "Invalid",
      `${invalid}spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`,
      { group: "authorization.k8s.io" },
    ),
  },
  {
    situation: "both are asked",
    kind: "selfsubjectaccessreviews",
    body: { spec: { resourceAttributes: nodes, nonResourceAttributes: { path: "/" } } },
    outcome: failure(
      422,
      "Invalid",
      `${invalid}spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: cannot be specified in combination with resourceAttributes`,
    ),
  },
  {
    situation: "a review has no name",
    kind: "selfsubjectaccessreviews",
    body: { metadata: { name: "x" }, spec: { resourceAttributes: nodes } },
    outcome: {
      code: 422,
      body: {
        reason: "Invalid",
        message: expect.stringMatching(/: metadata: Invalid value: .*: must be empty$/),
      },
    },
  },
  {
    situation: "a user without rights",
    kind: "subjectaccessreviews",
    body: { spec: { user: "jane", resourceAttributes: nodes } },
    outcome: answered({ allowed: false }),
  },
  {
    situation: "a member of system:masters",
    kind: "subjectaccessreviews",
    body: { spec: { user: "jane", groups: ["system:masters"], resourceAttributes: nodes } },
    outcome: answered({ allowed: true }),
  },
  {
    situation: "the binding that allows it is named",
    kind: "subjectaccessreviews",
    body: {
      spec: { groups: ["system:authenticated"], nonResourceAttributes: { verb: "get", path: "/api/v1" } },
    },
    outcome: answered({
      allowed: true,
      reason:
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
    }),
  },
  {
    situation: "nobody is asked about",
    kind: "subjectaccessreviews",
    body: { spec: { resourceAttributes: nodes } },
    outcome: failure(
      422,
      "Invalid",
      `${invalid}spec.user: Invalid value: "": at least one of user or group must be specified`,
    ),
  },
  {
    situation: "a local review is about its namespace",
    kind: "localsubjectaccessreviews",
    body: { spec: { user: "jane", resourceAttributes: { ...nodes, namespace: "default" } } },
    outcome: { code: 201, body: { metadata: { namespace: "default" }, status: { allowed: false } } },
  },
  {
    situation: "a local review about another namespace",
    kind: "localsubjectaccessreviews",
    body: { spec: { user: "jane", resourceAttributes: nodes } },
    outcome: failure(
      422,
      "Invalid",
      `${invalid}spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace`,
    ),
  },
  {
    situation: "a local review about a path",
    kind: "localsubjectaccessreviews",
    body: { spec: { user: "jane", nonResourceAttributes: { path: "/" } } },
    outcome: failure(
      422,
      "Invalid",
      `${invalid}spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: disallowed on this kind of request`,
    ),
  },
];

function pathOf(kind: ReviewCase["kind"]): string {
  const namespace = kind === "localsubjectaccessreviews" ? "/namespaces/default" : "";
  return `${authorization}${namespace}/${kind}`;
}

const serviceAccountGroups = [
  "system:serviceaccounts",
  "system:serviceaccounts:default",
  "system:authenticated",
];

const identities: Case[] = [
  {
    situation: "who the administrator is",
    request: () => ({ method: "POST", path: `${authentication}/selfsubjectreviews`, body: {} }),
    outcome: () => ({
      code: 201,
      body: {
        kind: "SelfSubjectReview",
        apiVersion: "authentication.k8s.io/v1",
        metadata: { creationTimestamp: timestamp },
        status: {
          userInfo: { username: "admin", uid: "admin", groups: ["system:masters", "system:authenticated"] },
        },
      },
    }),
  },
  {
    situation: "who a service account is",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const path = `${authentication}/selfsubjectreviews`;
      expect(await send(server, { method: "POST", path, body: {}, token })).toMatchObject({
        code: 201,
        body: {
          status: {
            userInfo: {
              username: accountName(name),
              uid: expect.any(String),
              groups: serviceAccountGroups,
              extra: {
                "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=[0-9a-f-]{36}$/)],
              },
            },
          },
        },
      });
    },
  },
  {
    situation: "all that somebody may do in a namespace",
    run: async (server, name) => {
      const rule = { apiGroups: [""], resources: ["nodes"], resourceNames: ["a"], verbs: ["get"] };
      const token = await createGrantee(server, name, [rule]);
      const path = `${authorization}/selfsubjectrulesreviews`;
      const body = { spec: { namespace: "default" } };
      expect(await send(server, { method: "POST", path, body, token })).toMatchObject({
        code: 201,
        body: {
          status: {
            incomplete: false,
            resourceRules: expect.arrayContaining([
              rule,
              {
                apiGroups: ["authentication.k8s.io"],
                resources: ["selfsubjectreviews"],
                verbs: ["create"],
              },
            ]),
            nonResourceRules: expect.arrayContaining([
              {
                nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"],
                verbs: ["get"],
              },
            ]),
          },
        },
      });
    },
  },
  {
    situation: "all that somebody may do, nowhere",
    request: () => ({ method: "POST", path: `${authorization}/selfsubjectrulesreviews`, body: { spec: {} } }),
    outcome: () => failure(400, "BadRequest", "no namespace on request"),
  },
  {
    situation: "somebody without a token may not even ask who he is",
    request: () => ({ method: "POST", path: `${authentication}/selfsubjectreviews`, body: {}, token: "" }),
    outcome: () => ({ code: 403, body: { reason: "Forbidden" } }),
  },
  {
    situation: "a review cannot be read",
    request: () => ({ path: `${authentication}/tokenreviews` }),
    outcome: () =>
      failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource"),
  },
];

interface TokenCase {
  situation: string;
  /** Of the token; the apiserver's own when absent. */
  audiences?: string[];
  change?: (token: string) => string;
  asked?: string[];
  status: (name: string) => object;
}

const tokenReviews: TokenCase[] = [
  {
    situation: "a service account's token",
    status: (name) => ({
      authenticated: true,
      user: { username: accountName(name), uid: expect.any(String), groups: serviceAccountGroups },
      audiences: ["https://kubernetes.default.svc"],
    }),
  },
  {
    situation: "a token for one of the wanted audiences",
    audiences: ["a"],
    asked: ["a", "b"],
    status: () => ({ authenticated: true, audiences: ["a"] }),
  },
  {
    situation: "a token for another audience",
    asked: ["other"],
    status: () => ({
      user: {},
      error:
        '[invalid bearer token, token audiences ["https://kubernetes.default.svc"] is invalid for the target audiences ["other"]]',
    }),
  },
  {
    situation: "a token that is none",
    change: () => "x",
    status: () => ({ user: {}, error: "invalid bearer token" }),
  },
  {
    situation: "a token that somebody has changed",
    change: (token) => `${token.slice(0, -8)}AAAAAAAA`,
    status: () => ({
      user: {},
      error: "[invalid bearer token, go-jose/go-jose: error in cryptographic primitive]",
    }),
  },
];

export const reviews: Case[] = [
  ...accessReviews.map(({ situation, kind, body, outcome }): Case => ({
    situation,
    request: () => ({ method: "POST", path: pathOf(kind), body }),
    outcome: () => outcome as { code: number },
  })),
  ...identities,
  ...tokenReviews.map(({ situation, audiences = [], change, asked = [], status }): Case => ({
    situation: `review of ${situation}`,
    run: async (server, name) => {
      await createAccount(server, name);
      const token = await requestToken(server, name, { audiences });
      const spec = { token: change?.(token) ?? token, audiences: asked };
      const path = `${authentication}/tokenreviews`;
      expect(await send(server, { method: "POST", path, body: { spec } })).toMatchObject({
        code: 201,
        body: { kind: "TokenReview", status: status(name) },
      });
    },
  })),
  {
    situation: "review of no token",
    request: () => ({ method: "POST", path: `${authentication}/tokenreviews`, body: { spec: {} } }),
    outcome: () => failure(400, "BadRequest", "token is required for TokenReview in authentication"),
  },
];
