// Tests the requests to the apiserver with the cluster's token, and the result of each answer.
import { describe, expect, it } from "vitest";
import { nodeFeature } from "../../../shared/from-report/node-feature.ts";
import { kubeClient, type KubeConnection } from "../../../worker/kube/kube-client.ts";
import { outlasting } from "../support/clock.ts";

interface Sent {
  url: string;
  init: RequestInit;
}

function clientOf(
  answers: readonly (Response | Error)[],
  nowMs: () => number = () => 0,
  more: Partial<KubeConnection> = {},
) {
  const sent: Sent[] = [];
  const left = [...answers];
  const client = kubeClient({
    fetch: (url, init) => {
      sent.push({ url, init });
      const answer = left.shift() ?? new Error("nothing is left");
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    url: "https://kube.test",
    token: () => "cluster-token",
    fieldManager: "rollcall.a b",
    withinMs: 5000,
    nowMs,
    ...more,
  });
  return { client, sent };
}

const node = { kind: "Node", apiVersion: "v1", metadata: { name: "edge-1", uid: "u-1" } };
const status = (code: number, more = {}) => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  code,
  ...more,
});
const json = (body: unknown, init: ResponseInit = {}) => new Response(JSON.stringify(body), init);

describe("a request", () => {
  it("has the token and a User-Agent, and does not follow a redirect", async () => {
    const { client, sent } = clientOf([json(node)]);
    await client.getNode("edge-1");
    const headers = {
      accept: "application/json",
      authorization: "Bearer cluster-token",
      "user-agent": "rollcall",
    };
    expect(sent).toEqual([
      {
        url: "https://kube.test/api/v1/nodes/edge-1",
        init: { method: "GET", headers, redirect: "manual", signal: expect.any(AbortSignal) as AbortSignal },
      },
    ]);
  });

  it("that writes has its field manager and its content type", async () => {
    const { client, sent } = clientOf([json(node), json(node)]);
    await client.patchNode(node, { metadata: { labels: { a: "b" } } });
    await client.createNode({ metadata: { name: "edge-1" } });
    expect(
      sent.map(({ url, init }) => [init.method, url, new Headers(init.headers).get("content-type")]),
    ).toEqual([
      [
        "PATCH",
        "https://kube.test/api/v1/nodes/edge-1?fieldManager=rollcall.a%20b",
        "application/strategic-merge-patch+json",
      ],
      ["POST", "https://kube.test/api/v1/nodes?fieldManager=rollcall.a%20b", "application/json"],
    ]);
  });

  it.each(["deleteNode", "deleteLease"] as const)("%s deletes that uid alone", async (what) => {
    const { client, sent } = clientOf([json(status(200))]);
    await (what === "deleteNode"
      ? client.deleteNode("edge-1", "u-1")
      : client.deleteLease("ns", "edge-1", "u-1"));
    expect(JSON.parse(sent[0]!.init.body as string)).toMatchObject({ preconditions: { uid: "u-1" } });
  });

  it("that publishes features is a server-side apply without force; the removal deletes that uid alone", async () => {
    const { client, sent } = clientOf([json(node), json(status(200))]);
    const spec = { features: { flags: {}, attributes: {}, instances: {} }, labels: {} };
    const object = nodeFeature({ name: "edge-1", uid: "u-1", namespace: "nfd", deployment: "a b" }, spec);
    await client.applyNodeFeature(object);
    await client.deleteNodeFeature("nfd", "edge-1", "f-1");
    const url = "https://kube.test/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/nfd/nodefeatures/edge-1";
    const query = "?fieldManager=rollcall.a%20b";
    expect(sent.map(({ url, init }) => [init.method, url])).toEqual([
      ["PATCH", url + query],
      ["DELETE", url + query],
    ]);
    const [applied, deleted] = sent.map(({ init }) => init);
    expect(applied?.headers).toMatchObject({ "content-type": "application/apply-patch+yaml" });
    expect(JSON.parse(applied?.body as string)).toEqual(object);
    expect(JSON.parse(deleted?.body as string)).toMatchObject({ preconditions: { uid: "f-1" } });
  });

  it("that patches a status has the expected uid as a precondition, in addition to the patch", async () => {
    const { client, sent } = clientOf([json(node), json(node), json(node)]);
    await client.patchNodeStatus(node, { metadata: { annotations: { a: "b" } } });
    await client.patchNodeStatus(node, { status: {} });
    await client.patchNodeStatus({ metadata: { name: "edge-1" } }, { status: {} });
    expect(sent.map(({ init }) => JSON.parse(init.body as string) as unknown)).toEqual([
      { metadata: { annotations: { a: "b" }, uid: "u-1" } },
      { status: {}, metadata: { uid: "u-1" } },
      { status: {} },
    ]);
  });

  it.each([
    [false, "https://kube.test/api/v1/nodes/edge-1"],
    [true, "https://kube.test/api/v1/nodes/edge-1?resourceVersion=0"],
  ])("that may come from the cache: %s → %s", async (fromCache, url) => {
    const { client, sent } = clientOf([json(node)]);
    await client.getNode("edge-1", fromCache);
    expect(sent[0]!.url).toBe(url);
  });
});

