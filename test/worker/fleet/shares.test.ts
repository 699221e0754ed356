// Tests the limits that all machines of a join token, and of the deployment, share: new Nodes and the bytes of Nodes.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  checkSharedLimits,
  DEPLOYMENT,
  HELD_LIMITS,
  HeldBack,
  LONGEST_TURN_MS,
  NodeShares,
} from "../../../worker/fleet/shares.ts";
import { DEPLOYMENT_SHARES, RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const KIB = 1024;
const { newNodes, nodeBytes } = RATE_LIMITS;

let objects = 0;
interface Shares {
  /** Asks for a turn of a new Node with these bytes, `atMs` after the begin. */
  ask: (token: string, bytes: number, atMs?: number, factor?: number) => ReturnType<NodeShares["take"]>;
  /** Returns the limits that hold machines back, as `new Nodes token-1`. */
  held: (atMs?: number) => string[];
  sql: SqlStorage;
}
function withShares(work: (shares: Shares) => void): Promise<void> {
  return runInDurableObject(env.INDEX.getByName(`shares-${objects++}`), (_, { storage: { sql } }) =>
    work({
      // An eviction may come between two calls: only storage remains.
      ask: (token, bytes, atMs = 0, factor = 1) =>
        new NodeShares(sql, new HeldBack(sql)).take(token, { nodes: 1, bytes }, factor, NOW + atMs),
      held: (atMs = 0) => new HeldBack(sql).list(NOW + atMs).map(({ what, who }) => `${what} ${who}`),
      sql,
    }),
  );
}
const AT_ONCE = { waitMs: 0, isGranted: true, limit: "" };

describe("new Nodes of one token", () => {
  it("as many as its burst → at once; one more → its turn comes with the rate", () =>
    withShares(({ ask, held }) => {
      for (let node = 0; node < newNodes.atOnce; node++) expect(ask("a", 0)).toEqual(AT_ONCE);
      expect(held()).toEqual([]);
      const limit = "new Nodes of its join token";
      expect(ask("a", 0)).toEqual({ waitMs: newNodes.everyMs, isGranted: true, limit });
      expect(held()).toEqual(["new Nodes a"]);
    }));

  it("with as many bytes as its burst → at once; more → the turn comes with the rate", () =>
    withShares(({ ask, held }) => {
      for (let left: number = nodeBytes.atOnce; left > 0; left -= 64 * KIB)
        expect(ask("a", 64 * KIB)).toEqual(AT_ONCE);
      const waitMs = Math.ceil(64 * KIB * nodeBytes.everyMs);
      expect(ask("a", 64 * KIB)).toEqual({
        waitMs,
        isGranted: true,
        limit: "bytes of Nodes of its join token",
      });
      expect(held()).toEqual(["bytes of Nodes a"]);
    }));

  it("96 of 60 KiB → 2 MiB at once, then 512 KiB a minute; another token's Nodes do not wait", () =>
    withShares(({ ask }) => {
      const waits = Array.from({ length: 96 }, () => ask("flood", 60 * KIB).waitMs);
      expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(34);
      expect(waits.filter((waitMs) => waitMs <= 41_000)).toHaveLength(39);
      expect(ask("fleet", 4 * KIB)).toEqual(AT_ONCE);
    }));

  it("1,000 machines that enrol at once → each has one turn or asks again, and all have Nodes in seven minutes", () =>
    withShares(({ ask }) => {
      let [asks, lastMs] = [0, 0];
      const dueMs = Array.from({ length: 1000 }, () => 0);
      while (dueMs.length > 0) {
        const atMs = dueMs.sort((a, b) => a - b).shift()!;
        const { waitMs, isGranted } = ask("fleet", 4 * KIB, atMs);
        asks++;
        if (isGranted) lastMs = Math.max(lastMs, atMs + waitMs);
        else dueMs.push(atMs + waitMs);
      }
      expect(lastMs).toBeLessThanOrEqual(7 * MINUTE);
      expect(asks).toBeLessThan(1500);
    }));

  it("beyond the longest turn → ask again, and nothing is taken from the share", () =>
    withShares(({ ask }) => {
      const turns = newNodes.atOnce + LONGEST_TURN_MS / newNodes.everyMs;
      for (let node = 0; node < turns; node++) expect(ask("a", 0).isGranted).toBe(true);
      for (let again = 0; again < 3; again++)
        expect(ask("a", 0)).toEqual({
          waitMs: LONGEST_TURN_MS,
          isGranted: false,
          limit: "new Nodes of its join token",
        });
      expect(ask("a", 0, newNodes.everyMs)).toMatchObject({ isGranted: true, waitMs: LONGEST_TURN_MS });
    }));

  it("as many as one token can ever take → another token's Node does not wait", () =>
    withShares(({ ask }) => {
      for (let atMs = 0; atMs <= 30 * MINUTE; atMs += MINUTE)
        for (let node = 0; node < 2000; node++) ask("flood", node % 2 === 0 ? 0 : 64 * KIB, atMs);
      expect(ask("fleet", 64 * KIB, 30 * MINUTE)).toEqual(AT_ONCE);
    }));

  it("a growing Node → bytes only", () =>
    withShares(({ ask, sql }) => {
      for (let node = 0; node <= newNodes.atOnce; node++) ask("a", 0);
      const grow = new NodeShares(sql, new HeldBack(sql)).take("a", { nodes: 0, bytes: 4 * KIB }, 1, NOW);
      expect(grow).toEqual(AT_ONCE);
    }));

  it("with SHARED_LIMITS_FACTOR → as many times more", () =>
    withShares(({ ask }) => {
      for (let node = 0; node < 3 * newNodes.atOnce; node++) expect(ask("a", 0, 0, 3)).toEqual(AT_ONCE);
      expect(ask("a", 0, 0, 3).waitMs).toBe(Math.ceil(newNodes.everyMs / 3));
    }));
});

describe("new Nodes of the deployment", () => {
  it("as many as the shares of four tokens → at once; one more of another token waits", () =>
    withShares(({ ask, held }) => {
      for (let token = 0; token < DEPLOYMENT_SHARES; token++)
        for (let node = 0; node < newNodes.atOnce; node++) expect(ask(`t${token}`, 0)).toEqual(AT_ONCE);
      expect(ask("fleet", 0)).toMatchObject({ isGranted: true, limit: "new Nodes of the deployment" });
      expect(held()).toEqual([`new Nodes ${DEPLOYMENT}`]);
    }));

  it("tokens that are used no more → their rows are deleted", () =>
    withShares(({ ask, sql }) => {
      for (let token = 0; token < 50; token++) ask(`t${token}`, 0);
      ask("a", 0, 2 * LONGEST_TURN_MS + 1);
      expect(sql.exec("SELECT token FROM shares ORDER BY token").toArray()).toEqual([
        { token: "a" },
        { token: DEPLOYMENT },
      ]);
    }));
});

describe("the limits that hold machines back", () => {
  it("last ten minutes after their last effect, and begin again later", () =>
    withShares(({ sql, held }) => {
      const heldBack = new HeldBack(sql);
      for (let atMs = 0; atMs <= 5 * MINUTE; atMs += 1000) heldBack.note("deliveries", "a", NOW + atMs);
      expect(heldBack.list(NOW + 5 * MINUTE)).toEqual([{ what: "deliveries", who: "a", sinceMs: NOW }]);
      expect(held(5 * MINUTE + HELD_LIMITS.forMs)).toEqual(["deliveries a"]);
      expect(held(5 * MINUTE + HELD_LIMITS.forMs + 1)).toEqual([]);
      heldBack.note("deliveries", "a", NOW + 20 * MINUTE);
      expect(heldBack.list(NOW + 20 * MINUTE)).toMatchObject([{ sinceMs: NOW + 20 * MINUTE }]);
    }));

  it("the same limit again within a minute → no row is written; after a minute → its row is", () =>
    withShares(({ sql }) => {
      const last = (atMs: number) => {
        new HeldBack(sql).note("new Nodes", "a", NOW + atMs);
        return sql.exec<{ last_ms: number }>("SELECT last_ms FROM held_back").one().last_ms - NOW;
      };
      const { storedEveryMs } = HELD_LIMITS;
      expect([0, storedEveryMs - 1, storedEveryMs].map(last)).toEqual([0, 0, storedEveryMs]);
    }));

  it("of many tokens → as many as are kept", () =>
    withShares(({ sql, held }) => {
      for (let token = 0; token <= HELD_LIMITS.entries; token++)
        new HeldBack(sql).note("new Nodes", `t${token}`, NOW);
      expect(held()).toHaveLength(HELD_LIMITS.entries);
    }));

  it.each<[string, Parameters<typeof checkSharedLimits>[0], state: string, message: string]>([
    ["none → well", [], "ok", "no limit that machines share is reached"],
    [
      "new Nodes → a warning with the token and the time",
      [{ what: "new Nodes", who: "tok-1", sinceMs: NOW }],
      "warning",
      "these wait: new Nodes of tok-1, since 2026-01-01T00:00:00.000Z",
    ],
    [
      "history alone → well, with the token",
      [{ what: "history", who: "tok-1", sinceMs: NOW }],
      "ok",
      "history of tok-1, since 2026-01-01T00:00:00.000Z",
    ],
    [
      "history and deliveries → a warning with both",
      [
        { what: "history", who: "tok-1", sinceMs: NOW },
        { what: "deliveries", who: "tok-2", sinceMs: NOW },
      ],
      "warning",
      "these wait: history of tok-1, since 2026-01-01T00:00:00.000Z; deliveries of tok-2, since 2026-01-01T00:00:00.000Z",
    ],
  ])("GET /readyz: %s", (_, held, state, message) => {
    expect(checkSharedLimits(held)).toMatchObject({ check: "limits", state, message });
  });
});
