// Tests a node object's calls to the registry: whether a key is valid, which origin it uses, and a rotation.
import { describe, expect, it, vi } from "vitest";
import { failure, success } from "../../../shared/result.ts";
import { CHANGED_TOO_OFTEN, UNAUTHENTICATED } from "../../../worker/machine/answers.ts";
import { RegistryStatus } from "../../../worker/machine/registry-status.ts";
import type { ConfirmedPin } from "../../../worker/registry/pins.ts";

const MAC_KEYS = `a:${"A".repeat(43)}=`;

it("the registry answers `too often` → asked again only after an hour", async () => {
  const enrolment = { id: "id", name: "edge-1", generation: 1 };
  const prepared: string[] = [];
  const state = {
    records: { get: () => enrolment },
    keys: { prepare: ({ thumbprint }: { thumbprint: string }) => void prepared.push(thumbprint) },
  };
  const rotate = vi
    .fn()
    .mockResolvedValueOnce(failure({ reason: "too often" }))
    .mockResolvedValue(success(null));
  let nowMs = 1000;
  const registry = () => ({ rotate, confirm: vi.fn(), pinnedTo: vi.fn() });
  const status = new RegistryStatus(
    state as never,
    registry,
    () => nowMs,
    () => 0,
    undefined,
    () => 0,
  );
  const pinNext = () => status.pinNext({ key: "x", thumbprint: "next" }, MAC_KEYS);
  expect(await pinNext()).toEqual(CHANGED_TOO_OFTEN);
  nowMs += 3_599_999;
  expect(await pinNext()).toEqual(CHANGED_TOO_OFTEN);
  expect(rotate).toHaveBeenCalledTimes(1);
  nowMs += 1;
  expect(await pinNext()).toMatchObject({ ok: true });
  expect(rotate).toHaveBeenCalledTimes(2);
  expect(prepared).toEqual(["next"]);
});

const DAY_MS = 24 * 3600 * 1000;
/** The report interval up to which a single machine's socket pays. */
const BEAT_MS = 10_000;
const HOUR_MS = 3600 * 1000;
const NOW_MS = 1_000_000_000;

interface StatusWish {
  settledFor?: string;
  /** The gateway in the record `settled`; "unknown" if the record lacks one, as in versions without gateways. */
  gateway?: number | null | "unknown";
  /** The largest number of machines of a gateway. */
  size?: number;
  random?: number;
}

/** Returns a RegistryStatus for edge-1. The key a is pinned with generation 1, and the registry's answer is stored. */
function statusOf(
  toldAtMs: Record<string, number> | undefined,
  { settledFor = "1 a", gateway = 7, size = 500, random = 0 }: StatusWish = {},
) {
  const enrolment = { id: "id", name: "edge-1", generation: 1, thumbprint: "a", key: "x of a" };
  const kept = new Map<string, unknown>([["enrolment", enrolment]]);
  const had = gateway === "unknown" ? {} : { gateway };
  if (toldAtMs) kept.set("settled", { key: settledFor, toldAtMs, ...had });
  const inUse = { key: "1 a" as string | null };
  const confirm = vi.fn<(...asked: unknown[]) => Promise<ConfirmedPin | null>>(() =>
    Promise.resolve({ gateway: 7 }),
  );
  const rotate = vi.fn<(...asked: unknown[]) => Promise<unknown>>(() => Promise.resolve(success(null)));
  const prepare = vi.fn();
  const state = {
    records: {
      get: (key: string) => kept.get(key),
      put: (key: string, value: unknown) => void kept.set(key, value),
    },
    keys: { pinInUse: () => inUse.key, prepare },
  };
  const status = new RegistryStatus(
    state as never,
    () => ({ confirm, rotate }) as never,
    () => NOW_MS,
    () => size,
    undefined,
    () => random,
  );
  return { status, kept, inUse, confirm, rotate, prepare };
}

