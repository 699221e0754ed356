// Tests which key has which name: requests of node objects, and the registry's tables afterwards.
import { describe, expect, it } from "vitest";
import { CHANGES_A_DAY, readAudit } from "../../../worker/registry/audit.ts";
import {
  bury,
  buryPin,
  changedAtMs,
  confirmPin,
  findPin,
  isBuried,
  isHeld,
  leavePin,
  type PinnedKey,
  pin,
  setNextKey,
  unpin,
  wasPinned,
} from "../../../worker/registry/pins.ts";
import { asking, withinRegistry } from "../support/registry-storage.ts";

const DAY_MS = 24 * 3600 * 1000;
/** The largest number of machines of a gateway. */
const SIZE = 2;

/** Calls `act` with a registry where edge-1 has the key a and the next key b. */
const pinned = <Outcome>(name: string, act: (sql: SqlStorage, generation: number) => Outcome) =>
  withinRegistry(`pins-${name}`, (sql) => {
    pin(sql, asking("a"), 100);
    const { generation } = findPin(sql, "edge-1")!;
    setNextKey(sql, { name: "edge-1", generation, thumbprint: "b" }, 100);
    return act(sql, generation);
  });

const key = (thumbprint: string, generation: number, name = "edge-1"): PinnedKey => ({
  name,
  generation,
  thumbprint,
});
const buriedOf = (sql: SqlStorage) => ["a", "b", "c"].filter((thumbprint) => isBuried(sql, thumbprint));

describe("a report is confirmed", () => {
  const A_AND_B = { thumbprint: "a", nextThumbprint: "b", reportedAtMs: null };

  it.each([
    ["by the key", key("a", 0), true, { ...A_AND_B, reportedAtMs: 200 }, []],
    [
      "by the next key",
      key("b", 0),
      true,
      { thumbprint: "b", nextThumbprint: null, reportedAtMs: 200 },
      ["a"],
    ],
    ["by a key that has no name", key("c", 0), false, A_AND_B, []],
    ["of an earlier pin", key("a", -1), false, A_AND_B, []],
    ["of a later pin", key("a", 1), false, A_AND_B, []],
    ["for another name", key("a", 0, "edge-2"), false, A_AND_B, []],
  ])("%s", async (situation, { generation: off, ...asked }, stands, left, buried) => {
    const found = await pinned(`confirm-${situation}`, (sql, generation) => ({
      stands: confirmPin(sql, { ...asked, generation: generation + off }, SIZE, 200) !== null,
      left: findPin(sql, "edge-1"),
      buried: buriedOf(sql),
    }));
    expect(found).toMatchObject({ stands, left, buried });
  });

  it("again → the time of the first one and the next key stay", async () => {
    const found = await pinned("confirm-again", (sql, generation) => [
      confirmPin(sql, key("a", generation), SIZE, 200),
      confirmPin(sql, key("a", generation), SIZE, 300),
      findPin(sql, "edge-1"),
    ]);
    expect(found).toEqual([
      { gateway: 1 },
      { gateway: 1 },
      expect.objectContaining({ reportedAtMs: 200, nextThumbprint: "b" }),
    ]);
  });

  it("by the next key after the first has reported → the time of that first report stays", async () => {
    const found = await pinned("confirm-next", (sql, generation) => {
      confirmPin(sql, key("a", generation), SIZE, 200);
      return [confirmPin(sql, key("b", generation), SIZE, 300), findPin(sql, "edge-1")];
    });
    expect(found).toEqual([
      { gateway: 1 },
      expect.objectContaining({ thumbprint: "b", reportedAtMs: 200, gateway: 1 }),
    ]);
  });

  it("by the next key, with no known public key of either → that key has the name", async () => {
    const found = await pinned("confirm-unknown", (sql, generation) => {
      confirmPin(sql, key("b", generation), SIZE, 200);
      setNextKey(sql, key("c", generation), 300);
      confirmPin(sql, key("c", generation), SIZE, 300);
      return [findPin(sql, "edge-1"), buriedOf(sql)];
    });
    expect(found).toMatchObject([{ thumbprint: "c", nextThumbprint: null }, ["a", "b"]]);
  });

  it("for a revoked name → refused, with any of its keys", async () => {
    const found = await pinned("confirm-revoked", (sql, generation) => {
      unpin(sql, "edge-1", "machine.revoke", 150);
      return [
        confirmPin(sql, key("a", generation), SIZE, 200),
        confirmPin(sql, key("b", generation), SIZE, 200),
      ];
    });
    expect(found).toEqual([null, null]);
  });
});

