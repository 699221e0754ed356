// Tests the embedded apiserver's own behaviour, and the cases where a clock, a restart or a limit matters.
// contract.test.ts tests the behaviour that a real apiserver has too.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createApiserver } from "../../../../infra/local/apiserver/apiserver.ts";
import { maxBodyBytes } from "../../../../infra/local/apiserver/write/read-object.ts";
import { leewayMs } from "../../../../infra/local/apiserver/access/service-account-tokens.ts";
import { openStore, type Store } from "../../../../infra/local/apiserver/store.ts";
import {
  type EmbeddedServer,
  embeddedServer,
  manualTimers,
  send,
  startMs,
  type TestServer,
} from "./test-server.ts";

const nodes = "/api/v1/nodes";

let server: EmbeddedServer;
beforeEach(() => {
  server = embeddedServer();
});
afterEach(() => server.close());

function createNode(name: string, labels: Record<string, string> = {}) {
  return send(server, { method: "POST", path: nodes, body: { metadata: { name, labels } } });
}

describe("metadata", () => {
  test("a new object carries the server's time and who wrote it", async () => {
    const { body } = await createNode("a", { team: "x" });
    expect(body.metadata).toMatchObject({
      creationTimestamp: "2026-03-01T10:00:00Z",
      managedFields: [
        { manager: "test", operation: "Update", apiVersion: "v1", time: "2026-03-01T10:00:00Z" },
      ],
    });
  });

  test("another writer through another path gets an entry of its own, with its time", async () => {
    await createNode("a", { team: "x" });
    server.clock.ms += 61_000;
    const { body } = await send(server, {
      method: "PATCH",
      path: `${nodes}/a/status?fieldManager=rollcall.test`,
      type: "strategic",
      body: { status: { capacity: { cpu: "1" } } },
    });
    expect(body.metadata.managedFields).toMatchObject([
      { manager: "test", time: "2026-03-01T10:00:00Z" },
      { manager: "rollcall.test", time: "2026-03-01T10:01:01Z", subresource: "status" },
    ]);
  });

  test("every write of any kind takes the next resourceVersion", async () => {
    const first = await createNode("a");
    const second = await send(server, {
      method: "POST",
      path: "/api/v1/namespaces/default/serviceaccounts",
      body: { metadata: { name: "c" } },
    });
    const versions = [first, second].map(({ body }) => Number(body.metadata.resourceVersion));
    expect(versions[1]).toBe((versions[0] ?? 0) + 1);
  });

  test("an object's text has one order of fields, whoever wrote it last: the Worker compares texts", async () => {
    const body = {
      status: { phase: "Running", capacity: { cpu: "1" } },
      metadata: { labels: { a: "b" }, name: "a" },
    };
    const made = await send(server, { method: "POST", path: nodes, body });
    const patch = { status: { phase: "Pending" } };
    const path = `${nodes}/a/status`;
    const patched = await send(server, { method: "PATCH", path, type: "strategic", body: patch });
    const changing = new Set(["managedFields", "resourceVersion", "phase"]);
    const orderOf = (text: string) =>
      JSON.stringify(JSON.parse(text), (key, value: unknown) => (changing.has(key) ? 0 : value));
    expect(orderOf(patched.text)).toBe(orderOf(made.text));
  });
});

describe("system namespaces", () => {
  test("are there from the start", async () => {
    const { body } = await send(server, { path: "/api/v1/namespaces" });
    expect(body["items"]).toMatchObject(
      ["default", "kube-node-lease", "kube-public", "kube-system"].map((name) => ({
        metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
        status: { phase: "Active" },
      })),
    );
  });
});

describe("a namespace that is deleted", () => {
  test("goes at once, with what is in it", async () => {
    const path = "/api/v1/namespaces/brief";
    await send(server, { method: "POST", path: "/api/v1/namespaces", body: { metadata: { name: "brief" } } });
    await send(server, {
      method: "POST",
      path: `${path}/serviceaccounts`,
      body: { metadata: { name: "a" } },
    });
    expect(await send(server, { method: "DELETE", path })).toMatchObject({ code: 200 });
    expect(await send(server, { path })).toMatchObject({ code: 404 });
    expect(await send(server, { path: `${path}/serviceaccounts/a` })).toMatchObject({ code: 404 });
  });

  test("is not one that the cluster cannot do without", async () => {
    const refused = await send(server, { method: "DELETE", path: "/api/v1/namespaces/default" });
    expect(refused).toMatchObject({ code: 403, body: { reason: "Forbidden" } });
  });
});

