// Tests which enrolments update the fleet index's list of pending machines: only those that change the list.
import { describe, expect, it } from "vitest";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import {
  type AskedEnrolment,
  listPending,
  PendingUpdates,
  withdrawPending,
} from "../../../worker/registry/pending.ts";
import { PENDING_MS } from "../../../worker/registry/tokens.ts";
import { withinRegistry } from "../support/registry-storage.ts";

const START_MS = Date.UTC(2026, 0, 1);
const MACHINE = '{"key":"","machineID":"","systemUUID":"","address":""}';

/** A registry with pending machines, and the updates that its fleet index gets. */
class Waiting {
  readonly sql: SqlStorage;
  readonly sent: string[][] = [];
  readonly updates: PendingUpdates;
  nowMs = START_MS;
  isDown = false;
  /** The number of queries for the updates. */
  reads = 0;

  constructor(sql: SqlStorage, machines: number) {
    this.sql = sql;
    for (let each = 1; each <= machines; each++) this.asks(each);
    const exec: SqlStorage["exec"] = (...query) => {
      this.reads++;
      return sql.exec(...query);
    };
    this.updates = new PendingUpdates({
      sql: { exec } as SqlStorage,
      nowMs: () => this.nowMs,
      send: async (pending) => {
        this.sent.push(pending.map(({ name }) => name));
        if (this.isDown) throw new Error("the index is down");
      },
    });
  }

  asks(machine: number, token = "t"): void {
    const insert = "INSERT INTO pending VALUES (?, ?, ?, ?, ?)";
    this.sql.exec(insert, token, nameOf(machine), `key-${machine}`, MACHINE, START_MS + machine);
  }

  async enrols(machine: number, outcome: AskedEnrolment["outcome"], token = "t"): Promise<void> {
    const [name, thumbprint] = [nameOf(machine), `key-${machine}`];
    if (outcome === "admitted") withdrawPending(this.sql, name, thumbprint);
    await this.updates.enrolled({ name, thumbprint, token, outcome });
  }
}

const nameOf = (machine: number) => `m-${String(machine).padStart(5, "0")}`;
const ALL = FEED_LIMITS.pending;

describe("with two pending machines that the index has", () => {
  it.each<[string, (waiting: Waiting) => Promise<void>, string[][]]>([
    ["one asks again → nothing is told", (waiting) => waiting.enrols(1, "waits"), []],
    ["one is admitted → who waits yet", (waiting) => waiting.enrols(1, "admitted"), [["m-00002"]]],
    ["one that did not wait is admitted → nothing", (waiting) => waiting.enrols(3, "admitted"), []],
    ["one is refused → nothing", (waiting) => waiting.enrols(3, "refused"), []],
    [
      "another one waits → all three",
      async (waiting) => {
        waiting.asks(3);
        await waiting.enrols(3, "waits");
      },
      [["m-00001", "m-00002", "m-00003"]],
    ],
    [
      "one waits with another token as well → both",
      async (waiting) => {
        waiting.asks(2, "u");
        await waiting.enrols(2, "waits", "u");
      },
      [["m-00001", "m-00002", "m-00002"]],
    ],
    [
      "the first has waited for too long, and another one asks again → who waits yet",
      async (waiting) => {
        waiting.nowMs = START_MS + 1 + PENDING_MS;
        await waiting.enrols(2, "waits");
      },
      [["m-00002"]],
    ],
    [
      "the index does not answer → it is told again with the next one",
      async (waiting) => {
        waiting.isDown = true;
        await waiting.enrols(1, "admitted");
        waiting.isDown = false;
        await waiting.enrols(2, "waits");
        await waiting.enrols(2, "waits");
      },
      [["m-00002"], ["m-00002"]],
    ],
  ])("%s", async (situation, act, expected) => {
    const sent = await withinRegistry(`teller ${situation}`, async (sql) => {
      const waiting = new Waiting(sql, 2);
      await waiting.updates.send();
      waiting.sent.length = 0;
      await act(waiting);
      return waiting.sent;
    });
    expect(sent).toEqual(expected);
  });
});

it.each<[situation: string, waitedMs: number, isRead: boolean]>([
  ["a moment before the first one has waited for too long → the list is not read", PENDING_MS, false],
  ["as the first one has waited for too long → the list is read", PENDING_MS + 1, true],
])("a pending machine asks again %s", async (situation, waitedMs, isRead) => {
  const found = await withinRegistry(`teller-reads ${situation}`, async (sql) => {
    const waiting = new Waiting(sql, 2);
    await waiting.updates.send();
    waiting.reads = 0;
    waiting.nowMs = START_MS + waitedMs;
    await waiting.enrols(2, "waits");
    return waiting.reads > 0;
  });
  expect(found).toBe(isRead);
});

it("after an eviction → the first enrolment sends an update", async () => {
  const sent = await withinRegistry("teller-evicted", async (sql) => {
    const waiting = new Waiting(sql, 1);
    for (let times = 0; times < 2; times++) await waiting.enrols(2, "admitted");
    return waiting.sent;
  });
  expect(sent).toEqual([["m-00001"]]);
});

describe("with more pending machines than an update has", () => {
  it.each<[string, number, number]>([
    ["one that is told asks again", 1, 0],
    ["one that is not told asks again", ALL + 1, 0],
    ["one that is told is admitted → the next one is told", 1, 1],
  ])("%s", async (situation, machine, sent) => {
    const found = await withinRegistry(`teller-many ${situation}`, async (sql) => {
      const waiting = new Waiting(sql, ALL + 1);
      await waiting.updates.send();
      const first = waiting.sent.pop();
      await waiting.enrols(machine, sent > 0 ? "admitted" : "waits");
      return [first?.length, waiting.sent];
    });
    const next = Array.from({ length: ALL }, (_, index) => nameOf(index + 2));
    expect(found).toEqual([ALL, sent > 0 ? [next] : []]);
  });
});

describe("the list of waiting machines", () => {
  const ids = (sql: SqlStorage, page?: Parameters<typeof listPending>[2]) =>
    listPending(sql, START_MS, page).map(({ name, token }) => `${name} ${token}`);
  const add = (sql: SqlStorage, name: string, token: string, askedMs: number) =>
    sql.exec("INSERT INTO pending VALUES (?, ?, ?, ?, ?)", token, name, "key", MACHINE, askedMs);

  it("→ pages in the order of their requests; a page begins after the last row of the page before", async () => {
    const found = await withinRegistry("pending-pages", (sql) => {
      add(sql, "b.shop.example.com", "t2", START_MS);
      add(sql, "a", "t2", START_MS);
      add(sql, "c", "t1", START_MS);
      add(sql, "d", "t0", START_MS + 1);
      return {
        all: ids(sql),
        first: ids(sql, { limit: 3 }),
        afterName: ids(sql, { after: `${START_MS}.t2.a`, limit: 1 }),
        afterDots: ids(sql, { after: `${START_MS}.t2.b.shop.example.com`, limit: 3 }),
        afterLast: ids(sql, { after: `${START_MS + 1}.t0.d`, limit: 3 }),
      };
    });
    expect(found).toEqual({
      all: ["c t1", "a t2", "b.shop.example.com t2", "d t0"],
      first: ["c t1", "a t2", "b.shop.example.com t2"],
      afterName: ["b.shop.example.com t2"],
      afterDots: ["d t0"],
      afterLast: [],
    });
  });
});