describe("the stored public key, for a machine whose object loses its data", () => {
  it("→ is the reporting one, also if the registry learns of it late", async () => {
    const keys = await pinned("kept-keys", (sql, generation) => {
      const kept = () => {
        const { machine, nextKey } = findPin(sql, "edge-1")!;
        return [machine.key, nextKey];
      };
      const told = [kept()];
      setNextKey(sql, { ...key("c", generation), key: "x of c" }, 200);
      told.push(kept());
      confirmPin(sql, { ...key("a", generation), key: "x of a" }, SIZE, 200);
      told.push(kept());
      confirmPin(sql, key("c", generation), SIZE, 200);
      told.push(kept());
      setNextKey(sql, key("d", generation), 300);
      confirmPin(sql, key("d", generation), SIZE, 300);
      told.push(kept());
      confirmPin(sql, { ...key("d", generation), key: "x of d" }, SIZE, 400);
      return [...told, kept()];
    });
    expect(keys).toEqual([
      ["x of a", null],
      ["x of a", "x of c"],
      ["x of a", "x of c"],
      ["x of c", null],
      ["", null],
      ["x of d", null],
    ]);
  });
});

describe("a next key", () => {
  it.each([
    ["of the pin that stands", key("c", 0), { ok: true }, "c"],
    ["that is the next one already", key("b", 0), { ok: true }, "b"],
    ["of an earlier pin", key("c", -1), { ok: false, error: { reason: "no key for this machine" } }, "b"],
    ["of a name without a pin", key("c", 0, "edge-2"), { ok: false }, "b"],
  ])("%s", async (situation, { generation: off, ...asked }, outcome, next) => {
    const found = await pinned(`next-${situation}`, (sql, generation) => [
      setNextKey(sql, { ...asked, generation: generation + off }, 200),
      findPin(sql, "edge-1")?.nextThumbprint,
    ]);
    expect(found).toMatchObject([outcome, next]);
  });

  it("that is revoked → not pinned", async () => {
    const found = await pinned("next-buried", (sql, generation) => {
      bury(sql, "edge-9", "c", 150, "rejected");
      return [setNextKey(sql, key("c", generation), 200), findPin(sql, "edge-1")?.nextThumbprint];
    });
    expect(found).toMatchObject([{ ok: false, error: { reason: "no key for this machine" } }, "b"]);
  });

  it("over the daily limit → too often, but a key that is already the next one is accepted again", async () => {
    const found = await pinned("next-often", (sql, generation) => {
      const rotate = (thumbprint: string) => setNextKey(sql, key(thumbprint, generation), 200);
      for (let more = 1; more < CHANGES_A_DAY; more++) rotate(`c${more}`);
      return [rotate("one more"), rotate(`c${CHANGES_A_DAY - 1}`), findPin(sql, "edge-1")?.nextThumbprint];
    });
    const last = `c${CHANGES_A_DAY - 1}`;
    expect(found).toMatchObject([{ ok: false, error: { reason: "too often" } }, { ok: true }, last]);
  });

  it("is logged once, with the key before it", async () => {
    const log = await pinned("next-logged", (sql, generation) => {
      setNextKey(sql, key("b", generation), 200);
      return readAudit(sql, { by: "machines", limit: 10 });
    });
    expect(log).toMatchObject([
      { who: "machine a", what: "machine.rotate", target: "edge-1", detail: "key b" },
    ]);
  });
});

