// Lists requests for lists in pages, for lists at one revision and for a forgotten revision, which the embedded and
// a real apiserver must answer alike.
import { expect } from "vitest";
import { type Received, send, type TestServer } from "../test-server.ts";
import { type Case, failure, namespaces, node, nodes } from "./case.ts";

interface Page extends Received {
  names: string[];
  revision: string;
  token: string | undefined;
}

async function list(
  server: TestServer,
  path: string,
  parameters: Record<string, string | number | undefined>,
): Promise<Page> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, String(value));
  }
  const answer = await send(server, { path: `${path}?${query.toString()}` });
  const { items = [], metadata } = JSON.parse(answer.text);
  return {
    ...answer,
    names: items.map((item: { metadata: { name: string } }) => item.metadata.name),
    revision: metadata.resourceVersion,
    token: metadata.continue,
  };
}

async function makeNodes(server: TestServer, name: string, letters: string): Promise<string[]> {
  const names = letters.split("").map((letter) => `${name}-${letter}`);
  for (const each of names) {
    const body = node(each, {}, { labels: { case: name, name: each } });
    expect(await send(server, { method: "POST", path: nodes, body })).toMatchObject({ code: 201 });
  }
  return names;
}

function relabel(name: string, labels: Record<string, string>) {
  return { method: "PATCH", path: `${nodes}/${name}`, type: "merge", body: { metadata: { labels } } };
}

/** Makes accounts in a namespace that no other case uses. Returns the path of the accounts. */
async function makeAccounts(server: TestServer, namespace: string, letters: string): Promise<string> {
  const path = `${namespaces}/${namespace}/serviceaccounts`;
  await send(server, { method: "POST", path: namespaces, body: { metadata: { name: namespace } } });
  for (const letter of letters) {
    const body = { metadata: { name: letter } };
    expect(await send(server, { method: "POST", path, body })).toMatchObject({ code: 201 });
  }
  return path;
}

/** Reads all pages of a list, one after the other. */
async function pages(
  server: TestServer,
  path: string,
  parameters: Record<string, string | number>,
): Promise<Page[]> {
  const all = [await list(server, path, parameters)];
  while (all.at(-1)?.token) {
    const { resourceVersion: _, ...rest } = parameters;
    all.push(await list(server, path, { ...rest, continue: all.at(-1)?.token }));
  }
  return all;
}

