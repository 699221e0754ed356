// Tests which machines an outage has, in any order of the updates, and how the outage ends.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { outageSchema, outagesSchema } from "../../../shared/protocol/outages.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import type { LabelRequirement } from "../../../shared/kubernetes/label-selector.ts";
import { nameWithin } from "../../../worker/fleet/machine-search.ts";
import { OUTAGE_LIMITS, Outages } from "../../../worker/fleet/outages.ts";
import { ADMIN_SECRET } from "../support/constants.ts";
import { operator, send } from "../support/machine.ts";
import { FLEET_START_MS, machineName, summaryOf, updateOf } from "../support/made-up-fleet.ts";

const ALL = { limit: 1000 };
const at = (seconds: number) => FLEET_START_MS + seconds * 1000;
const iso = (seconds: number) => new Date(at(seconds)).toISOString();

class Fleet {
  readonly #rows: MachineRows;
  readonly outages: Outages;
  readonly sql: SqlStorage;
  #version = 0;

  constructor(sql: SqlStorage) {
    this.sql = sql;
    this.#rows = new MachineRows(sql);
    this.outages = new Outages(sql);
  }

  tell(index: number, change: Partial<MachineSummary>): void {
    const { change: told } = this.#rows.take(
      updateOf(index, ++this.#version, { address: "203.0.113.7", ...change }),
    );
    if (told) this.outages.note(told);
  }

  silent(index: number, since: number, change: Partial<MachineSummary> = {}): void {
    this.tell(index, { state: "silent", sinceMs: at(since + 50), silentSinceMs: at(since), ...change });
  }

  back(index: number, when: number, change: Partial<MachineSummary> = {}): void {
    this.tell(index, { sinceMs: at(when), ...change });
  }

  leave(index: number, when: number): void {
    const change = this.#rows.remove(machineName(index), 1, at(when), "left");
    if (change) this.outages.note(change);
  }

  /** The rows of outages without a machine, and of machines without their outage. */
  get unlinked() {
    const of = (table: string, column: string, others: string) =>
      this.sql.exec(`SELECT * FROM ${table} WHERE ${column} NOT IN (SELECT ${others})`).toArray();
    return [
      ...of("outages", "id", "outage FROM outage_machines"),
      ...of("outage_machines", "outage", "id FROM outages"),
    ];
  }

  /** The outages in short: machines, start, end, result. */
  get shown() {
    return this.outages
      .list(ALL)
      .outages.map(({ names, startedAt, endedAt, was }) => [
        names.map((name) => Number(name.slice(-3))).join(" "),
        (Date.parse(startedAt) - FLEET_START_MS) / 1000,
        endedAt && (Date.parse(endedAt) - FLEET_START_MS) / 1000,
        was,
      ]);
  }
}