describe("an answer", () => {
  const unanswered = (message: string) => ({ ok: false, error: { kind: "unanswered", message } });
  const withoutObject = (code: number) => unanswered(`HTTP ${code} without an object of the apiserver's`);
  // The error if another server answers in the apiserver's place. not-the-apiserver.test.ts tests the error's message.
  const byAnother = (code: number) => ({
    ok: false,
    error: {
      kind: "unanswered",
      message: expect.stringMatching(`^HTTP ${code} without an object of the apiserver's: `) as string,
      cure: expect.any(String) as string,
    },
  });

  it.each([
    ["an object", json(node), { ok: true, value: node }],
    ["an object, at the end of 2xx", json(node, { status: 299 }), { ok: true, value: node }],
    ["an object with 300", json(node, { status: 300 }), byAnother(300)],
    ["a redirect", new Response(null, { status: 302, headers: { location: "/" } }), byAnother(302)],
    ["an object without metadata", json({ kind: "Node" }), withoutObject(200)],
    ["an object whose metadata is a text", json({ kind: "Node", metadata: "x" }), withoutObject(200)],
    ["an object whose metadata is null", json({ kind: "Node", metadata: null }), withoutObject(200)],
    ["the version", json({ gitVersion: "v1.36.3" }), withoutObject(200)],
    ["a page", new Response("<html>"), withoutObject(200)],
    ["null", json(null), withoutObject(200)],
    ["a number", json(7), withoutObject(200)],
    ["a Status that is no failure", json({ ...status(200), metadata: {} }), withoutObject(200)],
    ["a page with an error", new Response("<html>", { status: 502 }), byAnother(502)],
    ["an object with an error", json(node, { status: 404 }), byAnother(404)],
    [
      "a Status, whose code is the answer's",
      json(status(500, { reason: "NotFound" }), { status: 404 }),
      { ok: false, error: { kind: "status", status: { ...status(404), reason: "NotFound" } } },
    ],
    ["none", new Error("unreachable"), unanswered("unreachable")],
  ])("of %s", async (_, answer, outcome) => {
    const { client } = clientOf([answer]);
    expect(await client.getNode("edge-1")).toEqual(outcome);
  });

  it.each([
    ["the version", json({ gitVersion: "v1.36.3" }), { ok: true, value: { gitVersion: "v1.36.3" } }],
    ["an object", json(node), withoutObject(200)],
    ["a version that is a number", json({ gitVersion: 1 }), withoutObject(200)],
  ])("to the question for the version, of %s", async (_, answer, outcome) => {
    const { client } = clientOf([answer]);
    expect(await client.getVersion()).toEqual(outcome);
  });

  it("of a DELETE is a Status", async () => {
    const { client } = clientOf([json({ ...status(200), metadata: {} })]);
    expect(await client.deleteNode("edge-1", "u-1")).toMatchObject({ ok: true });
  });

  it.each([
    ["that comes when there is no time left", 5000],
    ["that is asked for a moment after", 5001],
  ])("%s → none, and no request", async (_, elapsedMs) => {
    let nowMs = 0;
    const { client, sent } = clientOf([json(node)], () => nowMs);
    nowMs = elapsedMs;
    expect(await client.getNode("edge-1")).toEqual(unanswered("no answer in time"));
    expect(sent).toEqual([]);
  });

  it.each([
    ["a clock that was set back", -60_000],
    ["a moment before the end", 4999],
  ])("at %s → it is asked for", async (_, elapsedMs) => {
    let nowMs = 0;
    const { client } = clientOf([json(node)], () => nowMs);
    nowMs = elapsedMs;
    expect(await client.getNode("edge-1")).toMatchObject({ ok: true });
  });

  it.each([
    ["later than there is time for", 429, "5"],
    ["in a way that is no number", 503, "soon"],
    ["before now", 503, "-1"],
    ["of an answer that is no overload", 404, "1"],
    ["just below the errors of a server", 499, "1"],
  ])("that asks to come again %s → is the answer", async (_, code, retryAfter) => {
    const { client, sent } = clientOf([
      json(status(code), { status: code, headers: { "retry-after": retryAfter } }),
    ]);
    expect(await client.getNode("edge-1")).toMatchObject({ ok: false, error: { status: { code } } });
    expect(sent).toHaveLength(1);
  });
});

