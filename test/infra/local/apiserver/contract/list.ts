// Lists requests for lists that the embedded and a real apiserver must answer alike: selectors, and revisions in
// the future.
import { expect } from "vitest";
import { send } from "../test-server.ts";
import { type Case, accounts, events, leases, nodes, type RequestCase } from "./case.ts";

/** Returns an object of one case, which the case selects by its labels. */
function labelled(name: string, labels: Record<string, string>) {
  return { metadata: { name, labels } };
}

function query(parameters: Record<string, string>): string {
  return new URLSearchParams(parameters).toString();
}

/** Returns a case whose selector cannot be parsed. */
function badSelector(parameter: "labelSelector" | "fieldSelector", selector: string): RequestCase {
  return {
    situation: `${parameter} ${JSON.stringify(selector)}`,
    request: () => ({ path: `${nodes}?${query({ [parameter]: selector })}` }),
    outcome: () => ({ code: 400, body: { reason: "BadRequest" } }),
  };
}

const badLabelSelectors = [
  "a in",
  "a in (b",
  "a in (b c)",
  "a in (!)",
  ",",
  "a=b,",
  "a==b==c",
  "a b",
  "!!a",
  "!a=b",
  "-a=b",
  "a/b/c",
  "a=-b",
];
const badFieldSelectors = ["metadata.name", "spec.nothing=x", "metadata.name=a=b"];
const badSelectors: Case[] = [
  ...badLabelSelectors.map((selector) => badSelector("labelSelector", selector)),
  ...badFieldSelectors.map((selector) => badSelector("fieldSelector", selector)),
];

/**
 * Returns a case about the objects that a label selector selects. The four objects are `a`, `ab` (also b=2), `b`
 * (b=10) and `none`.
 */
function selects(selector: string, ...expected: string[]): Case {
  return {
    situation: `labelSelector ${JSON.stringify(selector)} → ${expected.join(", ") || "nothing"}`,
    before: (name) =>
      [
        labelled(`${name}-a`, { case: name, a: "1" }),
        labelled(`${name}-ab`, { case: name, a: "2", b: "2", "example.com/c": "" }),
        labelled(`${name}-b`, { case: name, b: "10", in: "notin" }),
        labelled(`${name}-none`, { case: name }),
      ].map((body) => ({ method: "POST", path: accounts, body })),
    request: (name) => ({ path: `${accounts}?${query({ labelSelector: `case=${name},${selector}` })}` }),
    outcome: (name) => ({
      code: 200,
      body: { items: expected.map((suffix) => ({ metadata: { name: `${name}-${suffix}` } })) },
    }),
  };
}

const selecting: Case[] = [
  selects("a", "a", "ab"),
  selects("!a", "b", "none"),
  selects("a=1", "a"),
  selects("a == 1", "a"),
  selects("a!=1", "ab", "b", "none"),
  selects("a in (1,3)", "a"),
  selects("a in (1, 2),b", "ab"),
  selects("a notin (1)", "ab", "b", "none"),
  selects("a in ()"),
  selects("example.com/c in (,x)", "ab"),
  selects("example.com/c=", "ab"),
  selects("in in (notin,in)", "b"),
  selects(" a , b ", "ab"),
];

const tooLarge = {
  code: 504,
  headers: { "retry-after": "1" },
  body: {
    status: "Failure",
    message: expect.stringMatching(/^Timeout: Too large resource version: 99999999, current: \d+$/),
    reason: "Timeout",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
    code: 504,
  },
};

const future = "resourceVersion=99999999";

const revisions: Case[] = [
  {
    situation: "a resourceVersion that is ahead of the server → 504, in each way of asking for it",
    run: async (server) => {
      const paths = [
        `${leases}?${future}`,
        `${leases}?${future}&limit=5`,
        `/api/v1/namespaces/default?${future}`,
      ];
      // Sends all requests at the same time, because a real server delays each answer until its cache is new
      // enough.
      await Promise.all(
        paths.map(async (path) => expect(await send(server, { path })).toMatchObject(tooLarge)),
      );
    },
  },
  {
    situation: "any revision is served whole, whatever the limit",
    run: async (server, name) => {
      for (const suffix of ["a", "b"]) {
        const body = labelled(`${name}-${suffix}`, { case: name });
        await send(server, { method: "POST", path: accounts, body });
      }
      const mine = `${accounts}?labelSelector=case=${name}`;
      // Waits until the cache has the new objects: a request for any revision may return an earlier state of them.
      const { body: now } = await send(server, { path: mine });
      await send(server, { path: `${mine}&resourceVersion=${now.metadata.resourceVersion}` });
      const { body } = await send(server, { path: `${mine}&limit=1&resourceVersion=0` });
      expect(body["items"]).toHaveLength(2);
    },
  },
];

const fields: Case[] = [
  {
    situation: "two fields that no object has both of",
    request: () => ({ path: `${events}?fieldSelector=metadata.name=a,metadata.name=b` }),
    outcome: () => ({ code: 200, body: { items: [] } }),
  },
  {
    situation: "an object at any resourceVersion",
    request: () => ({ path: "/api/v1/namespaces/default?resourceVersion=0" }),
    outcome: () => ({ code: 200, body: { metadata: { name: "default" } } }),
  },
];

export const listing: Case[] = [...selecting, ...badSelectors, ...fields, ...revisions];
