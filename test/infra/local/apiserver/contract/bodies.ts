// Lists requests with a malformed body, which the embedded and a real apiserver must answer alike. The body is not
// JSON, of another kind, with other types, of another medium, or too large.
import { type Case, failure, leases, nodes } from "./case.ts";

const deepEnough = 90;

const refused: { situation: string; body: string; path?: string }[] = [
  { situation: "no body", body: "" },
  { situation: "a body that is cut off", body: '{"metadata":{' },
  { situation: "a body with something behind it", body: "{} x" },
  { situation: "a body that is a list", body: "[]" },
  { situation: "a body of another kind", body: '{"kind":"Lease","apiVersion":"v1"}' },
  { situation: "a body of an unknown version", body: '{"kind":"Node","apiVersion":"v2"}' },
  { situation: "a name that is a number", body: '{"metadata":{"name":5}}' },
  { situation: "a spec that is a list", body: '{"spec":[]}' },
  { situation: "a bool that is text", body: '{"spec":{"unschedulable":"x"}}' },
  { situation: "a number with a fraction", body: '{"metadata":{"generation":1.5}}' },
  {
    situation: "a port that is too large",
    body: '{"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":3000000000}}}}',
  },
  { situation: "a quantity that is none", body: '{"status":{"capacity":{"cpu":"x"}}}' },
  { situation: "a time that is none", body: '{"metadata":{"creationTimestamp":"x"}}' },
  {
    situation: "a day that is not in the calendar",
    body: '{"metadata":{"creationTimestamp":"2026-02-30T00:00:00Z"}}',
  },
  {
    situation: "a lease's time without its six digits",
    body: '{"spec":{"renewTime":"2026-01-01T00:00:00Z"}}',
    path: leases,
  },
];

const media: Case[] = [
  {
    situation: "a body that goes deep where nobody looks",
    request: (name) => ({
      method: "POST",
      path: `${nodes}?fieldValidation=Ignore`,
      body: `{"metadata":{"name":"${name}"},"x":${"[".repeat(deepEnough)}${"]".repeat(deepEnough)}}`,
    }),
    outcome: () => ({ code: 201 }),
  },
  {
    situation: "JSON with its character set",
    request: (name) => ({
      method: "POST",
      path: nodes,
      type: "application/json; charset=utf-8",
      body: { metadata: { name } },
    }),
    outcome: () => ({ code: 201 }),
  },
  {
    situation: "a media type that nobody knows",
    request: () => ({ method: "POST", path: nodes, type: "text/plain", body: "{}" }),
    outcome: () => ({ code: 415, body: { reason: "UnsupportedMediaType" } }),
  },
  {
    situation: "a body of more than 3 MiB",
    request: () => ({ method: "POST", path: nodes, body: "x".repeat(3 * 1024 * 1024 + 1) }),
    outcome: () => failure(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
  },
];

export const bodies: Case[] = [
  ...refused.map(({ situation, body, path = nodes }): Case => ({
    situation,
    request: () => ({ method: "POST", path, body }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  })),
  ...media,
];