describe("tokens", () => {
  async function issueToken(): Promise<string> {
    const path = "/api/v1/namespaces/default/serviceaccounts";
    await send(server, { method: "POST", path, body: { metadata: { name: "worker" } } });
    const body = { spec: { expirationSeconds: 600 } };
    const { body: request } = await send(server, { method: "POST", path: `${path}/worker/token`, body });
    const status = request["status"];
    return typeof status === "object" && status !== null && "token" in status ? String(status.token) : "";
  }

  test("a service account's token is good until it has expired, and a minute longer, for clocks differ", async () => {
    const token = await issueToken();
    server.clock.ms = startMs + 600_000 + leewayMs;
    expect(await send(server, { path: "/api", token })).toMatchObject({ code: 200 });
    server.clock.ms += 1;
    expect(await send(server, { path: "/api", token })).toMatchObject({ code: 401 });
  });

  test("a token dies with its account, also when that is made again", async () => {
    const token = await issueToken();
    const path = "/api/v1/namespaces/default/serviceaccounts";
    await send(server, { method: "DELETE", path: `${path}/worker` });
    expect(await send(server, { path: nodes, token })).toMatchObject({ code: 401 });
    await send(server, { method: "POST", path, body: { metadata: { name: "worker" } } });
    expect(await send(server, { path: nodes, token })).toMatchObject({ code: 401 });
  });
});

describe("limits", () => {
  /** Returns a Node as JSON text with this number of bytes. */
  function nodeOfBytes(bytes: number): string {
    const text = (unknown: string) => JSON.stringify({ metadata: { name: "big" }, unknown });
    return text("x".repeat(bytes - text("").length));
  }

  test("a body at the limit is read", async () => {
    const body = nodeOfBytes(maxBodyBytes);
    expect(await send(server, { method: "POST", path: nodes, body })).toMatchObject({ code: 201 });
  });

  test("a body just over the limit is refused, announced or not", async () => {
    const sent = { method: "POST", path: nodes, body: nodeOfBytes(maxBodyBytes + 1) };
    const announced = { ...sent, headers: { "content-length": String(maxBodyBytes + 1) } };
    for (const each of [sent, announced]) {
      expect(await send(server, each)).toMatchObject({
        code: 413,
        body: {
          reason: "RequestEntityTooLarge",
          message: `Request entity too large: limit is ${maxBodyBytes}`,
        },
      });
    }
  });
});

describe("storage", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "apiserver-store-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  function reopen(): { store: Store; server: TestServer } {
    const store = openStore(join(dir, "db"));
    const { fetch } = createApiserver({
      store,
      adminToken: "t",
      now: () => new Date(startMs),
      uuid: () => crypto.randomUUID(),
      random: Math.random,
      after: manualTimers().after,
    });
    return { store, server: { url: "https://127.0.0.1:1", token: "t", fetch } };
  }

  test("objects and the counter outlive the process", async () => {
    const first = reopen();
    await send(first.server, { method: "POST", path: nodes, body: { metadata: { name: "a" } } });
    const { text } = await send(first.server, { path: `${nodes}/a` });
    const revision = first.store.revision();
    first.store.close();
    const second = reopen();
    expect((await send(second.server, { path: `${nodes}/a` })).text).toBe(text);
    expect(second.store.revision()).toBe(revision);
    second.store.close();
  });

  test("the revision of a removal outlives the process too", async () => {
    const first = reopen();
    await send(first.server, { method: "POST", path: nodes, body: { metadata: { name: "a" } } });
    await send(first.server, { method: "DELETE", path: `${nodes}/a` });
    const revision = first.store.revision();
    first.store.close();
    const second = reopen();
    expect(second.store.revision()).toBe(revision);
    second.store.close();
  });

  test("a watch from before the restart has to list again", async () => {
    const first = reopen();
    const { body } = await send(first.server, { path: nodes });
    await send(first.server, { method: "POST", path: nodes, body: { metadata: { name: "a" } } });
    first.store.close();
    const second = reopen();
    const path = `${nodes}?watch=true&resourceVersion=${body.metadata.resourceVersion}`;
    const answer = await send(second.server, { path });
    expect(answer).toMatchObject({
      code: 200,
      body: { type: "ERROR", object: { code: 410, reason: "Expired" } },
    });
    second.store.close();
  });
});

describe("discovery", () => {
  test.each([
    { path: "/api", body: { kind: "APIVersions", versions: ["v1"] } },
    { path: "/apis", body: { kind: "APIGroupList" } },
    { path: "/apis/coordination.k8s.io", body: { kind: "APIGroup", name: "coordination.k8s.io" } },
    {
      path: "/apis/coordination.k8s.io/v1",
      body: { kind: "APIResourceList", resources: [{ name: "leases", kind: "Lease", namespaced: true }] },
    },
    { path: "/openapi/v3", body: { paths: { "api/v1": { serverRelativeURL: "/openapi/v3/api/v1" } } } },
  ])("$path", async ({ path, body }) => {
    expect(await send(server, { path })).toMatchObject({ code: 200, body });
  });
});