describe("a report", () => {
  it.each<[string, Record<string, number> | undefined, boolean]>([
    ["whose key was never confirmed", undefined, true],
    ["by the origin that is in use", { here: NOW_MS - 1 }, false],
    ["by it, a day after less a moment", { here: NOW_MS - DAY_MS + 1 }, false],
    ["by it, a day after", { here: NOW_MS - DAY_MS }, true],
    ["by it, noted by a clock that was a day ahead", { here: NOW_MS + DAY_MS }, true],
    ["by it, noted by a clock that was less than that ahead", { here: NOW_MS + DAY_MS - 1 }, false],
    ["by another origin", { there: NOW_MS - 1 }, true],
    ["by the one it has left, within an hour", { here: NOW_MS - HOUR_MS + 1, there: NOW_MS - 1 }, false],
    ["by the one it has left, after an hour", { here: NOW_MS - HOUR_MS, there: NOW_MS - 1 }, true],
    ["by two that were noted at once", { here: NOW_MS - HOUR_MS, there: NOW_MS - HOUR_MS }, false],
  ])("%s", async (_, toldAtMs, asks) => {
    const { status, confirm, kept } = statusOf(toldAtMs);
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(true);
    expect(confirm.mock.calls).toEqual(asks ? [["edge-1", 1, "a", "here", "x of a", BEAT_MS]] : []);
    const told = asks ? { ...toldAtMs, here: NOW_MS } : toldAtMs;
    expect(kept.get("settled")).toEqual({ key: "1 a", toldAtMs: told, gateway: 7 });
  });

  it("with a key after another one was confirmed → asked, and the other key's answer is deleted", async () => {
    const { status, confirm, kept } = statusOf({ there: NOW_MS }, { settledFor: "0 b" });
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(true);
    expect(confirm).toHaveBeenCalledTimes(1);
    expect(kept.get("settled")).toEqual({ key: "1 a", toldAtMs: { here: NOW_MS }, gateway: 7 });
  });

  it("without an enrolment → refused without asking", async () => {
    const { status, inUse, confirm } = statusOf(undefined);
    inUse.key = null;
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(false);
    expect(confirm).not.toHaveBeenCalled();
  });

  it("with a key that has lost the name → refused from now on", async () => {
    const { status, confirm, kept } = statusOf(undefined);
    confirm.mockResolvedValue(null);
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(false);
    expect(kept.get("enrolment")).toMatchObject({ thumbprint: "a", isRevoked: true });
    expect(kept.has("settled")).toBe(false);
  });

  it("while another machine is pinned → refused; the answer does not concern that machine", async () => {
    const { status, inUse, confirm, kept } = statusOf(undefined);
    confirm.mockImplementation(() => {
      inUse.key = "2 b";
      return Promise.resolve(null);
    });
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(false);
    expect(kept.get("enrolment")).not.toHaveProperty("isRevoked");
  });

  it("at the same time as another one with the same key → one request for both; of another key → one of its own", async () => {
    const { status, inUse, confirm } = statusOf(undefined);
    const { promise: answered, resolve: answer } = Promise.withResolvers<ConfirmedPin>();
    confirm.mockReturnValue(answered);
    const both = [status.confirm("here", NOW_MS, BEAT_MS), status.confirm("here", NOW_MS, BEAT_MS)];
    expect(confirm).toHaveBeenCalledTimes(1);
    inUse.key = "2 b";
    both.push(status.confirm("here", NOW_MS, BEAT_MS));
    expect(confirm).toHaveBeenCalledTimes(2);
    answer({ gateway: 7 });
    expect(await Promise.all(both)).toEqual([false, false, true]);
  });

  it("after an answer → asked again where that is necessary", async () => {
    const { status, confirm } = statusOf(undefined);
    await status.confirm("here", NOW_MS, BEAT_MS);
    await status.confirm("here", NOW_MS + DAY_MS, BEAT_MS);
    expect(confirm).toHaveBeenCalledTimes(2);
  });

  it("the registry fails → the report fails if the key was never confirmed; otherwise the next request waits an hour", async () => {
    const first = statusOf(undefined);
    first.confirm.mockRejectedValue(new Error("overloaded"));
    await expect(first.status.confirm("here", NOW_MS, BEAT_MS)).rejects.toThrow("overloaded");

    const { status, confirm } = statusOf({ here: NOW_MS - DAY_MS });
    confirm.mockRejectedValue(new Error("overloaded"));
    const at = (ms: number) => status.confirm("here", NOW_MS + ms, BEAT_MS);
    expect([await at(0), await at(HOUR_MS - 1)]).toEqual([true, true]);
    expect(confirm).toHaveBeenCalledTimes(1);
    expect(await at(HOUR_MS)).toBe(true);
    expect(confirm).toHaveBeenCalledTimes(2);
  });
});