describe("a machine leaves", () => {
  it.each([
    ["with its key", key("a", 0), true, ["a", "b"]],
    ["with its next key", key("b", 0), true, ["a", "b"]],
    ["with a key that has no name", key("c", 0), false, []],
    ["by an earlier pin", key("a", -1), false, []],
  ])("%s", async (situation, { generation: off, ...asked }, leaves, buried) => {
    const found = await pinned(`leave-${situation}`, (sql, generation) => ({
      ok: leavePin(sql, { ...asked, generation: generation + off }, 200).ok,
      isForgotten: findPin(sql, "edge-1") === undefined,
      buried: buriedOf(sql),
      logged: readAudit(sql, { by: "machines", limit: 10 }).filter(({ what }) => what === "machine.leave")
        .length,
    }));
    expect(found).toEqual({ ok: leaves, isForgotten: leaves, buried, logged: leaves ? 1 : 0 });
  });

  it("again → done, with the same generation and no further entry", async () => {
    const found = await pinned("leave-again", (sql, generation) => {
      const leave = () => leavePin(sql, key("a", generation), 200);
      const logged = () => readAudit(sql, { by: "machines", limit: 10 }).length;
      return [leave(), leave(), logged(), generation];
    });
    const [, , logged, generation] = found as [unknown, unknown, number, number];
    expect(found.slice(0, 2)).toEqual([
      { ok: true, value: generation + 1 },
      { ok: true, value: generation + 1 },
    ]);
    expect(logged).toBe(2);
  });
});

describe("an operator", () => {
  it("revokes a name twice → revoked since the first time; each time pins before it become outdated", async () => {
    const found = await pinned("revoke", (sql, generation) => [
      unpin(sql, "edge-1", "machine.revoke", 200),
      unpin(sql, "edge-1", "machine.revoke", 300),
      findPin(sql, "edge-1")?.revokedAtMs,
      buriedOf(sql),
      generation,
    ]);
    const generation = found[4] as number;
    const outdated = [1, 2].map((more) => ({ ok: true, value: generation + more }));
    expect(found.slice(0, 4)).toEqual([...outdated, 200, ["a", "b"]]);
  });

  it.each(["machine.revoke", "machine.forget"] as const)(
    "%s of a name that nobody ever had → refused",
    async (what) => {
      const found = await withinRegistry(`pins-never-${what}`, (sql) => [
        unpin(sql, "edge-1", what, 200).ok,
        wasPinned(sql, "edge-1"),
      ]);
      expect(found).toEqual([false, false]);
    },
  );

  it("removes a machine → the name is recorded as used", async () => {
    const found = await pinned("removed", (sql) => {
      unpin(sql, "edge-1", "machine.forget", 200);
      return [findPin(sql, "edge-1"), wasPinned(sql, "edge-1"), wasPinned(sql, "edge-2")];
    });
    expect(found).toEqual([undefined, true, false]);
  });
});

describe("a name", () => {
  it.each([
    ["that has not reported for a day less a moment", null, 100 + DAY_MS - 1, true],
    ["that has not reported for a day", null, 100 + DAY_MS, false],
    ["that has reported, long ago", 150, 100 + 30 * DAY_MS, true],
  ])("%s", async (situation, reportedAtMs, nowMs, held) => {
    const found = await pinned(`held-${situation}`, (sql) => findPin(sql, "edge-1"));
    expect(isHeld({ ...found!, reportedAtMs }, nowMs)).toBe(held);
  });

  it("that was revoked, or never pinned → free", async () => {
    const found = await pinned("held-revoked", (sql) => findPin(sql, "edge-1"));
    expect(isHeld({ ...found!, reportedAtMs: 150, revokedAtMs: 150 }, 200)).toBe(false);
    expect(isHeld(undefined, 200)).toBe(false);
  });

  it("pinned and later unpinned → changed at the later time; never → 0", async () => {
    const found = await pinned("changed", (sql) => {
      const pinnedAtMs = changedAtMs(sql, "edge-1");
      bury(sql, "edge-1", "c", 300, "rejected");
      return [pinnedAtMs, changedAtMs(sql, "edge-1"), changedAtMs(sql, "edge-2")];
    });
    expect(found).toEqual([100, 300, 0]);
  });

  it.each([
    ["a", ["b"]],
    ["b", ["a"]],
    [undefined, ["a", "b"]],
  ])("that %s inherits → the other keys are refused for ever", async (heir, buried) => {
    const found = await pinned(`heir-${heir}`, (sql) => {
      buryPin(sql, findPin(sql, "edge-1"), 200, { why: "taken over", ...(heir !== undefined && { heir }) });
      return buriedOf(sql);
    });
    expect(found).toEqual(buried);
  });
});
