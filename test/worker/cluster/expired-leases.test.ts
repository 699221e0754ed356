// Tests which machines' objects are notified that their lease has expired, when, and how often the leases are listed.
import { describe, expect, it, test } from "vitest";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";
import { formatMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { EXPIRED_LEASE_LIMITS, ExpiredLeases } from "../../../worker/cluster/expired-leases.ts";
import { virtualTime } from "../support/virtual-time.ts";

const START_MS = Date.UTC(2100, 0, 1);
const LEASE_S = 40;
const FORBIDDEN: ApiError = { kind: "status", status: { code: 403, reason: "Forbidden" } };

const leaseOf = (name: string, renewedS: number): Lease => ({
  metadata: { name },
  spec: {
    renewTime: formatMicroTime((START_MS + renewedS * 1000) * 1000),
    leaseDurationSeconds: LEASE_S,
  },
});

/** Returns a watch of leases in virtual time, with what it does. All times are seconds since the start. */
function watching({
  renewedS,
  isSilent = () => true,
}: {
  /** Returns the machines' last renewals; a number of leases; or the apiserver's error. */
  renewedS: (nowS: number) => Record<string, number> | number | ApiError;
  /** Returns what a machine's object answers to a notice. Throws if the object fails. */
  isSilent?: (name: string, nowS: number) => boolean;
}) {
  const time = virtualTime(START_MS);
  const nowS = () => (time.nowMs() - START_MS) / 1000;
  const lists: number[] = [];
  const notices: [name: string, atS: number][] = [];
  const messages: string[] = [];
  const leases = new ExpiredLeases({
    list: async () => {
      lists.push(nowS());
      const found = renewedS(nowS());
      if (typeof found === "number")
        return success({ items: Array.from({ length: found }, (_, at) => leaseOf(`m-${at}`, nowS())) });
      if ("kind" in found) return failure(found as ApiError);
      return success({ items: Object.entries(found).map(([name, atS]) => leaseOf(name, atS)) });
    },
    notify: async (name) => {
      notices.push([name, nowS()]);
      return isSilent(name, nowS());
    },
    log: ({ message }) => void messages.push(message),
    nowMs: () => time.nowMs(),
    pause: (ms) => new Promise((resolve) => void time.after(ms, resolve)),
    timer: (ms, ring) => time.after(ms, ring),
  });
  const over = new AbortController();
  const watched = leases.watch(over.signal);
  return {
    leases,
    lists,
    notices,
    messages,
    passS: (seconds: number) => time.pass(seconds * 1000),
    end: async () => {
      over.abort();
      await watched;
    },
  };
}

/** Returns the last renewal of a machine that renews each 10 s, the last time at `diesS`. */
const steady = (diesS: number) => (nowS: number) => Math.min(diesS, 10 * Math.floor(nowS / 10));

describe("a machine dies", () => {
  it.each([100, 104, 109, 114, 119, 124])(
    "at second %s, whatever the time of the lists → notified within 42 s",
    async (diesS) => {
      const machine = (nowS: number) => (nowS < diesS ? steady(diesS)(nowS) : diesS);
      const { notices, passS, end } = watching({
        renewedS: (nowS) => ({ dead: machine(nowS), alive: steady(1e6)(nowS) }),
      });
      await passS(diesS + 300);
      expect(notices).toEqual([["dead", expect.any(Number)]]);
      expect(notices[0]![1] - diesS).toBeLessThanOrEqual(LEASE_S + 2);
      await end();
    },
  );

  it("and its object fails → notified again with the next list", async () => {
    const { notices, messages, passS, end } = watching({
      renewedS: () => ({ dead: 0 }),
      isSilent: (_, nowS) => {
        if (nowS < 60) throw new Error("the object restarts");
        return true;
      },
    });
    await passS(300);
    expect(notices.map(([, atS]) => atS)).toEqual([41, 50, 75]);
    expect(messages).toEqual(Array.from({ length: 2 }, () => "not told that its lease expired"));
    await end();
  });
});

it("a blocked machine reports without a renewal → three notices of its lease, then none", async () => {
  const { notices, passS, end } = watching({ renewedS: () => ({ blocked: 0 }), isSilent: () => false });
  await passS(1000);
  expect(notices).toHaveLength(EXPIRED_LEASE_LIMITS.notices);
  await end();
});

it("the apiserver was away, and all leases have expired → only machines that stay away are notified", async () => {
  const away = (nowS: number) => nowS >= 100 && nowS < 200;
  const { notices, passS, end } = watching({
    renewedS: (nowS) =>
      away(nowS)
        ? { kind: "unanswered", message: "away" }
        : { dead: steady(99)(nowS), alive: nowS < 210 ? steady(99)(nowS) : nowS },
  });
  await passS(300);
  expect(notices.map(([name]) => name)).toEqual(["dead"]);
  await end();
});

describe("a site dies", () => {
  const { aTurn } = EXPIRED_LEASE_LIMITS;
  const NAMES = Array.from({ length: aTurn + 1 }, (_, at) => `m-${at}`);

  it(`with ${aTurn + 1} machines → ${aTurn} notices in this turn of the alarm; the next turn continues`, async () => {
    const renewedS = (nowS: number) => Object.fromEntries(NAMES.map((name) => [name, Math.min(nowS, 50)]));
    const { leases, notices, passS, end } = watching({ renewedS });
    await passS(400);
    expect(notices).toHaveLength(aTurn);
    await end();
    const over = new AbortController();
    const next = leases.watch(over.signal);
    await passS(30);
    expect(new Set(notices.map(([name]) => name))).toEqual(new Set(NAMES));
    over.abort();
    await next;
  });
});

describe("the lists", () => {
  test.each<[situation: string, renewedS: (nowS: number) => Record<string, number>, lists: number[]]>([
    ["while no lease has the label → each 5 min", () => ({}), [0, 300, 600]],
    [
      "while one has → each 25 s",
      (nowS) => ({ alive: nowS }),
      Array.from({ length: 25 }, (_, at) => 25 * at),
    ],
  ])("%s", async (_, renewedS, expected) => {
    const { lists, passS, end } = watching({ renewedS });
    await passS(610);
    expect(lists).toEqual(expected);
    await end();
  });

  it("without a lease, until a machine reports without a socket → at once, and each 25 s for 5 min", async () => {
    const { leases, lists, passS, end } = watching({ renewedS: () => ({}) });
    await passS(100);
    leases.expect();
    await passS(500);
    expect(lists).toEqual([0, ...Array.from({ length: 13 }, (_, at) => 100 + 25 * at)]);
    leases.expect();
    await end();
  });

  it("after the watch has ended → none", async () => {
    const { lists, passS, end } = watching({ renewedS: (nowS) => ({ alive: nowS }) });
    await passS(10);
    await end();
    await passS(100);
    expect(lists).toEqual([0]);
  });

  it("fail → repeated after 2 s to 25 s, with one line of the log; a success ends the failure", async () => {
    let isWell = false;
    const { leases, lists, messages, passS, end } = watching({ renewedS: () => (isWell ? {} : FORBIDDEN) });
    await passS(0.1);
    expect(leases.error).toBeUndefined();
    await passS(60);
    expect(lists).toEqual([0, 2, 6, 14, 30, 55]);
    expect([leases.error, messages]).toEqual([FORBIDDEN, ["leases are not listed"]]);
    isWell = true;
    await passS(60);
    expect(leases.error).toBeUndefined();
    await end();
  });

  test.each([
    ["at the limit → no fault", EXPIRED_LEASE_LIMITS.leases, undefined],
    ["one more → a fault", EXPIRED_LEASE_LIMITS.leases + 1, /^10001 leases are more than 10000$/],
  ])("of machines %s", async (_, count, fault) => {
    const { leases, passS, end } = watching({ renewedS: () => count });
    await passS(10);
    const message = leases.error?.kind === "unanswered" ? leases.error.message : undefined;
    if (fault) expect(message).toMatch(fault);
    else expect(message).toBeUndefined();
    await end();
  });
});
