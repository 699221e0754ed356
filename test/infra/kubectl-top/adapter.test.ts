// Tests what the adapter refuses, what it passes on, and its answers if a source is down.
// test/neighbours/kubectl-top.test.ts tests it with kubectl and metrics-server on a real apiserver.
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { Adapter } from "../../../infra/kubectl-top/adapter.ts";
import { passedOn } from "../../../infra/kubectl-top/cluster-server.ts";
import { heldTimers } from "../../node-shim/base/timers.ts";
import { cachedFor, isFrontProxy, readFrontProxy } from "../../../infra/kubectl-top/serve.ts";
import type { MachineUsage } from "../../../shared/protocol/fleet-answers.ts";
import { shownUsage, USAGE, usageOf } from "../../../shared/protocol/usage.ts";
import { failure, success } from "../../../shared/result.ts";

const NODES = "/apis/metrics.k8s.io/v1beta1/nodes";
const edge: MachineUsage = {
  name: "edge-1",
  at: "2026-01-01T00:00:00Z",
  ...shownUsage(usageOf(USAGE.map(() => null)), null),
  cpuUsed: 0.5,
  memoryWorkingSetBytes: 2 ** 29,
};
const WORKER = {
  metadata: { name: "worker-1" },
  timestamp: "",
  window: "10s",
  usage: { cpu: "1", memory: "1Gi" },
};
const DOWN = failure({ status: null, message: "does not answer" });

/** What the sources answer in a test, and what they were asked. */
const all = {
  isFrontProxy: true,
  nodes: success({ items: [{ metadata: { name: "edge-1" } }] }) as never,
  usage: success({ machines: [edge], isComplete: true }) as never,
  metricsServer: success({ items: [WORKER] }) as never,
  hangs: false,
  /** The pages before `nodes`. */
  pages: [] as never[],
  asked: [] as string[],
};
let now = { ...all };
beforeEach(() => void (now = { ...all, pages: [], asked: [] }));

const adapter = new Adapter({
  apiserver: {
    getJson: async (path) => {
      now.asked.push(path);
      const page = now.pages.shift();
      // Before the first of two pages, another client asks.
      if (now.pages.length === 1) await once(server, "request");
      return page ?? now.nodes;
    },
  },
  metricsServer: {
    getJson: async () => Promise.resolve(now.metricsServer),
    get: async (path, headers, signal) => {
      now.asked.push(`${path} ${Object.keys(headers).toSorted().join()}`);
      if (now.hangs) await once(signal, "abort");
      if (now.hangs || now.metricsServer === (DOWN as never)) throw new Error("does not answer");
      const headersOfAnswer = { "content-type": "text/x", connection: "close" };
      return Promise.resolve(
        Object.assign(Readable.from(["as it is"]), {
          statusCode: 218,
          headers: headersOfAnswer,
        }) as unknown as IncomingMessage,
      );
    },
  },
  usage: async () => Promise.resolve(now.usage),
  isFrontProxy: () => now.isFrontProxy,
  nowMs: () => 0,
});
const server = createServer((request, response) => void adapter.answer(request, response));
beforeAll(() => new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready)));
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

async function ask(path: string, init: RequestInit = {}) {
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const text = await response.text();
  const { items, message } = (text.startsWith("{") ? JSON.parse(text) : {}) as {
    items?: (typeof WORKER)[];
    message?: string;
  };
  return {
    status: response.status,
    text,
    names: items?.map(({ metadata }) => metadata.name),
    message,
    warning: response.headers.get("warning"),
  };
}

describe("refused", () => {
  it.each(["/apis", NODES, `${NODES}/edge-1`, "/metrics"])("%s from any other client → 401", async (path) => {
    now.isFrontProxy = false;
    expect(await ask(path)).toMatchObject({ status: 401 });
    expect(now.asked).toEqual([]);
  });

  it("probes of the kubelet → answered without a certificate", async () => {
    now.isFrontProxy = false;
    expect(await ask("/readyz")).toMatchObject({ status: 200, text: "ok" });
  });

  it.each(["POST", "PUT", "PATCH", "DELETE"])("%s → 405", async (method) => {
    expect(await ask(NODES, { method })).toMatchObject({ status: 405 });
    expect(now.asked).toEqual([]);
  });

  it.each(["/", "/metrics", "/api/v1/secrets", "/apis/%2e%2e/metrics", "/apis//x", "/apis/a%2fb", "/apisx"])(
    "%s → 404, and nothing is passed on",
    async (path) => {
      expect(await ask(path)).toMatchObject({ status: 404 });
      expect(now.asked).toEqual([]);
    },
  );
});