describe("the machine's gateway", () => {
  const SETTLED = { here: NOW_MS - 1 };

  it.each<[situation: string, wish: StatusWish, expected: number | null]>([
    ["of the pin in use", {}, 7],
    ["none was given", { gateway: null }, null],
    ["none was known yet", { gateway: "unknown" }, null],
    ["of another pin", { settledFor: "0 b" }, null],
    ["where there are none any more", { size: 0 }, null],
  ])("%s (%j) → %j", (_, wish, expected) => {
    expect(statusOf(SETTLED, wish).status.gateway()).toBe(expected);
  });

  it("without an enrolment → none", () => {
    const { status, inUse } = statusOf(undefined);
    inUse.key = null;
    expect(status.gateway()).toBeNull();
  });

  it.each<[situation: string, wish: StatusWish, asks: boolean]>([
    ["who has one, in whatever case → not asked for", { random: 0 }, false],
    ["none was given, in the first of 30 cases → asked for", { gateway: null, random: 0.0333 }, true],
    ["none was given, in the others → not", { gateway: null, random: 0.0334 }, false],
    [
      "none was known yet, in the first of 30 cases → asked for",
      { gateway: "unknown", random: 0.0333 },
      true,
    ],
    ["none was known yet, in the others → not", { gateway: "unknown", random: 0.0334 }, false],
    ["none was known yet, and there are none → not", { gateway: "unknown", size: 0 }, false],
  ])("%s", async (_, wish, asks) => {
    const { status, confirm } = statusOf(SETTLED, wish);
    expect(await status.confirm("here", NOW_MS, BEAT_MS)).toBe(true);
    expect(confirm).toHaveBeenCalledTimes(asks ? 1 : 0);
    if (asks) expect(status.gateway()).toBe(7);
  });

  it("none was given to a machine whose socket pays only in a fleet → asked for daily, not with each thirtieth report", async () => {
    const { status, confirm } = statusOf(SETTLED, { gateway: null, random: 0 });
    await status.confirm("here", NOW_MS, BEAT_MS + 1);
    expect(confirm).not.toHaveBeenCalled();
    await status.confirm("here", NOW_MS + DAY_MS, BEAT_MS + 1);
    expect(confirm.mock.calls).toEqual([["edge-1", 1, "a", "here", "x of a", BEAT_MS + 1]]);
  });

  it("requested in vain → requested again after an hour", async () => {
    const { status, confirm } = statusOf(SETTLED, { gateway: "unknown" });
    confirm.mockRejectedValue(new Error("overloaded"));
    expect([
      await status.confirm("here", NOW_MS, BEAT_MS),
      await status.confirm("here", NOW_MS + HOUR_MS - 1, BEAT_MS),
    ]).toEqual([true, true]);
    expect(confirm).toHaveBeenCalledTimes(1);
    await status.confirm("here", NOW_MS + HOUR_MS, BEAT_MS);
    expect(confirm).toHaveBeenCalledTimes(2);
  });

  it("after a new assignment → the new one, and nothing else changes", () => {
    const { status, kept } = statusOf(SETTLED);
    status.assign(8);
    expect(status.gateway()).toBe(8);
    expect(kept.get("settled")).toEqual({ key: "1 a", toldAtMs: SETTLED, gateway: 8 });
  });

  it("assigned to a pin that was not confirmed → not stored", () => {
    for (const status of [statusOf(undefined), statusOf(SETTLED, { settledFor: "0 b" })]) {
      const before = status.kept.get("settled");
      status.status.assign(8);
      expect(status.kept.get("settled")).toBe(before);
    }
  });
});

describe("a rotation", () => {
  const NEXT = { key: "x", thumbprint: "next" };

  it("that the registry accepts → the next key is pinned with this pin's generation, and has a kid", async () => {
    const { status, rotate, prepare } = statusOf(undefined);
    const answer = await status.pinNext(NEXT, MAC_KEYS);
    expect(rotate).toHaveBeenCalledExactlyOnceWith("edge-1", 1, "next", "x");
    expect(prepare).toHaveBeenCalledExactlyOnceWith(NEXT);
    expect(answer).toMatchObject({
      ok: true,
      value: { kid: expect.stringContaining(".next.id.") as string },
    });
  });

  it.each([
    ["that the registry refuses", failure({ reason: "no key for this machine" }), "id"],
    ["during which another machine was pinned", success(null), "other"],
  ])("%s → refused, no key is pinned", async (_, noted, idAfter) => {
    const { status, rotate, prepare, kept } = statusOf(undefined);
    rotate.mockImplementation(() => {
      kept.set("enrolment", { id: idAfter, name: "edge-1", generation: 1 });
      return Promise.resolve(noted);
    });
    expect(await status.pinNext(NEXT, MAC_KEYS)).toEqual(UNAUTHENTICATED);
    expect(prepare).not.toHaveBeenCalled();
  });

  it("without an enrolment → refused without asking", async () => {
    const { status, rotate, kept } = statusOf(undefined);
    kept.delete("enrolment");
    expect(await status.pinNext(NEXT, MAC_KEYS)).toEqual(UNAUTHENTICATED);
    expect(rotate).not.toHaveBeenCalled();
  });
});
