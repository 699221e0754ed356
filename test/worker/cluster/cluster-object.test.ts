// Tests the cluster object over its storage: which caller gets which token, what outlives evictions and upgrades,
// and when the alarm rings.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ClusterObject } from "../../../worker/cluster/cluster-object.ts";
import { WELL_FOR_MS } from "../../../worker/cluster/node-watch.ts";
import type { Environment } from "../../../worker/env.ts";
import { tokenChainId } from "../../../worker/kube/connect.ts";
import { tokenOf } from "../support/account-tokens.ts";
import { after, eventually, passing, setClock, shift } from "../support/clock.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// The start is in the future, because an alarm that is set for the past would ring immediately.
const START_MS = Date.UTC(2100, 0, 1);
const SECRET = tokenOf(START_MS, DAY_MS, "secret");
const OTHER_SECRET = tokenOf(START_MS, DAY_MS, "other");
const THIRD_SECRET = tokenOf(START_MS, DAY_MS, "third");

beforeEach(() => setClock(START_MS));
afterEach(() => {
  vi.restoreAllMocks();
});

/** Returns an apiserver that answers each TokenRequest with a token that lasts a day. */
function apiserver() {
  const asked: { url: string; authorization: string | null; body: unknown }[] = [];
  const fetch = (url: string, init: RequestInit) => {
    const { method, headers, body } = init;
    asked.push({
      url: `${method} ${url}`,
      authorization: new Headers(headers).get("authorization"),
      body: JSON.parse(body as string),
    });
    const token = tokenOf(Date.now(), DAY_MS, `renewed ${asked.length}`);
    return Promise.resolve(Response.json({ metadata: {}, status: { token } }, { status: 201 }));
  };
  return { asked, fetch };
}

/**
 * Calls `work` with the cluster object of this name, newly started. The object has the secret SECRET and the data
 * that it stored earlier.
 */
function within<T>(
  name: string,
  { fetch }: Pick<ReturnType<typeof apiserver>, "fetch">,
  act: (object: ClusterObject, state: DurableObjectState, own: Environment) => Promise<T>,
  more: Partial<Environment> = {},
): Promise<T> {
  return runInDurableObject(env.CLUSTER.getByName(name), (_, state) => {
    const own = { ...env, KUBE_TOKEN: SECRET, KUBE: { fetch } as unknown as Fetcher, ...more } as Environment;
    return act(new ClusterObject(state, own), state, own);
  });
}

const tokenFor = async (object: ClusterObject, own: Environment, refused?: string) =>
  object.tokenFor(await tokenChainId(own), refused);