let objects = 0;
function inIndex(work: (fleet: Fleet) => void): Promise<void> {
  const stub = env.INDEX.getByName(`outages-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) => {
    work(new Fleet(storage.sql));
  });
}

describe("machines of one address that fall silent", () => {
  const cases: [situation: string, happens: (fleet: Fleet) => void, shown: unknown[]][] = [
    ["one alone → none", (f) => f.silent(1, 0), []],
    ["two within a minute → one", (f) => [f.silent(1, 0), f.silent(2, 60)], [["1 2", 0, null, ""]]],
    ["two further apart → none", (f) => [f.silent(1, 0), f.silent(2, 61)], []],
    [
      "reported in any order → sorted by their start",
      (f) => [f.silent(2, 60), f.silent(3, 30), f.silent(1, 0)],
      [["1 2 3", 0, null, ""]],
    ],
    [
      "a minute after the last one, and more after the first → the next outage",
      (f) => [f.silent(1, 0), f.silent(2, 50), f.silent(3, 70), f.silent(4, 80)],
      [
        ["3 4", 70, null, ""],
        ["1 2", 0, null, ""],
      ],
    ],
    [
      "one reported an hour later → joins the ended outage, which one machine does not open again",
      (f) => [f.silent(1, 0), f.silent(2, 1), f.back(1, 90), f.back(2, 95), f.silent(3, 2)],
      [["1 2 3", 0, 95, "cut off"]],
    ],
    [
      "two reported an hour later → join the ended outage, which is open again",
      (f) => [
        [f.silent(1, 0), f.silent(2, 1), f.back(1, 90), f.back(2, 95)],
        [f.silent(3, 2), f.silent(4, 2)],
      ],
      [["1 2 3 4", 0, null, "cut off"]],
    ],
    [
      "one reported after the other's return → both, in an outage that has ended",
      (f) => [f.silent(1, 0), f.back(1, 90), f.silent(2, 2)],
      [["1 2", 0, 90, "cut off"]],
    ],
    [
      "one returned before two, which it divided, were noticed → the two are one outage",
      (f) => [f.silent(1, -30), f.silent(2, 0), f.silent(3, 59), f.back(1, 60)],
      [["1 2 3", -30, null, "cut off"]],
    ],
    [
      "one that divides two returns between them → the two are one outage",
      (f) => [f.silent(1, -30), f.silent(2, 0), f.back(1, 50), f.silent(3, 59)],
      [["1 2 3", -30, null, "cut off"]],
    ],
    [
      "one that returned left one, and another one was silent more than a minute later → two",
      (f) => [f.silent(1, -30), f.silent(2, 0), f.back(1, 50), f.silent(3, 61)],
      [["1 2", -30, 50, "cut off"]],
    ],
    [
      "each minute another one, while the earlier ones return → two minutes at most are one outage",
      (f) => [
        [f.silent(1, 0), f.silent(2, 60), f.back(1, 61)],
        [f.silent(3, 120), f.back(2, 121), f.silent(4, 121), f.back(3, 122)],
      ],
      [["1 2 3", 0, 122, "cut off"]],
    ],
    [
      "one of another address → is none of it",
      (f) => [f.silent(1, 0), f.silent(2, 0), f.silent(3, 0, { address: "203.0.113.8" })],
      [["1 2", 0, null, ""]],
    ],
    [
      "of IPv6 the first 64 bits count",
      (f) => [f.silent(1, 0, { address: "2001:db8::1" }), f.silent(2, 0, { address: "2001:db8::2" })],
      [["1 2", 0, null, ""]],
    ],
    [
      "of no known address → none",
      (f) => [f.silent(1, 0, { address: "" }), f.silent(2, 0, { address: "" })],
      [],
    ],
    ["the same one twice → none", (f) => [f.silent(1, 0), f.back(1, 50), f.silent(1, 55)], []],
    [
      "one of them again within that minute → is counted once",
      (f) => [
        f.silent(1, 0),
        f.silent(2, 0),
        f.back(1, 50, { boot: "new" }),
        f.silent(1, 55, { boot: "new" }),
      ],
      [["1 2", 0, null, ""]],
    ],
    [
      "one is silent elsewhere → has left the outage, which ends",
      (f) => [f.silent(1, 0), f.silent(2, 0), f.silent(1, 0, { address: "203.0.113.8" })],
      [["1 2", 0, 0, "cut off"]],
    ],
    [
      "one more than a minute before another, and a third between them → is none of theirs",
      (f) => [f.silent(1, 0), f.silent(2, 61), f.silent(3, 60)],
      [["2 3", 60, null, ""]],
    ],
    [
      "one returned, and the next one is silent → the first one's silence is still known",
      (f) => [f.silent(1, 0), f.back(1, 90), f.silent(2, 100), f.silent(3, 2)],
      [["1 3", 0, 90, "cut off"]],
    ],
    [
      "more news of silent ones → change nothing",
      (f) => [f.silent(1, 0), f.silent(2, 0), f.silent(1, 0, { why: "the node controller says Unknown" })],
      [["1 2", 0, null, ""]],
    ],
  ];
  it.each(cases)("%s", (_, happens, shown) =>
    inIndex((fleet) => {
      happens(fleet);
      expect(fleet.shown).toEqual(shown);
      expect(fleet.unlinked).toEqual([]);
    }),
  );
});

describe("an outage of two", () => {
  const cases: [situation: string, happens: (fleet: Fleet) => void, shown: unknown[]][] = [
    [
      "one is back → ended: the other one alone is no outage",
      (f) => f.back(1, 100),
      ["1 2", 0, 100, "cut off"],
    ],
    [
      "one is back within a minute of the other → that is the end",
      (f) => [f.back(1, 100), f.back(2, 160)],
      ["1 2", 0, 160, "cut off"],
    ],
    [
      "one is back later → the end stays",
      (f) => [f.back(1, 100), f.back(2, 161)],
      ["1 2", 0, 100, "cut off"],
    ],
    ["both were cut off", (f) => [f.back(1, 100), f.back(2, 120)], ["1 2", 0, 120, "cut off"]],
    [
      "both were down",
      (f) => [f.back(1, 120, { boot: "x" }), f.back(2, 100, { boot: "y" })],
      ["1 2", 0, 120, "down"],
    ],
    [
      "one was down, one has left",
      (f) => [f.back(1, 100, { boot: "x" }), f.leave(2, 150)],
      ["1 2", 0, 150, "1 down, 1 left"],
    ],
    [
      "both are silent again, without an update in between",
      (f) => [f.silent(1, 500), f.silent(2, 501)],
      ["1 2", 500, null, ""],
    ],
  ];
  it.each(cases)("%s", (_, happens, shown) =>
    inIndex((fleet) => {
      fleet.silent(1, 0);
      fleet.silent(2, 10);
      happens(fleet);
      expect(fleet.shown[0]).toEqual(shown);
    }),
  );
});

it("a machine that is silent alone now and then → the search reads one row of it, not all", () =>
  inIndex((fleet) => {
    for (let hour = 0; hour < 30; hour++) {
      fleet.silent(1, hour * 7200);
      fleet.back(1, hour * 7200 + 60);
    }
    const rows = (table: string) => fleet.sql.exec(`SELECT * FROM ${table}`).toArray().length;
    expect([rows("outages"), rows("outage_machines")]).toEqual([1, 1]);
  }));

/** Stores ended outages of two machines each, 1000 seconds apart, before the fleet's start. */
function past(sql: SqlStorage, network: string, count: number): void {
  const { last } = sql.exec<{ last: number }>("SELECT IFNULL(MAX(id), 0) AS last FROM outages").one();
  const numbers = "WITH RECURSIVE number(at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM number WHERE at < ?1)";
  sql.exec(
    `${numbers} INSERT INTO outages SELECT ?2 + at, ?3, ?4 - at * 1000000, ?4 - at * 1000000, ?4 - at * 1000000 + 60000,
     2, 0, '{"cut off":2}', 0 FROM number`,
    count,
    last,
    network,
    FLEET_START_MS,
  );
  sql.exec(
    `${numbers} INSERT INTO outage_machines SELECT ?2 + at, names.value, ?4 - at * 1000000, ?4, 'cut off'
     FROM number, json_each(?3) AS names`,
    count,
    last,
    JSON.stringify([1, 2].map(machineName)),
    FLEET_START_MS,
  );
}

const SILENT: Partial<MachineSummary> = { state: "silent", silentSinceMs: at(0), address: "203.0.113.7" };

describe("a network with many outages", () => {
  it.each<[situation: string, happens: (fleet: Fleet) => void]>([
    ["another one turned silent long ago, and is reported now", (f) => f.silent(3, -1000)],
    ["one is back", (f) => f.back(1, 100)],
    ["one is asked about", (f) => void f.outages.of(machineName(1), summaryOf(1, SILENT))],
  ])("%s → few rows are read, not those of all", (_, happens) =>
    inIndex((fleet) => {
      past(fleet.sql, "203.0.113.7", 900);
      fleet.silent(1, 0);
      const exec = fleet.sql.exec.bind(fleet.sql);
      const cursors: { rowsRead: number }[] = [];
      Object.defineProperty(fleet.sql, "exec", {
        configurable: true,
        value: (...args: Parameters<typeof exec>) => {
          const cursor = exec(...args);
          cursors.push(cursor);
          return cursor;
        },
      });
      happens(fleet);
      Object.defineProperty(fleet.sql, "exec", { configurable: true, value: exec });
      expect(cursors.length).toBeGreaterThan(0);
      expect(cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThan(100);
    }),
  );

  it("keeps the latest ended ones up to the limit, and no outage of another network is deleted", () =>
    inIndex((fleet) => {
      const { keptOfNetwork, prunedAtOnce } = OUTAGE_LIMITS;
      past(fleet.sql, "203.0.113.8", 3);
      past(fleet.sql, "203.0.113.7", keptOfNetwork + prunedAtOnce - 1);
      const kept = (network: string) =>
        fleet.sql
          .exec<{ started_ms: number }>(
            "SELECT started_ms FROM outages WHERE network = ? ORDER BY started_ms DESC",
            network,
          )
          .toArray()
          .map(({ started_ms: ms }) => (ms - FLEET_START_MS) / 1_000_000);
      for (const index of [1, 2]) fleet.silent(index, 0);
      const latest = Array.from({ length: keptOfNetwork + 1 }, (_, at) => 0 - at);
      expect(kept("203.0.113.7")).toEqual(latest);
      expect(kept("203.0.113.8")).toEqual([-1, -2, -3]);
      const machines = fleet.sql.exec("SELECT DISTINCT outage FROM outage_machines").toArray();
      expect(machines).toHaveLength(latest.length + 3);
      for (const index of [1, 2]) fleet.back(index, 100);
      fleet.silent(1, 1000);
      expect(kept("203.0.113.7")).toEqual([1, ...latest.slice(0, -1)]);
    }));
});

it("more outages than are kept → the oldest ended ones are deleted, some at each tenth outage", () =>
  inIndex((fleet) => {
    const { kept, prunedAtOnce } = OUTAGE_LIMITS;
    past(fleet.sql, "203.0.113.8", prunedAtOnce + 5);
    fleet.sql.exec("UPDATE outages SET ended_ms = NULL WHERE id = 3");
    past(fleet.sql, "203.0.113.9", 1);
    fleet.sql.exec(
      "UPDATE outage_machines SET outage = ?1 WHERE outage = ?2",
      kept + prunedAtOnce - 2,
      prunedAtOnce + 6,
    );
    fleet.sql.exec("UPDATE outages SET id = ?1 WHERE id = ?2", kept + prunedAtOnce - 2, prunedAtOnce + 6);
    const first = () => [...fleet.sql.exec("SELECT id FROM outages ORDER BY id LIMIT 3").raw()].flat();
    fleet.silent(1, 0);
    expect(first()).toEqual([1, 2, 3]);
    fleet.silent(2, 0, { address: "203.0.113.10" });
    expect(first()).toEqual([3, prunedAtOnce + 1, prunedAtOnce + 2]);
    expect(fleet.unlinked).toEqual([]);
  }));

it("a single machine's silence → no outage for operators; an unknown outage → over", () =>
  inIndex((fleet) => {
    fleet.silent(1, 0);
    const { outages } = fleet;
    expect([1, 2].map((id) => outages.get(id, { after: "", limit: 10 }))).toEqual([null, null]);
    expect(outages.isOver(2)).toBe(true);
  }));

describe("the list of outages", () => {
  /** Makes four outages, which start at the times 0, 1000, 2000 and 3000. The second outage does not end. */
  const happened = (fleet: Fleet) => {
    for (const [index, since] of [0, 1000, 2000, 3000].entries()) {
      for (const each of [2 * index, 2 * index + 1]) {
        fleet.silent(each, since);
        if (index !== 1) fleet.back(each, since + 100);
      }
    }
  };
  const started = (outages: { startedAt: string }[]) =>
    outages.map(({ startedAt }) => (Date.parse(startedAt) - FLEET_START_MS) / 1000);

  it("open ones first, then the latest; the pages have each once", () =>
    inIndex((fleet) => {
      happened(fleet);
      const pages: number[][] = [];
      for (let before: string | undefined, page; page?.next !== null; before = page.next ?? undefined) {
        page = fleet.outages.list({ limit: 1, before });
        pages.push(started(page.outages));
      }
      expect(pages).toEqual([[1000], [3000], [2000], [0]]);
    }));

  it.each([
    [{ since: iso(2100) }, [1000, 3000]],
    [{ until: iso(2000) }, [1000, 0]],
    [{ since: iso(2000), until: iso(2001) }, [1000, 2000]],
  ])("%j → what was going on then: %j", (query, expected) =>
    inIndex((fleet) => {
      happened(fleet);
      expect(started(fleet.outages.list({ ...ALL, ...query }).outages)).toEqual(expected);
    }),
  );

  it("names ten machines; a single outage lists all of them, page by page", () =>
    inIndex((fleet) => {
      for (let index = 0; index < 12; index++) fleet.silent(index, index);
      const [outage] = fleet.outages.list(ALL).outages;
      expect([outage?.machines, outage?.names.length]).toEqual([12, OUTAGE_LIMITS.names]);
      const first = fleet.outages.get(outage!.id, { after: "", limit: 7 });
      const second = fleet.outages.get(outage!.id, { after: first!.next!, limit: 7 });
      expect([...first!.list, ...second!.list].map(({ name }) => name)).toEqual(
        Array.from({ length: 12 }, (_, index) => machineName(index)),
      );
      expect(second!.next).toBeNull();
      expect(fleet.outages.get(outage!.id, { after: "", limit: 12 })).toMatchObject({ next: null });
    }));
});

describe("outages of some machines alone", () => {
  const SITE: LabelRequirement[] = [{ key: "site", operator: "in", values: ["x"] }];
  const within = nameWithin(SITE);
  const [X, Y] = ["x", "y"].map((site) => ({ labels: { site } }));

  it.each<[string, (fleet: Fleet) => void, object[]]>([
    ["of others alone → none", (fleet) => [1, 2].forEach((each) => fleet.silent(each, 0, Y)), []],
    [
      "with one machine that matches → none: it shows nothing about the others",
      (fleet) => [1, 2].forEach((each) => fleet.silent(each, 0, each === 1 ? X : Y)),
      [],
    ],
    [
      "with two that match, which began later and are back → their times, counts and ends",
      (fleet) => {
        for (const index of [3, 4]) fleet.silent(index, 0, Y);
        for (const index of [1, 2]) fleet.silent(index, 5, X);
        for (const index of [1, 2]) fleet.back(index, 60 + index, X);
      },
      [
        {
          machines: 2,
          silent: 0,
          startedAt: iso(5),
          endedAt: iso(62),
          was: "cut off",
          names: [1, 2].map(machineName),
        },
      ],
    ],
  ])("%s", (_, happen, expected) =>
    inIndex((fleet) => {
      happen(fleet);
      const { outages } = fleet.outages.list(ALL, within);
      expect(outages).toMatchObject(expected);
      expect(outages).toHaveLength(expected.length);
      const [all] = fleet.outages.list(ALL).outages;
      const one = fleet.outages.get(all!.id, { after: "", limit: 9 }, within);
      expect(one?.list.map(({ name }) => name)).toEqual(outages[0]?.names);
    }),
  );
});

it("operators read it over HTTP", async () => {
  const address = "198.51.100.9";
  for (const index of [801, 802])
    await env.INDEX.getByName("index").tell(
      updateOf(index, 1, { state: "silent", silentSinceMs: at(index), address }),
    );
  const list = outagesSchema.parse((await operator("GET", "/v1/outages")).body);
  const outage = list.outages.find(({ network }) => network === address)!;
  expect(outage.names).toEqual([machineName(801), machineName(802)]);
  const one = outageSchema.parse((await operator("GET", `/v1/outages/${outage.id}`)).body);
  expect(one.list.map(({ silentSince }) => silentSince)).toEqual([iso(801), iso(802)]);
  const linesOf = async (accept: string, query = "") => {
    const headers = { authorization: `Bearer ${ADMIN_SECRET}`, accept };
    return (await (await send(`/v1/outages${query}`, { headers })).text()).split(/\r?\n/);
  };
  const csv = await linesOf("text/csv");
  expect(csv[0]).toBe("id,network,startedAt,endedAt,machines,silent,was,names");
  expect(csv).toHaveLength(list.outages.length + 2);
  expect(csv).toContain(
    `${outage.id},${address},${iso(801)},,2,2,,"${machineName(801)},${machineName(802)}"`,
  );
  expect(await linesOf("text/csv", "?limit=1")).toHaveLength(3);
  const lines = await linesOf("application/x-ndjson");
  expect(lines.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual(list.outages);
});

it.each([
  ["/v1/outages/999999", 404],
  ["/v1/outages/x", 404],
  ["/v1/outages?before=x", 400],
  ["/v1/outages?since=yesterday", 400],
  ["/v1/outages?limit=1001", 400],
  ["/v1/outages?from=1", 400],
  ["/v1/outages/1?limit=0", 400],
])("%s → %i", async (path, status) => {
  const response = await send(path, { headers: { authorization: `Bearer ${ADMIN_SECRET}` } });
  expect(response.status).toBe(status);
});
