// Lists watches that the embedded and a real apiserver must answer alike: their start, their events, their format,
// and their end.
import { expect } from "vitest";
import { type Sent, send, type TestServer, toRequest } from "../test-server.ts";
import { type Case, accounts, nodes, type ScenarioCase } from "./case.ts";

interface Event {
  type: string;
  object: {
    kind: string;
    metadata: { name?: string; resourceVersion: string; annotations?: Record<string, string> };
    [field: string]: unknown;
  };
}

/** An open watch. */
interface Watching {
  response: Response;
  /** Resolves with the next event; undefined after the watch has ended. */
  next: () => Promise<Event | undefined>;
  /** Resolves with the next event's type and its object's name. */
  nextName: () => Promise<string>;
  stop: () => Promise<void>;
}

export async function watch(
  server: TestServer,
  path: string,
  headers: Record<string, string> = {},
): Promise<Watching> {
  const response = await server.fetch(toRequest(server, { path, headers }));
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const next = async (): Promise<Event | undefined> => {
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) return undefined;
      text += decoder.decode(value, { stream: true });
    }
    const end = text.indexOf("\n");
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return JSON.parse(line);
  };
  const nextName = async () => {
    const event = await next();
    return event ? `${event.type} ${event.object.metadata.name ?? ""}` : "over";
  };
  return { response, next, nextName, stop: async () => await reader.cancel() };
}

async function make(server: TestServer, sent: Sent): Promise<string> {
  const { code, text, body } = await send(server, sent);
  expect(code, text).toBeLessThan(300);
  return body.metadata.resourceVersion ?? "";
}

function node(name: string): Sent {
  return { method: "POST", path: nodes, body: { metadata: { name } } };
}

function map(name: string, labels: Record<string, string> = {}): Sent {
  return { method: "POST", path: accounts, body: { metadata: { name, labels } } };
}

function relabelled(name: string, labels: Record<string, string | null>): Sent {
  return {
    method: "PATCH",
    path: `${accounts}/${name}`,
    type: "merge",
    body: { metadata: { labels } },
  };
}

function deleted(name: string): Sent {
  return { method: "DELETE", path: `${accounts}/${name}` };
}

/** Returns the path of a watch for the objects of one case, whose label is the case's name. */
function selected(name: string, rest = ""): string {
  return `${accounts}?watch=true&labelSelector=case=${name}${rest}`;
}

const starting: ScenarioCase[] = [
  {
    situation: "from a resourceVersion: every later change, in order",
    run: async (server, name) => {
      const from = await make(server, map(`${name}-a`, { case: name }));
      await make(server, map(`${name}-b`, { case: name }));
      const watching = await watch(server, selected(name, `&resourceVersion=${from}`));
      expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
      await make(server, relabelled(`${name}-a`, { x: "1" }));
      expect(await watching.nextName()).toBe(`MODIFIED ${name}-a`);
      const revision = await make(server, relabelled(`${name}-b`, { x: "1" }));
      expect((await watching.next())?.object.metadata.resourceVersion).toBe(revision);
      await send(server, deleted(`${name}-b`));
      const last = await watching.next();
      expect(last).toMatchObject({ type: "DELETED", object: { metadata: { name: `${name}-b` } } });
      expect(Number(last?.object.metadata.resourceVersion)).toBeGreaterThan(Number(revision));
      await watching.stop();
    },
  },
  ...["", "&resourceVersion=0", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"].map(
    (query): ScenarioCase => ({
      situation: `from ${query || "nowhere in particular"}: what is there, then changes`,
      run: async (server, name) => {
        await make(server, map(`${name}-a`, { case: name }));
        const watching = await watch(server, selected(name, query));
        expect(await watching.nextName()).toBe(`ADDED ${name}-a`);
        await make(server, map(`${name}-b`, { case: name }));
        expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
        await watching.stop();
      },
    }),
  ),
  {
    situation: "sendInitialEvents=false: only what comes",
    run: async (server, name) => {
      await make(server, map(`${name}-a`, { case: name }));
      const query = "&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
      const watching = await watch(server, selected(name, query));
      await make(server, map(`${name}-b`, { case: name }));
      expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
      await watching.stop();
    },
  },
  {
    situation: "from a revision that is yet to come: nothing before it",
    run: async (server, name) => {
      const revision = Number(await make(server, map(`${name}-a`, { case: name })));
      const watching = await watch(
        server,
        selected(name, `&resourceVersion=${revision + 1_000_000}&timeoutSeconds=1`),
      );
      await make(server, map(`${name}-b`, { case: name }));
      server.pass?.(1_000);
      expect(await watching.nextName()).toBe("over");
    },
  },
];

/** A case about revision 1, which every server under test has forgotten. */
const forgotten: ScenarioCase = {
  situation: "from a revision that is forgotten: an error of 410 as the only event",
  run: async (server) => {
    const watching = await watch(server, `${nodes}?watch=1&resourceVersion=1&timeoutSeconds=60`);
    expect(watching.response.status).toBe(200);
    expect(await watching.next()).toMatchObject({
      type: "ERROR",
      object: {
        kind: "Status",
        code: 410,
        reason: "Expired",
        message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
      },
    });
    expect(await watching.next()).toBeUndefined();
  },
};

