// Tests the registry's tables: migrations from older versions, and which entries the audit log deletes.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import {
  audit,
  AUDIT_KEPT_MS,
  CHANGES_A_DAY,
  logMachine,
  MACHINE_ENTRIES,
  MACHINE_ENTRIES_A_NAME,
  mayChange,
  readAudit,
} from "../../../worker/registry/audit.ts";
import { changedAtMs, findPin, isBuried, listRevocations } from "../../../worker/registry/pins.ts";
import { REGISTRY_MIGRATIONS } from "../../../worker/registry/schema.ts";
import { findToken } from "../../../worker/registry/tokens.ts";
import { migrate } from "../../../worker/storage/migrations.ts";
import { rowsReadBy } from "../support/rows-read.ts";

const within = <Result>(name: string, act: (storage: DurableObjectStorage) => Result) =>
  runInDurableObject(env.REGISTRY.getByName(name), (_, { storage }) => act(storage));

function dropTables({ sql }: DurableObjectStorage): void {
  const tables =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_*' AND name NOT GLOB 'sqlite_*'";
  for (const { name } of sql.exec<{ name: string }>(tables).toArray()) sql.exec(`DROP TABLE ${name}`);
}

/** Makes an empty registry that has run this number of migrations. */
function beginAgain(storage: DurableObjectStorage, migrations: number): void {
  dropTables(storage);
  migrate(storage, REGISTRY_MIGRATIONS.slice(0, migrations));
}

/** The tables of registries from before there were pins. */
const OLD_REGISTRY = `
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, names TEXT NOT NULL, expires_at_ms INTEGER NOT NULL,
    uses INTEGER NOT NULL, used INTEGER NOT NULL, without_facts_only_taint INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE enrolments (
    token TEXT NOT NULL, name TEXT NOT NULL, thumbprint TEXT NOT NULL, admitted_at_ms INTEGER NOT NULL,
    PRIMARY KEY (token, name, thumbprint)
  ) WITHOUT ROWID;
  CREATE TABLE tombstones (
    thumbprint TEXT NOT NULL, name TEXT NOT NULL, left_at_ms INTEGER NOT NULL, PRIMARY KEY (thumbprint, name)
  ) WITHOUT ROWID;
  INSERT INTO tokens VALUES ('t1', 'key-1', 'edge-*', 5000, 3, 2, 1), ('t2', 'key-2', 'edge-2', 1000, 1, 0, 0);
  INSERT INTO enrolments VALUES ('t1', 'edge-1', 'later', 200), ('t1', 'edge-1', 'first', 100);`;

describe("a registry before there were pins", () => {
  it("→ its tokens stay valid, and a name belongs to the key that had it first", async () => {
    const found = await within("old-registry", (storage) => {
      dropTables(storage);
      storage.sql.exec(OLD_REGISTRY);
      migrate(storage, REGISTRY_MIGRATIONS);
      migrate(storage, REGISTRY_MIGRATIONS);
      const { sql } = storage;
      return { t1: findToken(sql, "t1", 2000), t2: findToken(sql, "t2", 2000), pin: findPin(sql, "edge-1") };
    });
    expect(found).toMatchObject({
      t1: {
        key: "key-1",
        names: "edge-*",
        uses: 3,
        used: 2,
        state: "valid",
        grant: { withoutFactsOnlyTaint: true },
      },
      t2: { state: "expired", rejoin: false, grant: { withoutFactsOnlyTaint: false } },
      pin: { thumbprint: "first", generation: 0, pinnedAtMs: 100, reportedAtMs: 100, revokedAtMs: null },
    });
  });
});

it("a registry with a single log → operators' actions stay, machines' entries move", async () => {
  const logs = await within("one-log", (storage) => {
    const { sql } = storage;
    beginAgain(storage, 3);
    const row = "INSERT INTO audit (at_ms, who, what, target, detail) VALUES (1, ?, ?, 'a', '')";
    for (const [who, what] of ENTRIES) sql.exec(row, who, what);
    migrate(storage, REGISTRY_MIGRATIONS);
    const acts = (by: "operators" | "machines") => readAudit(sql, { by, limit: 10 }).map(({ what }) => what);
    return [acts("operators"), acts("machines")];
  });
  expect(logs).toEqual([
    ["machine.approve", "token.create"],
    ["machine.rotate", "machine.enrol"],
  ]);
});

