// Tests the log of refused enrolments: its entries, and its limits against floods.
import { describe, expect, it, test } from "vitest";
import { REFUSAL_ENTRIES, logRefusal, readAudit } from "../../../worker/registry/audit.ts";
import { type RefusedEnrolment, Refusals, REFUSAL_LIMITS } from "../../../worker/registry/refusals.ts";
import { withinRegistry } from "../support/registry-storage.ts";

const NOW = 1_000_000_000;
const { everyMs, aMinute, remembered } = REFUSAL_LIMITS;
const refusal = (more: Partial<RefusedEnrolment> = {}): RefusedEnrolment => ({
  token: "t1",
  name: "edge-1",
  thumbprint: "key-1",
  address: "192.0.2.1",
  cause: "the token has expired",
  ...more,
});

/** Returns the log after these refusals, oldest first. Each refusal has its milliseconds after the first. */
const logged = (name: string, noted: readonly (readonly [afterMs: number, refusal: RefusedEnrolment])[]) =>
  withinRegistry(`refusals-${name}`, (sql) => {
    const refusals = new Refusals(sql);
    for (const [afterMs, each] of noted) refusals.note(each, NOW + afterMs);
    return readAudit(sql, { by: "refusals", limit: 1000 }).toReversed();
  });

it("an entry has the token's ID, the name, why, the key and the address", async () => {
  expect(await logged("entry", [[0, refusal()]])).toEqual([
    {
      id: 1,
      at: new Date(NOW).toISOString(),
      who: "token t1",
      what: "machine.refuse",
      target: "edge-1",
      detail: "the token has expired, key key-1, from 192.0.2.1",
    },
  ]);
  const [bare] = await logged("bare", [[0, refusal({ token: undefined, address: "" })]]);
  expect(bare).toMatchObject({ who: "no token", detail: "the token has expired, key key-1" });
});

describe("a repeated refusal", () => {
  test.each<[situation: string, afterMs: number, more: Partial<RefusedEnrolment>, entries: number]>([
    ["of the same address and reason, within the minute", everyMs - 1, { name: "edge-2", token: "t2" }, 1],
    ["a minute later", everyMs, {}, 2],
    ["by a clock that was put back", -1, {}, 2],
    ["of another address", 1, { address: "192.0.2.2" }, 2],
    ["for another reason", 1, { cause: "the token is revoked" }, 2],
  ])("%s", async (situation, afterMs, more, entries) => {
    expect(
      await logged(situation, [
        [0, refusal()],
        [afterMs, refusal(more)],
      ]),
    ).toHaveLength(entries);
  });

  it("of IPv6: one customer has a prefix of 64 bits", async () => {
    const from = (address: string) => [0, refusal({ address })] as const;
    expect(
      await logged("v6", [from("2001:db8::1"), from("2001:db8::2"), from("2001:db8:0:1::1")]),
    ).toHaveLength(2);
  });

  it("that was omitted is counted by the next", async () => {
    const entries = await logged(
      "counted",
      [0, 1, 2, everyMs, everyMs + 1, 2 * everyMs].map((ms) => [ms, refusal()]),
    );
    expect(entries.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/1$/),
      expect.stringMatching(/, and 2 more before$/),
      expect.stringMatching(/, and 1 more before$/),
    ]);
  });
});

describe("a flood", () => {
  const from = (index: number) => refusal({ address: `10.0.${index >> 8}.${index & 255}` });

  it("from many addresses → a limited number of entries a minute, and omitted ones are counted", async () => {
    const all = Array.from({ length: 100 }, (_, index) => [index, from(index)] as const);
    const entries = await logged("flood", [...all, [everyMs, from(99)]]);
    expect(entries).toHaveLength(aMinute + 1);
    expect(entries.at(-1)?.detail).toMatch(/and 1 more before$/);
  });

  it("→ a limited number of addresses is stored", async () => {
    const all = Array.from({ length: remembered + 1 }, (_, index) => [index, from(index)] as const);
    const entries = await logged("memory", [...all, [everyMs, from(0)]]);
    expect(entries.at(-1)?.detail).not.toContain("more before");
  });

  it("→ the newest entries stay", async () => {
    const kept = await withinRegistry("refusals-kept", (sql) => {
      const fill = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${REFUSAL_ENTRIES})
        INSERT INTO refusal_log SELECT i, 0, '', '', '', '' FROM n`;
      sql.exec(fill);
      logRefusal(sql, { who: "token t1", target: "edge-1" }, NOW);
      return sql
        .exec<{ count: number; least: number }>("SELECT COUNT(*) AS count, MIN(id) AS least FROM refusal_log")
        .one();
    });
    expect(kept).toEqual({ count: REFUSAL_ENTRIES, least: 2 });
  });
});

describe("counts, for metrics", () => {
  const inRegistry = <T>(name: string, work: (refusals: Refusals, sql: SqlStorage) => T) =>
    withinRegistry(`refusals-counted-${name}`, (sql) => work(new Refusals(sql), sql));
  const of = (refusals: Refusals, cause: string) =>
    refusals.counts(NOW).find(({ labels }) => labels["reason"] === cause);

  it("each cause is present from the start; each refusal counts, with or without an entry", () =>
    inRegistry("all", (refusals) => {
      expect(refusals.counts(NOW).map(({ value }) => value)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
      for (let index = 0; index < 100; index++) refusals.note(refusal(), NOW + index);
      refusals.note(refusal({ cause: "the token is revoked" }), NOW);
      expect(of(refusals, "the token has expired")).toMatchObject({ value: 100, sinceMs: NOW });
      expect(of(refusals, "the token is revoked")).toMatchObject({ value: 1 });
    }));

  it("no count falls: reported counts are stored, as are those with an entry", () =>
    inRegistry("evicted", (refusals, sql) => {
      refusals.note(refusal(), NOW);
      refusals.note(refusal(), NOW + 1);
      const evicted = new Refusals(sql);
      expect(of(evicted, "the token has expired")).toMatchObject({ value: 1 });
      evicted.note(refusal(), NOW + 2);
      expect(of(evicted, "the token has expired")).toMatchObject({ value: 2 });
      expect(of(new Refusals(sql), "the token has expired")).toMatchObject({ value: 2 });
    }));

  it("a flood → a row for each cause, and nothing is written between entries and scrapes", () =>
    inRegistry("flood", (refusals, sql) => {
      refusals.note(refusal(), NOW);
      const written = () =>
        sql
          .exec<{ count: number }>("SELECT count FROM refusal_counts")
          .toArray()
          .map(({ count }) => count);
      for (let index = 1; index < 1000; index++) refusals.note(refusal(), NOW + index);
      expect(written()).toEqual([1]);
      refusals.counts(NOW);
      expect(written()).toEqual([1000]);
    }));
});