describe("passed on as it is", () => {
  it.each([
    ["/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=a%3Db", {}],
    ["/openapi/v3/apis/metrics.k8s.io/v1beta1?hash=1", {}],
    [`${NODES}?watch=1`, {}],
    [NODES, { accept: "application/vnd.kubernetes.protobuf" }],
  ])("%s with %j", async (path, headers) => {
    expect(await ask(path, { headers })).toMatchObject({ status: 218, text: "as it is" });
    expect(now.asked[0]?.split(" ")[0]).toBe(path);
  });

  it("a Node that is not ours", async () => {
    now.nodes = success({ items: null }) as never;
    expect(await ask(`${NODES}/worker-1`)).toMatchObject({ status: 218 });
  });

  test("headers → without those of a connection, of users and of credentials", () => {
    const kept = { accept: "a", "accept-encoding": "gzip", "if-none-match": "e", "user-agent": "u" };
    const dropped = { host: "h", connection: "close", authorization: "x", "transfer-encoding": "chunked" };
    const ofUsers = {
      "x-remote-user": "u",
      "x-remote-group": "g",
      "x-remote-extra-a": "b",
      "impersonate-user": "u",
    };
    expect(passedOn({ ...kept, ...dropped, ...ofUsers })).toEqual(kept);
  });
});

describe("our Nodes", () => {
  it("a list → both, and the apiserver applies the selectors to our Nodes", async () => {
    const query = "labelSelector=site%3Db%2Ca&fieldSelector=metadata.name%21%3Dx";
    expect(await ask(`${NODES}?${query}`)).toMatchObject({
      status: 200,
      names: ["edge-1", "worker-1"],
      warning: null,
    });
    const { searchParams } = new URL(now.asked[0] ?? "", "http://apiserver.test");
    expect(searchParams.get("labelSelector")).toBe("rollcall.dev/machine,site=b,a");
    expect(searchParams.get("fieldSelector")).toBe("metadata.name!=x");
  });

  it("thousands of Nodes → pages of 500, and clients at the same time share them", async () => {
    const page = (name: string, next?: string) =>
      success({ metadata: { ...(next && { continue: next }) }, items: [{ metadata: { name } }] }) as never;
    now.pages = [page("edge-0", "a&b"), page("edge-1")];
    const both = ["edge-1", "worker-1"];
    const answers = await Promise.all([ask(NODES), ask(NODES)]);
    expect(answers.map(({ names }) => names)).toEqual([both, both]);
    const queries = now.asked.map((path) => new URL(path, "http://apiserver.test").searchParams);
    expect(queries.map((query) => [query.get("limit"), query.get("continue")])).toEqual([
      ["500", null],
      ["500", "a&b"],
    ]);
    // With it, the apiserver would ignore the limit.
    expect(queries[0]?.has("resourceVersion")).toBe(false);
  });

  it.each<[situation: string, change: object, answer: object]>([
    [
      "the Worker is down",
      { usage: failure("late") },
      { status: 200, names: ["worker-1"], warning: expect.stringContaining("late") },
    ],
    [
      "the apiserver lists no Nodes",
      { nodes: DOWN },
      { status: 200, names: ["worker-1"], warning: expect.stringContaining("does not answer") },
    ],
    [
      "metrics-server is down",
      { metricsServer: DOWN },
      { status: 200, names: ["edge-1"], warning: expect.stringContaining("metrics-server's Nodes") },
    ],
    [
      "both are down",
      { usage: failure("late"), metricsServer: DOWN },
      { status: 503, message: "does not answer; late" },
    ],
    [
      "a wrong selector",
      {
        nodes: failure({ status: 400, message: "bad" }),
        metricsServer: failure({ status: 400, message: "bad" }),
      },
      { status: 400 },
    ],
    [
      "no usage",
      { usage: success({ machines: [], isComplete: true }) },
      { status: 200, names: ["worker-1"], warning: null },
    ],
    [
      "Go's empty lists",
      { nodes: success({ items: null }), metricsServer: success({ items: null }) },
      { status: 200, names: [] },
    ],
    [
      "a gateway does not answer",
      { usage: success({ machines: [], isComplete: false }) },
      { status: 200, names: ["worker-1"], warning: expect.stringContaining("a gateway") },
    ],
  ])("a list, and %s", async (_, change, answer) => {
    Object.assign(now, change);
    expect(await ask(NODES)).toMatchObject(answer);
  });

  it.each<[situation: string, change: object, answer: object]>([
    ["its usage", {}, { status: 200, text: expect.stringContaining('"cpu":"500m"') }],
    [
      "no usage",
      { usage: success({ machines: [], isComplete: true }) },
      { status: 404, message: 'nodemetrics.metrics.k8s.io "edge-1" not found' },
    ],
    ["the Worker is down", { usage: failure("late") }, { status: 503, message: "late" }],
    ["the apiserver is down", { nodes: DOWN }, { status: 218 }],
    ["a gateway does not answer", { usage: success({ machines: [], isComplete: false }) }, { status: 503 }],
  ])("one of ours, and %s", async (_, change, answer) => {
    Object.assign(now, change);
    expect(await ask(`${NODES}/edge-1`)).toMatchObject(answer);
  });
});