it("a registry whose keys lost their names without reports → those are recorded; an owner keeps its name", async () => {
  const found = await within("lapsed-keys", (storage) => {
    const { sql } = storage;
    beginAgain(storage, 4);
    const pin = "INSERT INTO pins VALUES (?, ?, ?, 1, 't', '{}', 300, 301, NULL)";
    sql.exec(pin, "edge-1", "has-it", "next");
    sql.exec(pin, "edge-2", "alone", null);
    const enrolment = "INSERT INTO enrolments VALUES (?, ?, ?, ?)";
    for (const [token, name, thumbprint, atMs] of ENROLLED_ONCE)
      sql.exec(enrolment, token, name, thumbprint, atMs);
    migrate(storage, REGISTRY_MIGRATIONS);
    const keys = ["lapsed", "has-it", "next", "alone"];
    const left = sql
      .exec<{ thumbprint: string }>("SELECT thumbprint FROM enrolments ORDER BY thumbprint")
      .toArray();
    return {
      buried: keys.filter((key) => isBuried(sql, key)),
      left: left.map(({ thumbprint }) => thumbprint),
      changedAtMs: [changedAtMs(sql, "edge-1"), changedAtMs(sql, "edge-3"), changedAtMs(sql, "edge-4")],
    };
  });
  expect(found).toEqual({
    buried: ["lapsed"],
    left: ["alone", "has-it", "next"],
    changedAtMs: [300, 200, 0],
  });
});

const ENROLLED_ONCE = [
  ["t1", "edge-1", "lapsed", 100],
  ["t2", "edge-1", "has-it", 300],
  ["t3", "edge-1", "next", 300],
  ["t4", "edge-2", "alone", 300],
  ["t5", "edge-3", "lapsed", 150],
  ["t6", "edge-3", "lapsed", 200],
] as const;

const ENTRIES = [
  ["admin secret", "token.create"],
  ["token abc", "machine.enrol"],
  ["machine def", "machine.rotate"],
  ["alice@example.com", "machine.approve"],
] as const;

const ACT = { who: "a test", what: "token.create", target: "t" } as const;
const change = (target: string) => ({ who: "machine abc", what: "machine.rotate", target }) as const;

describe("the audit log", () => {
  it.each([
    ["as old as is kept → stays", AUDIT_KEPT_MS, 2],
    ["older → goes with an entry that comes", AUDIT_KEPT_MS + 1, 1],
  ])("%s", async (situation, ageMs, left) => {
    const kept = await within(`audit-${situation.length}`, ({ sql }) => {
      audit(sql, ACT, 1);
      audit(sql, ACT, 1 + ageMs);
      return readAudit(sql, { by: "operators", limit: 10 }).length;
    });
    expect(kept).toBe(left);
  });

  it("no entry is deleted for machines' entries", async () => {
    const kept = await within("audit-flooded", ({ sql }) => {
      audit(sql, ACT, 1);
      for (let entry = 0; entry < 1000; entry++) logMachine(sql, change(`edge-${entry % 5}`), 2);
      return readAudit(sql, { by: "operators", limit: 1000 });
    });
    expect(kept).toEqual([expect.objectContaining({ what: "token.create" })]);
  });
});