describe("tokenFor(), as a machine's object calls it", () => {
  it("before half of the secret's life → the secret, and the alarm is set for that half", async () => {
    const kube = apiserver();
    const alarm = await within("cluster-early", kube, async (object, { storage }, own) => {
      expect(await tokenFor(object, own)).toBe(SECRET);
      return storage.getAlarm();
    });
    expect([alarm, kube.asked]).toEqual([START_MS + 12 * HOUR_MS, []]);
  });

  it("with another secret, apiserver or deployment → no token", async () => {
    const kube = apiserver();
    await within("cluster-foreign", kube, async (object, { storage }, own) => {
      for (const more of [
        { KUBE_TOKEN: OTHER_SECRET },
        { KUBE_URL: "https://other.test" },
        { DEPLOYMENT: "east" },
      ])
        expect(await tokenFor(object, { ...own, ...more })).toBeNull();
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  it.each<[string, object]>([
    ["is empty", { KUBE_URL: "" }],
    ["is absent", { KUBE_URL: undefined }],
  ])("where the apiserver's URL %s → the secret, and no alarm", async (situation, variables) => {
    await within(
      `cluster-nowhere-${situation}`,
      apiserver(),
      async (object, { storage }, own) => {
        expect(await tokenFor(object, own)).toBe(SECRET);
        expect(await storage.getAlarm()).toBeNull();
      },
      variables,
    );
  });
});

describe("the alarm", () => {
  it("renews the token with the rights of infra/rbac → set again for half of the new token's life", async () => {
    const kube = apiserver();
    setClock(START_MS + 12 * HOUR_MS);
    const alarm = await within("cluster-alarm", kube, async (object, { storage }) => {
      await object.alarm();
      return storage.getAlarm();
    });
    expect(kube.asked).toEqual([
      {
        url: "POST https://kube.test/api/v1/namespaces/rollcall-system/serviceaccounts/rollcall/token?fieldManager=rollcall.rollcall",
        authorization: `Bearer ${SECRET}`,
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: {
            audiences: [],
            expirationSeconds: 86_400,
            boundObjectRef: { apiVersion: "v1", kind: "Secret", name: "rollcall" },
          },
        },
      },
    ]);
    expect(alarm).toBe(START_MS + 24 * HOUR_MS);
  });

  it("fails by a bug of the object → set again in five minutes", async () => {
    const alarm = await within("cluster-fault", apiserver(), async (object, { storage }) => {
      storage.sql.exec("DROP TABLE token_chains");
      await object.alarm();
      return storage.getAlarm();
    });
    expect(alarm).toBe(START_MS + 5 * 60_000);
  });

  it("is set already → an earlier request for a token does not set it again", async () => {
    await within("cluster-lazy", apiserver(), async (object, { storage }, own) => {
      await tokenFor(object, own);
      const setAlarm = vi.spyOn(storage, "setAlarm");
      shift(HOUR_MS);
      await tokenFor(object, own);
      expect(setAlarm).not.toHaveBeenCalled();
    });
  });
});

describe("what is stored", () => {
  const renewed = (name: string, kube: ReturnType<typeof apiserver>, more: Partial<Environment> = {}) =>
    within(
      name,
      kube,
      async (object, _, own) => {
        await object.alarm();
        return (await tokenFor(object, own))!;
      },
      more,
    );
  const found = (name: string, more: Partial<Environment> = {}) =>
    within(name, apiserver(), async (object, _, own) => (await tokenFor(object, own))!, more);
  const rows = (name: string) =>
    within(name, apiserver(), (_, { storage }) =>
      Promise.resolve(storage.sql.exec("SELECT * FROM token_chains").toArray()),
    );

  it("a token → found after an eviction, and never stored in plain text", async () => {
    setClock(START_MS + 12 * HOUR_MS);
    const token = await renewed("cluster-evicted", apiserver());
    expect(await found("cluster-evicted")).toBe(token);
    const text = JSON.stringify(await rows("cluster-evicted"));
    expect([
      text.length > 100,
      text.includes(token),
      text.includes(token.split(".")[1]!),
      text.includes(SECRET),
    ]).toEqual([true, false, false, false]);
  });

  it("the token in another object's row, or in a damaged row → not used", async () => {
    setClock(START_MS + 12 * HOUR_MS);
    await renewed("cluster-swapped", apiserver());
    await renewed("cluster-swapped", apiserver(), { KUBE_TOKEN: OTHER_SECRET });
    await within("cluster-swapped", apiserver(), async (_, { storage }) => {
      storage.sql.exec("UPDATE token_chains SET sealed_token = (SELECT MAX(sealed_token) FROM token_chains)");
      return Promise.resolve();
    });
    const both = [
      await found("cluster-swapped"),
      await found("cluster-swapped", { KUBE_TOKEN: OTHER_SECRET }),
    ];
    expect(both.filter((token) => [SECRET, OTHER_SECRET].includes(token))).toHaveLength(1);
  });

  it("the token of the version before → kept for a rollback; after a third version the oldest is deleted", async () => {
    const name = "cluster-rollback";
    const [kube, another, third] = [{}, { KUBE_TOKEN: OTHER_SECRET }, { KUBE_TOKEN: THIRD_SECRET }];
    setClock(START_MS + 12 * HOUR_MS);
    const first = await renewed(name, apiserver(), kube);
    shift(1000);
    const second = await renewed(name, apiserver(), another);
    expect([await found(name, kube), await found(name, another)]).toEqual([first, second]);
    shift(1000);
    await renewed(name, apiserver(), third);
    expect([await found(name, kube), await found(name, another)]).toEqual([SECRET, second]);
    expect(await rows(name)).toHaveLength(2);
  });

  it("a failure → still known after an eviction", async () => {
    setClock(START_MS + 12 * HOUR_MS);
    const unreachable = { fetch: () => Promise.reject(new Error("unreachable")) };
    await within("cluster-failed", unreachable, (object) => object.alarm());
    const status = await within("cluster-failed", unreachable, (object) => object.tokenStatus());
    expect(status).toMatchObject({
      source: "secret",
      lastFailure: { at: "2100-01-01T12:00:00.000Z", reason: "Unanswered", message: "unreachable" },
    });
  });
});

describe("the watch of the Nodes", () => {
  const LATE = { type: "Ready", status: "Unknown" };
  const BY_CONTROLLER = {
    manager: "kube-controller-manager",
    fieldsV1: { "f:status": { "f:conditions": { 'k:{"type":"Ready"}': {} } } },
  };
  const given = (name: string, version: string) => ({
    metadata: { name, resourceVersion: version, uid: "u", managedFields: [BY_CONTROLLER] },
    status: { conditions: [LATE] },
  });
  const UNAUTHORIZED = { kind: "Status", code: 401, reason: "Unauthorized" };

  interface Watched {
    /** The tokens that the apiserver answers with 401. */
    refused?: string[];
    nodes?: object[];
    /** The lines that the watch sends before it ends. */
    lines?: object[];
    /** The test's function that runs while a node object is notified. */
    onNotice?: () => void;
  }

  /** Returns an environment with an apiserver, a registry with one machine, and that machine's node object. */
  function surroundings({
    refused = [],
    nodes = [given("edge-1", "5")],
    lines = [],
    onNotice,
  }: Watched = {}) {
    const asked: string[] = [];
    const told: [name: string, node: unknown][] = [];
    const fetch = (to: string, init: RequestInit) => {
      const { pathname, search } = new URL(to);
      asked.push(`${init.method} ${pathname}${decodeURIComponent(search)}`);
      const token = (new Headers(init.headers).get("authorization") ?? "").slice("Bearer ".length);
      if (pathname.endsWith("/token")) {
        const status = { token: tokenOf(Date.now(), DAY_MS, "renewed") };
        return Promise.resolve(Response.json({ metadata: {}, status }, { status: 201 }));
      }
      if (refused.includes(token)) return Promise.resolve(Response.json(UNAUTHORIZED, { status: 401 }));
      const isWatch = search.includes("watch=1");
      if (!isWatch)
        return Promise.resolve(Response.json({ metadata: { resourceVersion: "9" }, items: nodes }));
      return Promise.resolve(new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    };
    const more = {
      NODE_WATCH: "on",
      REGISTRY: {
        getByName: () => ({ known: async (names: string[]) => names.filter((name) => name === "edge-1") }),
      },
      NODES: {
        getByName: (name: string) => ({
          noticeNode: async (node: unknown) => {
            told.push([name, node]);
            onNotice?.();
          },
        }),
      },
    } as unknown as Partial<Environment>;
    return { kube: { fetch }, more, asked, told };
  }

  const SELECTOR = "labelSelector=rollcall.dev/deployment=rollcall";
  const LEASES =
    "GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?labelSelector=rollcall.dev/unwatched=rollcall&resourceVersion=0";
  const LIST = `GET /api/v1/nodes?${SELECTOR}&limit=100`;

  it.each<[situation: string, variables: Partial<Environment>, requests: string[]]>([
    ["is off", { NODE_WATCH: "off" }, ["GET /version"]],
    ["has no apiserver", { KUBE_URL: "" }, []],
  ])(
    "that %s → nobody relies on it, no alarm, no request about Nodes",
    async (situation, variables, requests) => {
      const { kube, more, asked } = surroundings();
      await within(
        `watch-${situation}`,
        kube,
        async (object, { storage }) => {
          expect(await object.standing("edge-1")).toEqual({ isWatched: false, isSilenceSeen: false });
          await object.watchNodes();
          await passing(object.alarm());
          expect([object.watchState(), await storage.getAlarm()]).toEqual([{ state: null }, null]);
          expect(asked).toEqual(requests);
        },
        { ...more, ...variables, KUBE_TOKEN: "no-jwt" },
      );
    },
  );

  it("any request starts it: the alarm is set for now, and is set again only if it was lost", async () => {
    const { kube, more } = surroundings();
    await within(
      "watch-asked",
      kube,
      async (object, { storage }) => {
        expect(await object.standing("edge-1")).toEqual({ isWatched: false, isSilenceSeen: false });
        expect(await storage.getAlarm()).toBe(START_MS + 1);
        const setAlarm = vi.spyOn(storage, "setAlarm");
        await object.watchNodes();
        expect(setAlarm).not.toHaveBeenCalled();
        // The clock moves without a run of the alarm: the object takes the alarm for lost.
        shift(60_000);
        await object.standing("edge-1");
        expect(await storage.getAlarm()).toBe(Date.now() + 1);
      },
      more,
    );
  });

  it("lists, watches and notifies → all deadlines use the object's timer, so that no cleared timer is left", async () => {
    const { kube, more } = surroundings();
    const timer = vi.fn(after);
    await within("watch-timer", kube, (object) => passing(object.alarm()), { ...more, timer });
    // The list, the watch's answer, the question to the registry, and the notice.
    expect(timer.mock.calls.length).toBeGreaterThanOrEqual(4);
  });

  it("the alarm rings → lists and watches by the deployment's label, notifies the machine's object, and sets the next alarm", async () => {
    const { kube, more, asked, told } = surroundings({
      lines: [{ type: "BOOKMARK", object: { metadata: { resourceVersion: "10" } } }],
    });
    await within(
      "watch-turn",
      kube,
      async (object, { storage }) => {
        await passing(object.alarm());
        expect(asked).toEqual([
          LEASES,
          LIST,
          expect.stringMatching(
            /^GET \/api\/v1\/nodes\?watch=1&.*resourceVersion=9&allowWatchBookmarks=true/,
          ),
        ]);
        expect(asked[2]).toContain(SELECTOR);
        expect(told).toEqual([["edge-1", given("edge-1", "5")]]);
        expect(await storage.getAlarm()).toBe(START_MS + 1000);
        expect(object.watchState().state).toMatchObject({ state: "live", nodes: 1, waiting: 0 });
        expect(await object.standing("edge-1")).toEqual({ isWatched: true, isSilenceSeen: true });
        expect((await object.standing("edge-2")).isWatched).toBe(false);
      },
      more,
    );
    // The notice is stored, so that the object does not notify the node object again after an eviction.
    const rows = await within("watch-turn", kube, (_, { storage }) =>
      Promise.resolve(storage.sql.exec("SELECT name, seen = told AS known FROM watched_nodes").toArray()),
    );
    expect(rows).toEqual([{ name: "edge-1", known: 1 }]);
  });

  it("an object is being notified → its knowledge is stored as unsure, so that an eviction does not make it certain", async () => {
    const known: unknown[] = [];
    const look = { rows: () => undefined as void };
    const lines: object[] = [];
    const { kube, more } = surroundings({ lines, onNotice: () => look.rows() });
    await within(
      "watch-telling",
      kube,
      async (object, { storage }) => {
        const rows = () => storage.sql.exec("SELECT told FROM watched_nodes").toArray();
        look.rows = () => void known.push(...rows());
        await passing(object.alarm());
        const [before] = rows();
        const changed = { ...given("edge-1", "11"), spec: { unschedulable: true } };
        lines.push({ type: "MODIFIED", object: changed });
        shift(2000);
        await passing(object.alarm());
        const [after] = rows();
        expect(known).toEqual([{ told: "?" }, { told: "?" }]);
        expect([before?.["told"] === after?.["told"], after?.["told"]]).toEqual([
          false,
          expect.stringMatching(/^[\w-]{16}$/),
        ]);
      },
      more,
    );
  });

  it("without a Node → the alarm stays set for the token's renewal", async () => {
    const { kube, more } = surroundings({ nodes: [] });
    await within(
      "watch-none",
      kube,
      async (object, { storage }) => {
        await passing(object.alarm());
        expect(await storage.getAlarm()).toBe(START_MS + 12 * HOUR_MS);
      },
      more,
    );
  });

  it("the apiserver refuses the token → list and watch continue with another one at once", async () => {
    const { kube, more, asked, told } = surroundings({ refused: [SECRET] });
    await within("watch-refused", kube, (object) => passing(object.alarm()), more);
    expect(asked.filter((request) => request === LIST)).toHaveLength(2);
    expect([asked.filter((request) => request.includes("watch=1")).length, told.length]).toEqual([1, 1]);
  });

  it("fails twice → the history has the reason and the time, also after an eviction", async () => {
    const { more } = surroundings();
    const kube = { fetch: () => Promise.reject(new Error("connection refused")) };
    await within(
      "watch-down",
      kube,
      async (object) => {
        await passing(object.alarm());
        expect(object.history({ limit: 10 })).toEqual([]);
        shift(2000);
        await passing(object.alarm());
        expect(object.watchState().state).toMatchObject({ state: "down", downSinceMs: START_MS });
      },
      more,
    );
    const history = await within("watch-down", kube, async (object) => object.history({ limit: 10 }), more);
    expect(history).toEqual([
      { id: 1, at: "2100-01-01T00:00:02.000Z", text: expect.stringContaining("connection refused") },
    ]);
  });

  it("is in progress → the token and the alarm as before; silent Nodes have a turn after a minute", async () => {
    const { more } = surroundings();
    let end = () => undefined as void;
    const body = new ReadableStream<Uint8Array>({ start: (stream) => void (end = () => stream.close()) });
    const fetch = (to: string) =>
      Promise.resolve(
        to.includes("watch=1")
          ? new Response(body)
          : Response.json({ metadata: { resourceVersion: "9" }, items: [given("stranger", "5")] }),
      );
    await within(
      "watch-under-way",
      { fetch },
      async (object, { storage }, own) => {
        const ringing = object.alarm();
        await eventually(() => expect(object.watchState().state?.state).toBe("live"));
        expect(await tokenFor(object, own)).toBe(SECRET);
        expect(await storage.getAlarm()).toBe(START_MS + 12 * HOUR_MS);
        await object.watchNodes();
        expect(await storage.getAlarm()).toBe(START_MS + 12 * HOUR_MS);
        const turns = [object.silentNodeTurn()];
        for (const ms of [59_999, 1]) {
          shift(ms);
          turns.push(object.silentNodeTurn());
        }
        expect(turns).toEqual([60_000, 1, 0]);
        end();
        await ringing;
        expect(await storage.getAlarm()).toBe(Date.now() + 1);
      },
      more,
    );
  });
});

describe("the turns of silent machines' Nodes", () => {
  const WATCHED = { NODE_WATCH: "on", KUBE_URL: "https://kube.test" };
  const server = apiserver();

  it("without a watch → 5 at once, then 50 a second; the others ask again one after another", async () => {
    await within("silent-nodes", server, (object) => {
      const turns = (count: number) => Array.from({ length: count }, () => object.silentNodeTurn());
      expect(turns(5)).toEqual([0, 0, 0, 0, 0]);
      expect(turns(100).slice(-3)).toEqual([2860, 2880, 2900]);
      shift(1000);
      expect(turns(6).filter((waitMs) => waitMs === 0)).toHaveLength(5);
      return Promise.resolve();
    });
  });

  it("with a watch that starts, as after a deployment → none, and a second's wait", async () => {
    const turn = (object: ClusterObject) => Promise.resolve(object.silentNodeTurn());
    expect(await within("silent-unwatched", server, turn, WATCHED)).toBe(1000);
  });

  it("with a watch that is down → again a minute after its next attempt", async () => {
    const failing = { fetch: () => Promise.reject(new Error("connection refused")) };
    const turn = async (object: ClusterObject) => {
      await passing(object.alarm());
      shift(2000);
      await passing(object.alarm());
      const inMs = object.silentNodeTurn() ?? NaN;
      shift(30_000);
      return [inMs > WELL_FOR_MS && inMs <= WELL_FOR_MS + 2000, object.silentNodeTurn()];
    };
    expect(await within("silent-down", failing, turn, WATCHED)).toEqual([true, WELL_FOR_MS]);
  });
});

it("the cluster's version → asked with the first question of a machine's object, and stored", async () => {
  const asked: string[] = [];
  const answering = (body: object, status = 200) => ({
    fetch: (url: string) => {
      asked.push(url);
      return Promise.resolve(Response.json(body, { status }));
    },
  });
  const minorOf = (kube: ReturnType<typeof answering>) =>
    within("cluster-version", kube, async (object) => [
      (await object.standing("edge-1")).clusterMinor,
      (await object.standing("edge-2")).clusterMinor,
      object.history({ limit: 1 })[0]?.text,
    ]);
  const line = expect.stringContaining("Kubernetes 1.35") as string;
  expect(await minorOf(answering({ major: "1", gitVersion: "v1.35.4" }))).toEqual([35, 35, line]);
  expect(asked).toEqual(["https://kube.test/version"]);
  // After an eviction, an apiserver that does not allow the request.
  const forbidden = { kind: "Status", code: 403, reason: "Forbidden" };
  expect(await minorOf(answering(forbidden, 403))).toEqual([35, 35, line]);
});
