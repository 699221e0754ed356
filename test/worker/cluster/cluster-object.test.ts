// The cluster's object over its storage: whose token it gives whom, what it keeps through evictions and deployments, and
// when its alarm rings.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ClusterObject } from "../../../worker/cluster/cluster-object.ts";
import type { Environment } from "../../../worker/env.ts";
import { tokenChainId } from "../../../worker/kube/token-chain-id.ts";
import { tokenOf } from "../support/account-tokens.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// An alarm that is set for the past rings at once.
const START_MS = Date.UTC(2100, 0, 1);
const SECRET = tokenOf(START_MS, DAY_MS, "secret");
const OTHER_SECRET = tokenOf(START_MS, DAY_MS, "other");
const THIRD_SECRET = tokenOf(START_MS, DAY_MS, "third");

let nowMs = START_MS;
beforeEach(() => {
  nowMs = START_MS;
  vi.spyOn(Date, "now").mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** An apiserver that answers a TokenRequest with a token of a day. */
function apiserver() {
  const asked: { url: string; authorization: string | null; body: unknown }[] = [];
  const fetch = (url: string, init: RequestInit) => {
    const { method, headers, body } = init;
    asked.push({
      url: `${method} ${url}`,
      authorization: new Headers(headers).get("authorization"),
      body: JSON.parse(body as string),
    });
    const token = tokenOf(nowMs, DAY_MS, `renewed ${asked.length}`);
    return Promise.resolve(Response.json({ metadata: {}, status: { token } }, { status: 201 }));
  };
  return { asked, fetch };
}

/** Acts with the object of this name, which wakes for each of them: with this secret, and what it has stored. */
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

describe("a machine's object that asks", () => {
  it("before half of the secret's life → the secret, and the alarm rings at its half", async () => {
    const kube = apiserver();
    const alarm = await within("cluster-early", kube, async (object, { storage }, own) => {
      expect(await tokenFor(object, own)).toBe(SECRET);
      return storage.getAlarm();
    });
    expect([alarm, kube.asked]).toEqual([START_MS + 12 * HOUR_MS, []]);
  });

  it("with another secret, apiserver or deployment → nothing of this one's", async () => {
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
  it("renews, as infra/rbac allows it, and rings again at half of the new token's life", async () => {
    const kube = apiserver();
    nowMs = START_MS + 12 * HOUR_MS;
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

  it("that fails by the object's own fault rings again", async () => {
    const alarm = await within("cluster-fault", apiserver(), async (object, { storage }) => {
      storage.sql.exec("DROP TABLE token_chains");
      await object.alarm();
      return storage.getAlarm();
    });
    expect(alarm).toBe(START_MS + 5 * 60_000);
  });

  it("is set anew by no question that comes before it", async () => {
    await within("cluster-lazy", apiserver(), async (object, { storage }, own) => {
      await tokenFor(object, own);
      const setAlarm = vi.spyOn(storage, "setAlarm");
      nowMs += HOUR_MS;
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

  it("is found after an eviction, and has no token in the clear", async () => {
    nowMs = START_MS + 12 * HOUR_MS;
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

  it("of another row is not taken for one's own, and one that was damaged is none", async () => {
    nowMs = START_MS + 12 * HOUR_MS;
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

  it("of the version before stays for a rollback; of a third one the older is forgotten", async () => {
    const name = "cluster-rollback";
    const [kube, another, third] = [{}, { KUBE_TOKEN: OTHER_SECRET }, { KUBE_TOKEN: THIRD_SECRET }];
    nowMs = START_MS + 12 * HOUR_MS;
    const first = await renewed(name, apiserver(), kube);
    nowMs += 1000;
    const second = await renewed(name, apiserver(), another);
    expect([await found(name, kube), await found(name, another)]).toEqual([first, second]);
    nowMs += 1000;
    await renewed(name, apiserver(), third);
    expect([await found(name, kube), await found(name, another)]).toEqual([SECRET, second]);
    expect(await rows(name)).toHaveLength(2);
  });

  it("of a failure outlives an eviction", async () => {
    nowMs = START_MS + 12 * HOUR_MS;
    const unreachable = { fetch: () => Promise.reject(new Error("unreachable")) };
    await within("cluster-failed", unreachable, (object) => object.alarm());
    const status = await within("cluster-failed", unreachable, (object) => object.tokenStatus());
    expect(status).toMatchObject({
      source: "secret",
      lastFailure: { at: "2100-01-01T12:00:00.000Z", reason: "Unanswered", message: "unreachable" },
    });
  });
});