describe("a request that was answered 401", () => {
  const unauthorized = () => json(status(401, { reason: "Unauthorized" }), { status: 401 });
  const tokensOf = (sent: readonly Sent[]) =>
    sent.map(({ init }) => new Headers(init.headers).get("authorization")?.slice("Bearer ".length));
  const REFUSED = { ok: false, error: { status: { code: 401 } } };

  it("is repeated once with the next token", async () => {
    const refused: string[] = [];
    const otherToken = (token: string) => Promise.resolve((refused.push(token), "another"));
    const { client, sent } = clientOf([unauthorized(), json(node)], undefined, { otherToken });
    expect(await client.getNode("edge-1")).toEqual({ ok: true, value: node });
    expect([tokensOf(sent), refused]).toEqual([["cluster-token", "another"], ["cluster-token"]]);
  });

  it.each<[string, Partial<KubeConnection>, number]>([
    ["there is one token alone → not again", {}, 1],
    ["there is no other now → not again", { otherToken: () => Promise.resolve(null) }, 1],
    [
      "the other one is refused as well → not a third time",
      { otherToken: () => Promise.resolve("another") },
      2,
    ],
    [
      "there is no request left for it → not again",
      { otherToken: () => Promise.resolve("another"), mayAsk: atMost(1) },
      1,
    ],
    [
      "the other one does not come → not again, in time",
      { otherToken: () => new Promise(() => undefined), withinMs: 20 },
      1,
    ],
  ])("%s", async (_, more, requests) => {
    const { client, sent } = clientOf([unauthorized(), unauthorized(), json(node)], undefined, more);
    const answer = await outlasting(client.getNode("edge-1"));
    expect(answer.ok).toBe(false);
    expect(answer).toMatchObject(more.mayAsk ? { error: { kind: "unanswered", isUnsent: true } } : REFUSED);
    expect(sent).toHaveLength(requests);
  });

  it("a token that has expired → another one is requested before the first request", async () => {
    const refused: string[] = [];
    const otherToken = (token: string) => Promise.resolve((refused.push(token), "another"));
    const more = { otherToken, hasEnded: () => true };
    const { client, sent } = clientOf([json(node)], undefined, more);
    expect(await client.getNode("edge-1")).toEqual({ ok: true, value: node });
    expect([tokensOf(sent), refused]).toEqual([["another"], ["cluster-token"]]);
  });

  it("a token that has expired, without another one → sent all the same, since clocks differ", async () => {
    const more = { otherToken: () => Promise.resolve(null), hasEnded: () => true };
    const { client, sent } = clientOf([json(node)], undefined, more);
    expect(await client.getNode("edge-1")).toEqual({ ok: true, value: node });
    expect(tokensOf(sent)).toEqual(["cluster-token"]);
  });

  it.each([
    ["403", json(status(403, { reason: "Forbidden" }), { status: 403 })],
    ["401 by something else than the apiserver", new Response("<html>", { status: 401 })],
  ])("of %s is not one: nobody is asked for a token", async (_, answer) => {
    const otherToken = () => Promise.reject(new Error("asked"));
    const { client, sent } = clientOf([answer, json(node)], undefined, { otherToken });
    expect(await client.getNode("edge-1")).toMatchObject({ ok: false });
    expect(sent).toHaveLength(1);
  });
});

function atMost(times: number): () => boolean {
  let left = times;
  return () => left-- > 0;
}
