// Tokens for service accounts.
import { expect } from "vitest";
import { type Case, failure, timestamp } from "./case.ts";

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
];