const bookmarks: ScenarioCase[] = [
  {
    situation: "allowWatchBookmarks: a bookmark shortly before the end, up to which nothing was missed",
    run: async (server, name) => {
      const from = await make(server, node(`${name}-a`));
      const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${from}&timeoutSeconds=4`;
      const selector = encodeURIComponent(`rollcall.dev/deployment=${name}`);
      const watching = await watch(server, `${nodes}?${query}&labelSelector=${selector}`);
      const unseen = await make(server, node(`${name}-b`));
      server.pass?.(4_000);
      const bookmark = (await watching.next())!;
      expect(bookmark.type).toBe("BOOKMARK");
      const { resourceVersion, annotations } = bookmark.object.metadata;
      expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(unseen));
      expect(annotations).toBeUndefined();
      // A real server sends another bookmark if the first bookmark was early.
      expect(["BOOKMARK", undefined]).toContain((await watching.next())?.type);
      await watching.stop();
    },
  },
  ...["", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"].map((query): ScenarioCase => ({
    situation: `allowWatchBookmarks${query}: a bookmark ends the initial events`,
    run: async (server, name) => {
      const revision = await make(server, map(`${name}-a`, { case: name }));
      const watching = await watch(server, selected(name, `&allowWatchBookmarks=true${query}`));
      expect(await watching.nextName()).toBe(`ADDED ${name}-a`);
      const bookmark = await watching.next();
      expect(bookmark).toEqual({
        type: "BOOKMARK",
        object: {
          kind: "ServiceAccount",
          apiVersion: "v1",
          metadata: {
            resourceVersion: expect.stringMatching(/^\d+$/),
            annotations: { "k8s.io/initial-events-end": "true" },
          },
        },
      });
      const { resourceVersion } = bookmark!.object.metadata;
      expect(Number(resourceVersion)).toBeGreaterThanOrEqual(Number(revision));
      await make(server, map(`${name}-b`, { case: name }));
      expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
      await watching.stop();
    },
  })),
  {
    situation: "a bookmark's object is an empty one of the kind",
    run: async (server, name) => {
      const query = `watch=true&allowWatchBookmarks=true&labelSelector=case=${name}`;
      const watching = await watch(server, `${nodes}?${query}`);
      const { object } = (await watching.next())!;
      expect(object).toMatchObject({ kind: "Node", spec: {}, status: { nodeInfo: { machineID: "" } } });
      await watching.stop();
    },
  },
];

const selecting: ScenarioCase[] = [
  {
    situation: "an object that comes into a selector's view is ADDED, one that leaves it DELETED, as it was",
    run: async (server, name) => {
      const from = await make(server, map(`${name}-a`));
      const watching = await watch(server, selected(name, `&resourceVersion=${from}`));
      await make(server, relabelled(`${name}-a`, { case: name }));
      expect(await watching.nextName()).toBe(`ADDED ${name}-a`);
      const revision = await make(server, relabelled(`${name}-a`, { case: "other" }));
      expect(await watching.next()).toMatchObject({
        type: "DELETED",
        object: { metadata: { labels: { case: name }, resourceVersion: revision } },
      });
      await send(server, deleted(`${name}-a`));
      await make(server, map(`${name}-b`, { case: name }));
      expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
      await watching.stop();
    },
  },
  {
    situation: "the same for who comes back from a revision of before",
    run: async (server, name) => {
      const from = await make(server, map(`${name}-a`));
      await make(server, relabelled(`${name}-a`, { case: name }));
      await make(server, relabelled(`${name}-a`, { case: name, x: "1" }));
      await make(server, relabelled(`${name}-a`, { case: "other" }));
      const watching = await watch(server, selected(name, `&resourceVersion=${from}`));
      expect(await watching.nextName()).toBe(`ADDED ${name}-a`);
      expect(await watching.nextName()).toBe(`MODIFIED ${name}-a`);
      expect(await watching.next()).toMatchObject({
        type: "DELETED",
        object: { metadata: { labels: { case: name, x: "1" } } },
      });
      await watching.stop();
    },
  },
  {
    situation: "one name by field selector",
    run: async (server, name) => {
      const from = await make(server, map(`${name}-a`));
      const path = `${accounts}?watch=true&fieldSelector=metadata.name=${name}-b&resourceVersion=${from}`;
      const watching = await watch(server, path);
      await make(server, relabelled(`${name}-a`, { x: "1" }));
      await make(server, map(`${name}-b`));
      expect(await watching.nextName()).toBe(`ADDED ${name}-b`);
      await watching.stop();
    },
  },
  {
    situation: "a name in the path and watch=true is a get",
    run: async (server, name) => {
      await make(server, map(`${name}-a`));
      const { body } = await send(server, { path: `${accounts}/${name}-a?watch=true` });
      expect(body).toMatchObject({ kind: "ServiceAccount", metadata: { name: `${name}-a` } });
    },
  },
];

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

const showing: ScenarioCase[] = [
  {
    situation: "as Tables: one row each, headers only once",
    run: async (server, name) => {
      await make(server, map(`${name}-a`, { case: name }));
      const watching = await watch(server, selected(name), { accept: `${table},application/json` });
      expect(await watching.next()).toMatchObject({
        type: "ADDED",
        object: {
          kind: "Table",
          columnDefinitions: [{ name: "Name" }, { name: "Age" }],
          rows: [{ cells: [`${name}-a`, expect.any(String)], object: { kind: "PartialObjectMetadata" } }],
        },
      });
      const revision = await make(server, relabelled(`${name}-a`, { x: "1" }));
      expect(await watching.next()).toMatchObject({
        type: "MODIFIED",
        object: { kind: "Table", metadata: { resourceVersion: revision }, columnDefinitions: null },
      });
      await watching.stop();
    },
  },
  {
    situation: "a watch is JSON, one event a line, and never ends by itself before its time",
    run: async (server, name) => {
      const watching = await watch(server, selected(name, "&timeoutSeconds=1"));
      expect(watching.response.headers.get("content-type")).toBe("application/json");
      server.pass?.(1_000);
      expect(await watching.next()).toBeUndefined();
    },
  },
];

export const watching: Case[] = [...starting, forgotten, ...bookmarks, ...selecting, ...showing];
