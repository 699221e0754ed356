// Acting as somebody else: Impersonate-* headers.
import { expect } from "vitest";
import { send } from "../test-server.ts";
import { accountName, createAccount, createGrantee, selfReview } from "./accounts.ts";
import { type Case, failure } from "./case.ts";

/** Who the administrator is when he acts as somebody else. */
const impersonations: { situation: string; headers: Record<string, string>; userInfo: object }[] = [
  {
    situation: "a user",
    headers: { "impersonate-user": "jane" },
    userInfo: { username: "jane", groups: ["system:authenticated"] },
  },
  {
    situation: "a user with groups and more",
    headers: {
      "impersonate-user": "jane",
      "impersonate-uid": "7",
      "impersonate-group": "a",
      "impersonate-extra-example.com%2fscopes": "x",
    },
    userInfo: {
      username: "jane",
      uid: "7",
      groups: ["a", "system:authenticated"],
      extra: { "example.com/scopes": ["x"] },
    },
  },
  {
    situation: "a service account",
    headers: { "impersonate-user": "system:serviceaccount:default:x" },
    userInfo: {
      username: "system:serviceaccount:default:x",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    },
  },
  {
    situation: "a Node",
    headers: { "impersonate-user": "system:node:x" },
    userInfo: { username: "system:node:x", groups: ["system:nodes", "system:authenticated"] },
  },
];

export const impersonation: Case[] = [
  ...impersonations.map(({ situation, headers, userInfo }): Case => ({
    situation: `acting as ${situation}`,
    request: () => ({ method: "POST", path: selfReview, body: {}, headers }),
    outcome: () => ({ code: 201, body: { status: { userInfo } } }),
  })),
  {
    situation: "acting as somebody has his rights, not one's own",
    request: () => ({ path: "/api/v1/nodes", headers: { "impersonate-user": "jane" } }),
    outcome: () =>
      failure(
        403,
        "Forbidden",
        'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
      ),
  },
  {
    situation: "acting as a group alone",
    request: () => ({ path: "/api/v1/nodes", headers: { "impersonate-group": "a" } }),
    outcome: () =>
      failure(
        400,
        "BadRequest",
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a"}, Extra:map[string][]string(nil)} ' +
          "without impersonating a user name",
      ),
  },
  {
    situation: "who may not act as others",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const headers = { "impersonate-user": "jane" };
      const message = `nodes is forbidden: User "${accountName(name)}" cannot impersonate-on:user-info:list resource "nodes" in API group "" at the cluster scope`;
      expect(await send(server, { path: "/api/v1/nodes", token, headers })).toMatchObject(
        failure(403, "Forbidden", message),
      );
    },
  },
  {
    situation: "who may act as one user, and nobody else",
    run: async (server, name) => {
      const rule = { apiGroups: [""], resources: ["users"], resourceNames: ["jane"], verbs: ["impersonate"] };
      const token = await createGrantee(server, name, [rule]);
      const as = (user: string) => ({
        method: "POST",
        path: selfReview,
        body: {},
        token,
        headers: { "impersonate-user": user },
      });
      expect(await send(server, as("jane"))).toMatchObject({ code: 201 });
      expect(await send(server, as("joe"))).toMatchObject({ code: 403 });
    },
  },
  {
    situation: "who may act as one user for one kind of request",
    run: async (server, name) => {
      const jane = { apiGroups: ["authentication.k8s.io"], resources: ["users"], resourceNames: ["jane"] };
      const review = { apiGroups: ["authentication.k8s.io"], resources: ["selfsubjectreviews"] };
      const token = await createGrantee(server, name, [
        { ...jane, verbs: ["impersonate:user-info"] },
        { ...review, verbs: ["impersonate-on:user-info:create"] },
      ]);
      const headers = { "impersonate-user": "jane" };
      const asked = { method: "POST", path: selfReview, body: {}, token, headers };
      expect(await send(server, asked)).toMatchObject({ code: 201 });
      expect(await send(server, { path: "/api", token, headers })).toMatchObject({ code: 403 });
    },
  },
];