const paging: Case[] = [
  {
    situation: "each page has as many as the limit says, and where the rest begins; the last one does not",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "abcde");
      const found = await pages(server, path, { limit: 2 });
      expect(found.map(({ names }) => names)).toEqual([["a", "b"], ["c", "d"], ["e"]]);
      const remaining = found.map(({ text }) => JSON.parse(text).metadata.remainingItemCount);
      expect(remaining).toEqual([3, 1, undefined]);
      expect(new Set(found.map(({ revision }) => revision)).size).toBe(1);
    },
  },
  {
    situation: "a limit that is as large as the list, or larger: one page",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "ab");
      for (const limit of [2, 3, 0, -1]) {
        expect(await list(server, path, { limit })).toMatchObject({ names: ["a", "b"], token: undefined });
      }
    },
  },
  {
    situation: "the limit of a page may change",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "abcd");
      const { token } = await list(server, path, { limit: 1 });
      const rest = await list(server, path, { limit: 500, continue: token });
      expect(rest).toMatchObject({ names: ["b", "c", "d"], token: undefined });
      expect((await list(server, path, { continue: token })).names).toEqual(["b", "c", "d"]);
    },
  },
  {
    situation: "pages of a label selector: no more than the limit, and nobody says how many are left",
    run: async (server, name) => {
      const names = await makeNodes(server, name, "abcde");
      await send(server, relabel(`${name}-b`, { case: "other" }));
      const found = await pages(server, nodes, { labelSelector: `case=${name}`, limit: 2 });
      expect(found.flatMap((page) => page.names)).toEqual(names.filter((each) => each !== `${name}-b`));
      for (const page of found) {
        expect(page.names.length).toBeLessThanOrEqual(2);
        expect(page.text).not.toContain("remainingItemCount");
      }
    },
  },
  {
    situation: "pages over all namespaces, in the order of namespace and name",
    run: async (server, name) => {
      for (const suffix of ["x", "y"]) await makeAccounts(server, `${name}-${suffix}`, "ab");
      const all = await pages(server, "/api/v1/serviceaccounts", { limit: 1 });
      const own = all.flatMap(({ body }) => body["items"] as { metadata: Record<string, string> }[]);
      const texts = own.map(({ metadata }) => `${metadata["namespace"]}/${metadata["name"]}`);
      expect(texts.filter((text) => text.startsWith(name) && !text.endsWith("default"))).toEqual([
        `${name}-x/a`,
        `${name}-x/b`,
        `${name}-y/a`,
        `${name}-y/b`,
      ]);
    },
  },
  {
    situation: "later pages show the revision of the first one, whatever has happened since",
    run: async (server, name) => {
      const [, , c, d] = await makeNodes(server, name, "abcd");
      const selector = { labelSelector: `case=${name}` };
      const first = await list(server, nodes, { ...selector, limit: 1 });
      await makeNodes(server, name, "e");
      for (const change of [
        relabel(`${name}-b`, { extra: "later" }),
        relabel(`${name}-b`, { extra: "last" }),
        relabel(c ?? "", { case: "other" }),
        { method: "DELETE", path: `${nodes}/${d}` },
      ]) {
        expect(await send(server, change)).toMatchObject({ code: 200 });
      }
      const rest = await list(server, nodes, { ...selector, continue: first.token });
      expect(rest.names).toEqual([`${name}-b`, c, d]);
      expect(rest.text).not.toContain('"extra"');
      expect(rest.revision).toBe(first.revision);
      const latest = await list(server, nodes, selector);
      expect(latest.names).toEqual([`${name}-a`, `${name}-b`, `${name}-e`]);
      // A list at a revision must contain the object as it was at that revision.
      const [b] = rest.body["items"] as { metadata: { resourceVersion: string } }[];
      expect(Number(b?.metadata.resourceVersion)).toBeLessThanOrEqual(Number(first.revision));
    },
  },
  {
    situation: "a Table in pages",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "abc");
      const headers = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
      const { body } = await send(server, { path: `${path}?limit=2`, headers });
      expect(body).toMatchObject({
        kind: "Table",
        metadata: { continue: expect.any(String), remainingItemCount: 1 },
        rows: [{ cells: ["a", expect.any(String)] }, { cells: ["b", expect.any(String)] }],
      });
    },
  },
];

const revisions: Case[] = [
  {
    situation: "resourceVersion=0 and a limit: everything at once",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "abc");
      // A list without a revision waits until the cache has all objects.
      await list(server, path, {});
      expect(await list(server, path, { resourceVersion: 0, limit: 1 })).toMatchObject({
        names: ["a", "b", "c"],
        token: undefined,
      });
    },
  },
];

function tokenOf(fields: object): string {
  return Buffer.from(JSON.stringify(fields)).toString("base64url");
}

const metaVersion = "meta.k8s.io/v1";
const continueExpired = expect.stringMatching(
  /^The provided continue parameter is too old to display a consistent list result\./,
);

/** Cases about revision 1, which every server under test has forgotten. */
const forgotten: Case[] = [
  {
    situation: "a list of a revision that is forgotten → 410",
    request: () => ({ path: `${nodes}?resourceVersion=1&resourceVersionMatch=Exact` }),
    outcome: () => failure(410, "Expired", "The resourceVersion for the provided list is too old."),
  },
  {
    situation: "the same, asked for by a limit → 410",
    request: () => ({ path: `${nodes}?resourceVersion=1&limit=500` }),
    outcome: () => failure(410, "Expired", "The resourceVersion for the provided list is too old."),
  },
  {
    situation: "a page of a list that is forgotten → 410, with a token that goes on with what there is",
    run: async (server, name) => {
      const path = await makeAccounts(server, name, "abc");
      const token = tokenOf({ v: metaVersion, rv: 1, start: "b" });
      const refused = await list(server, path, { limit: 1, continue: token });
      expect(refused).toMatchObject({
        code: 410,
        body: { kind: "Status", reason: "Expired", message: continueExpired },
      });
      const rest = await list(server, path, { limit: 1, continue: refused.token });
      expect(rest).toMatchObject({ code: 200, names: ["b"] });
      expect(Number(rest.revision)).toBeGreaterThan(1);
      expect((await list(server, path, { limit: 1, continue: rest.token })).names).toEqual(["c"]);
    },
  },
];

export const pagingLists: Case[] = [...paging, ...revisions, ...forgotten];
