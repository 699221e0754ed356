// Lists requests for tokens of service accounts, which the embedded and a real apiserver must answer alike: their
// claims, and the refusal of tokens that only look valid.
import { expect } from "vitest";
import { fieldsOf, textOf } from "../../../../../infra/local/apiserver/object.ts";
import { send } from "../test-server.ts";
import { accountName, create, createAccount, sendUntil } from "./accounts.ts";
import { type Case, failure, timestamp } from "./case.ts";

function claimsOf(token: string): object {
  const [, payload = ""] = token.split(".");
  return fieldsOf(JSON.parse(Buffer.from(payload, "base64url").toString("utf8")));
}

export const tokens: Case[] = [
  {
    situation: "a token for a service account",
    before: (name) => [
      { method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: { metadata: { name } } },
    ],
    request: (name) => ({
      method: "POST",
      path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
      body: { spec: { expirationSeconds: 600 } },
    }),
    outcome: (name) => ({
      code: 201,
      body: {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: { name, namespace: "default" },
        spec: { audiences: ["https://kubernetes.default.svc"], expirationSeconds: 600, boundObjectRef: null },
        status: { token: expect.any(String), expirationTimestamp: timestamp },
      },
    }),
  },
  {
    situation: "a token for less than 10 minutes",
    before: (name) => [
      { method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: { metadata: { name } } },
    ],
    request: (name) => ({
      method: "POST",
      path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
      body: { spec: { expirationSeconds: 599 } },
    }),
    outcome: () =>
      failure(
        422,
        "Invalid",
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: ' +
          "may not specify a duration less than 10 minutes",
      ),
  },
  {
    situation: "a token that is bound to a Secret ends with it, also where another of its name is made",
    run: async (server, name) => {
      const secret = { path: `/api/v1/namespaces/default/secrets/${name}` };
      const bind = async (ref: object, code: number) => {
        const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
        const boundObjectRef = { apiVersion: "v1", kind: "Secret", name, ...ref };
        const answer = await send(server, { method: "POST", path, body: { spec: { boundObjectRef } } });
        expect(answer.code, answer.text).toBe(code);
        return answer.body;
      };
      await createAccount(server, name);
      expect(await bind({}, 404)).toMatchObject({ message: `secrets "${name}" not found` });
      await create(server, "/api/v1/namespaces/default/secrets", { metadata: { name } });
      const { body } = await send(server, secret);
      const uid = textOf(fieldsOf(body["metadata"])["uid"]);
      expect(body).toMatchObject({ kind: "Secret", type: "Opaque" });
      await bind({ uid: "another" }, 409);
      await bind({ kind: "ConfigMap" }, 400);
      const issued = await bind({ uid }, 201);
      expect(issued["spec"]).toMatchObject({ boundObjectRef: { kind: "Secret", name, uid } });
      const token = textOf(fieldsOf(issued["status"])["token"]);
      expect(claimsOf(token)).toMatchObject({
        "kubernetes.io": { namespace: "default", secret: { name, uid } },
      });
      // The test uses a second token, because a real server remembers for some seconds that the first token was
      // valid.
      expect(await send(server, { path: "/version", token })).toMatchObject({ code: 200 });
      const unused = textOf(fieldsOf((await bind({}, 201))["status"])["token"]);
      await send(server, { method: "DELETE", ...secret });
      await create(server, "/api/v1/namespaces/default/secrets", { metadata: { name } });
      const refused = await sendUntil(
        server,
        { path: "/version", token: unused },
        ({ code }) => code === 401,
      );
      expect(refused.code).toBe(401);
    },
  },
  {
    situation: "a service account's token is a JWT that says whose it is",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const audience = "https://kubernetes.default.svc";
      expect(claimsOf(token)).toEqual({
        aud: [audience],
        exp: expect.any(Number),
        iat: expect.any(Number),
        iss: audience,
        jti: expect.any(String),
        "kubernetes.io": {
          namespace: "default",
          serviceaccount: { name, uid: expect.any(String) },
        },
        nbf: expect.any(Number),
        sub: accountName(name),
      });
    },
  },
  {
    situation: "a token that somebody has changed is none",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const [header = "", payload = "", signature = ""] = token.split(".");
      const forged = { ...claimsOf(token), sub: accountName("other") };
      const other = Buffer.from(JSON.stringify(forged)).toString("base64url");
      for (const changed of [
        `${header}.${other}.${signature}`,
        `${header}.${payload}.`,
        `${header}.${payload}`,
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`,
      ])
        expect(await send(server, { path: "/version", token: changed })).toMatchObject({ code: 401 });
    },
  },
];
