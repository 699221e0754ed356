// Service accounts' tokens: what they say, what they are good for, when they end.
import { createPublicKey, verify } from "node:crypto";
import { expect } from "vitest";
import { fieldsOf, listOf, textOf } from "../../../../../infra/local/apiserver/object.ts";
import { send, toRequest } from "../test-server.ts";
import {
  accountName,
  authentication,
  create,
  createAccount,
  requestToken,
  sendUntil,
  selfReview,
} from "./accounts.ts";
import { type Case, failure } from "./case.ts";

function decoded(part: string): object {
  return fieldsOf(JSON.parse(Buffer.from(part, "base64url").toString("utf8")));
}

function claimsOf(token: string): object {
  return decoded(token.split(".")[1] ?? "");
}

export const bearers: Case[] = [
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
    situation: "a token can be verified with the issuer's public key",
    run: async (server, name) => {
      const token = await createAccount(server, name);
      const found = await send(server, { path: "/.well-known/openid-configuration", token });
      const keysUrl = new URL(textOf(fieldsOf(found.body)["jwks_uri"]));
      const answer = await server.fetch(toRequest(server, { path: keysUrl.pathname, token }));
      const [key] = listOf(fieldsOf(await answer.json())["keys"]).map(fieldsOf);
      const [header = "", payload = "", signature = ""] = token.split(".");
      expect(decoded(header)).toEqual({ alg: key?.["alg"], kid: key?.["kid"] });
      expect(fieldsOf(found.body)).toMatchObject({
        issuer: "https://kubernetes.default.svc",
        id_token_signing_alg_values_supported: [key?.["alg"]],
      });
      const publicKey = createPublicKey({ key: key!, format: "jwk" });
      const data = Buffer.from(`${header}.${payload}`);
      const options = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
      expect(verify("sha256", data, options, Buffer.from(signature, "base64url"))).toBe(true);
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
  {
    situation: "a token for another audience is none for the apiserver",
    run: async (server, name) => {
      await createAccount(server, name);
      const token = await requestToken(server, name, { audiences: ["other"] });
      expect(await send(server, { path: "/version", token })).toMatchObject(
        failure(401, "Unauthorized", "Unauthorized"),
      );
    },
  },
  {
    situation: "a token request for another account than the path's",
    run: async (server, name) => {
      await createAccount(server, name);
      const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
      const body = { metadata: { name: "other" }, spec: {} };
      const message =
        `TokenRequest.authentication.k8s.io "${name}" is invalid: metadata.name: Invalid value: "other": ` +
        "must match the service account name if specified";
      expect(await send(server, { method: "POST", path, body })).toMatchObject(
        failure(422, "Invalid", message, { name, group: "authentication.k8s.io", kind: "TokenRequest" }),
      );
    },
  },
  {
    situation: "a token request for an account that was made again",
    run: async (server, name) => {
      await createAccount(server, name);
      const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
      const body = { metadata: { uid: "other" }, spec: {} };
      expect(await send(server, { method: "POST", path, body })).toMatchObject({
        code: 409,
        body: {
          reason: "Conflict",
          message: expect.stringMatching(
            /^Operation cannot be fulfilled on TokenRequest\.authentication\.k8s\.io "bearers-\d+": the UID in the token request \(other\) does not match the UID of the service account \(.+\)$/,
          ),
        },
      });
    },
  },
  {
    situation: "a token bound to a secret ends with it",
    run: async (server, name) => {
      await createAccount(server, name);
      const secrets = "/api/v1/namespaces/default/secrets";
      await create(server, secrets, { metadata: { name } });
      const boundObjectRef = { kind: "Secret", apiVersion: "v1", name };
      // A real server remembers a good token for a while: each is looked at once.
      const tokens: string[] = [];
      for (let count = 0; count < 10; count++)
        tokens.push(await requestToken(server, name, { boundObjectRef }));
      expect(claimsOf(tokens[0]!)).toMatchObject({
        "kubernetes.io": { secret: { name, uid: expect.any(String) } },
      });
      await send(server, { method: "DELETE", path: `${secrets}/${name}` });
      const path = `${authentication}/tokenreviews`;
      const answer = await sendUntil(
        server,
        () => ({ method: "POST", path, body: { spec: { token: tokens.pop() ?? "" } } }),
        ({ body }) => fieldsOf(body["status"])["authenticated"] !== true,
      );
      const error = "[invalid bearer token, service account token has been invalidated]";
      expect(answer.body["status"]).toEqual({ user: {}, error });
    },
  },
  {
    situation: "a token bound to a Node says which",
    run: async (server, name) => {
      await createAccount(server, name);
      await create(server, "/api/v1/nodes", { metadata: { name } });
      const boundObjectRef = { kind: "Node", apiVersion: "v1", name };
      const token = await requestToken(server, name, { boundObjectRef });
      expect(await send(server, { method: "POST", path: selfReview, body: {}, token })).toMatchObject({
        body: {
          status: {
            userInfo: { extra: { "authentication.kubernetes.io/node-name": [name] } },
          },
        },
      });
    },
  },
  ...["Secret", "Node", "Pod"].map((kind): Case => ({
    situation: `a token bound to a ${kind} that is not there`,
    before: (name) => [
      { method: "POST", path: "/api/v1/namespaces/default/serviceaccounts", body: { metadata: { name } } },
    ],
    request: (name) => ({
      method: "POST",
      path: `/api/v1/namespaces/default/serviceaccounts/${name}/token`,
      body: { spec: { boundObjectRef: { kind, apiVersion: "v1", name: "none" } } },
    }),
    outcome: () => failure(404, "NotFound", `${kind.toLowerCase()}s "none" not found`),
  })),
  {
    situation: "a token bound to what no token can be bound to",
    run: async (server, name) => {
      await createAccount(server, name);
      const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
      const body = { spec: { boundObjectRef: { kind: "Lease", apiVersion: "v1", name: "x" } } };
      const message = "cannot bind token to object of type /v1, Kind=Lease";
      expect(await send(server, { method: "POST", path, body })).toMatchObject(
        failure(400, "BadRequest", message),
      );
    },
  },
];