describe("metrics-server is down", () => {
  it.each([
    ["/apis/metrics.k8s.io/v1beta1", 200],
    ["/apis", 404],
    ["/apis/metrics.k8s.io/v1beta1/pods", 503],
    ["/openapi/v2", 503],
  ])("%s → %i", async (path, status) => {
    now.metricsServer = DOWN as never;
    expect(await ask(path)).toMatchObject({ status });
  });
});

test.each([
  ["/apis/metrics.k8s.io/v1beta1", 200],
  ["/apis", 404],
])(
  "metrics-server hangs: %s → %i before the apiserver gives up, after five seconds",
  async (path, status) => {
    now.hangs = true;
    const pass = heldTimers();
    const answer = ask(path);
    await once(server, "request");
    pass(3000);
    expect(await answer).toMatchObject({ status });
  },
);

describe("the front proxy", () => {
  const published = (data: object) =>
    readFrontProxy({ getJson: async () => Promise.resolve(success({ data })) });
  const client = (authorized: boolean, CN: string) => {
    return { authorized, getPeerCertificate: () => ({ subject: { CN } }) } as never;
  };

  it("is published by the apiserver", async () => {
    const data = {
      "requestheader-client-ca-file": "PEM",
      "requestheader-allowed-names": '["front-proxy-client"]',
    };
    expect(await published(data)).toEqual(success({ ca: "PEM", names: ["front-proxy-client"] }));
  });

  it("is missing → an error, since any certificate would do", async () => {
    expect(await published({ "client-ca-file": "PEM" })).toMatchObject({ ok: false });
  });

  it.each<[names: string[], authorized: boolean, name: string, is: boolean]>([
    [["front-proxy-client"], true, "front-proxy-client", true],
    [["front-proxy-client"], true, "other", false],
    [["front-proxy-client"], false, "front-proxy-client", false],
    [[], true, "other", true],
    [[], false, "other", false],
  ])("names %j, a certificate of the authority: %s, %s → %s", (names, authorized, name, is) => {
    expect(isFrontProxy(client(authorized, name), { ca: "", names })).toBe(is);
  });
});

test("the usage is read once for all clients of ten seconds", async () => {
  let [reads, nowMs] = [0, 0];
  const read = cachedFor(
    10_000,
    async () => Promise.resolve(++reads),
    () => nowMs,
  );
  const seen = [await Promise.all([read(), read()])];
  for (const ms of [9_999, 10_000]) {
    nowMs = ms;
    seen.push([await read(), 0]);
  }
  expect(seen).toEqual([
    [1, 1],
    [1, 0],
    [2, 0],
  ]);
});