describe("the log of machines", () => {
  it("keeps the latest entries of each name", async () => {
    const kept = await within("machine-log", ({ sql }) => {
      logMachine(sql, change("quiet"), 1);
      for (let entry = 0; entry < MACHINE_ENTRIES_A_NAME + 20; entry++)
        logMachine(sql, change("loud"), 2 + entry);
      const of = (target: string) => readAudit(sql, { by: "machines", target, limit: 1000 });
      return [of("quiet").length, of("loud").map(({ at }) => Date.parse(at))];
    });
    const newest = Array.from(
      { length: MACHINE_ENTRIES_A_NAME },
      (_, index) => MACHINE_ENTRIES_A_NAME + 21 - index,
    );
    expect(kept).toEqual([1, newest]);
  });

  it("keeps the latest entries of all names together", async () => {
    const kept = await within("machine-log-limit", ({ sql }) => {
      logMachine(sql, change("first"), 1);
      sql.exec("UPDATE machine_log SET id = 1");
      sql.exec(
        "INSERT INTO machine_log SELECT ?, at_ms, who, what, 'second', detail FROM machine_log",
        MACHINE_ENTRIES,
      );
      const atLimit = readAudit(sql, { by: "machines", limit: 10 }).length;
      logMachine(sql, change("third"), 2);
      return [atLimit, readAudit(sql, { by: "machines", limit: 10 }).map(({ target }) => target)];
    });
    expect(kept).toEqual([2, ["third", "second"]]);
  });

  it("a name may change a limited number of times in a day, and again the next day", async () => {
    const DAY_MS = 24 * 3600 * 1000;
    const may = await within("machine-changes", ({ sql }) => {
      const rotates = (name: string, nowMs: number) => mayChange(sql, name, "machine.rotate", nowMs);
      for (let entry = 1; entry < CHANGES_A_DAY; entry++) logMachine(sql, change("edge-1"), 1000);
      const atLimit = rotates("edge-1", 1000);
      logMachine(sql, change("edge-1"), 1000);
      return {
        atLimit,
        over: rotates("edge-1", 1000),
        anotherKind: mayChange(sql, "edge-1", "machine.enrol", 1000),
        anotherName: rotates("edge-2", 1000),
        lastOfTheDay: rotates("edge-1", 999 + DAY_MS),
        nextDay: rotates("edge-1", 1000 + DAY_MS),
      };
    });
    expect(may).toEqual({
      atLimit: true,
      over: false,
      anotherKind: true,
      anotherName: true,
      lastOfTheDay: false,
      nextDay: true,
    });
  });
});

describe("a page of ten among a thousand entries, half of them of one name", () => {
  const series = "WITH RECURSIVE each (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM each WHERE id < 1000)";
  const logged = `${series} INSERT INTO machine_log SELECT id, id, 'w', 'machine.rotate', 'edge-' || (id % 2), '' FROM each`;
  const buried = `${series} INSERT INTO tombstones SELECT 'key-' || id, 'edge', id, 'revoked' FROM each`;
  const entries = (query: { before?: number; target?: string }) => (sql: SqlStorage) =>
    readAudit(sql, { by: "machines", limit: 10, ...query }).map(({ id }) => id);
  const revocations = (after?: string) => (sql: SqlStorage) =>
    listRevocations(sql, { after, limit: 10 }).revocations.map(({ thumbprint }) => thumbprint);
  const down = (from: number, by: number) => Array.from({ length: 10 }, (_, index) => from - by * index);
  const keys = (from: number) => down(from, 1).map((id) => `key-${id}`);

  it.each<[string, (sql: SqlStorage) => unknown[], unknown[]]>([
    ["the newest", entries({}), down(1000, 1)],
    ["those before an entry", entries({ before: 101 }), down(100, 1)],
    ["those of a name", entries({ target: "edge-1" }), down(999, 2)],
    ["those of a name before an entry", entries({ target: "edge-1", before: 101 }), down(99, 2)],
    ["those of a name that nobody has", entries({ target: "nobody" }), []],
    ["the newest revocations", revocations(), keys(1000)],
    ["revocations before one", revocations("101.key-101"), keys(100)],
  ])("%s → no other rows are read", async (situation, read, expected) => {
    const [rows, page] = await within(`pages ${situation}`, ({ sql }) => {
      sql.exec(logged);
      sql.exec(buried);
      return [rowsReadBy(sql, read), read(sql)];
    });
    expect(page).toEqual(expected);
    // Each of the entries may cost two reads: a row of SQLite's index, and the row that it refers to.
    expect(rows).toBeLessThanOrEqual(2 * 11);
  });
});
