// Tests an export's cursors, and which pages of a backup an import refuses although their MACs are valid.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { base64url } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import {
  BACKUP_TABLES,
  type BackupPage,
  type BackupTable,
  LATER_TABLES,
} from "../../../shared/protocol/backup.ts";
import type { BackupAnswer } from "../../../shared/protocol/administration-answers.ts";
import { BACKUP_LIMITS } from "../../../shared/protocol/limits.ts";
import { fleetIndex, registry } from "../../../worker/env.ts";
import { exported, imported, loseAll, pageAfter, resigned, stateOf, take } from "../support/backup.ts";
import { setClock, stopClock } from "../support/clock.ts";
import { mintToken, operator, send } from "../support/machine.ts";

beforeEach(() => loseAll([]));

/** Returns the audit log's lines about exports: the operator and the backup's ID. */
const exportsInLog = async () => {
  const { entries } = (
    await operator<{ entries: { who: string; what: string; target: string }[] }>("GET", "/v1/audit")
  ).body;
  return entries.filter(({ what }) => what === "backup.export").map(({ who, target }) => [who, target]);
};

describe("the cursor of an export", () => {
  it("of the page before → the next page; the audit log has one line for the whole export", async () => {
    const pages = await exported();
    expect(pages.map(({ page, id }) => [page, id])).toEqual(
      pages.map((_, index) => [index + 1, pages[0]!.id]),
    );
    expect(await exportsInLog()).toEqual([["admin secret", pages[0]!.id]]);
  });

  it.each<[string, (next: string) => string]>([
    ["made without a key", () => cursorOf(["made-up", 2, "pins", null])],
    ["made without a key, of the last table", () => cursorOf(["made-up", 11, "generation", null])],
    ["of the Worker's, with another table", (next) => next.replace(/^[^.]*/, (text) => changed(text))],
    [
      "of the Worker's, with another MAC",
      (next) => `${next.slice(0, -2)}${next.at(-2) === "A" ? "B" : "A"}${next.at(-1)}`,
    ],
    ["of the Worker's, without its MAC", (next) => next.split(".")[0]!],
    ["of the Worker's, with a further part", (next) => `${next}.x`],
    ["empty", () => ""],
  ])("%s → refused, without a row", async (_, cursor) => {
    const first = await pageAfter(null);
    const before = await exportsInLog();
    const answer = await pageAfter(encodeURIComponent(cursor(first.body.next!)));
    expect([answer.status, answer.body]).toEqual([
      400,
      expect.objectContaining({ reason: "invalid-query", parameter: "after" }),
    ]);
    expect(await exportsInLog()).toEqual(before);
  });

  it("of another operator's export → refused: each operator's export is a line of its own", async () => {
    const { body } = await pageAfter(null);
    const made = { name: "another-admin", role: "admin", expiresInSeconds: 600 };
    const { secret } = (await operator<{ secret: string }>("POST", "/v1/operators", made)).body;
    const headers = { authorization: `Bearer ${secret}` };
    expect((await send(`/v1/backup?after=${body.next}`, { headers })).status).toBe(400);
    const own = await (await send("/v1/backup", { headers })).json<BackupAnswer>();
    expect((await send(`/v1/backup?after=${own.next}`, { headers })).status).toBe(200);
    expect(await exportsInLog()).toEqual([
      ["operator another-admin", own.page.id],
      ["admin secret", body.page.id],
    ]);
  });

  it("is valid until BACKUP_LIMITS.exportSeconds after the first page, and not a millisecond longer", async () => {
    const startMs = Date.now();
    stopClock(startMs);
    const { body } = await pageAfter(null);
    const endMs = startMs + BACKUP_LIMITS.exportSeconds * 1000;
    setClock(endMs);
    const second = await pageAfter(body.next);
    expect(second.status).toBe(200);
    setClock(endMs + 1);
    for (const next of [body.next, second.body.next])
      expect(await pageAfter(next)).toMatchObject({
        status: 400,
        body: { detail: expect.stringContaining("begin again") as string },
      });
  });
});

const cursorOf = (values: readonly unknown[]) => base64url.encode(JSON.stringify(values));
/** Returns the values of a cursor with another table. */
function changed(text: string): string {
  const values = JSON.parse(new TextDecoder().decode(base64url.decode(text))) as unknown[];
  return cursorOf(values.map((value) => (value === "pins" ? "generation" : value)));
}

const rulesNamed = (name: string) => JSON.stringify([{ metadata: { name }, spec: { rules: [] } }]);

/** Makes a deployment with a row in each table, and returns the pages of its backup. */
async function backupWithRows(): Promise<BackupPage[]> {
  await mintToken({ names: "kept-*", labels: { site: "berlin" }, mayAddress: ["10.0.0.0/8"] });
  await operator("POST", "/v1/operators", { name: "kept", role: "view", expiresInSeconds: 600 });
  await operator("POST", "/v1/receivers", { name: "kept", url: "https://hooks.example.com/x" });
  const until = new Date(Date.now() + 600_000).toISOString();
  await operator("POST", "/v1/mutes", { names: "kept-*", until, comment: "kept" });
  await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
    const machine = JSON.stringify({ key: "x", machineID: "m-1", systemUUID: "s-1", address: "" });
    sql.exec("INSERT INTO pins VALUES ('kept-1', 'k1', 'k2', 3, 't1', ?, 1, 1, NULL, NULL, 'x2')", machine);
    sql.exec("INSERT INTO enrolments VALUES ('t1', 'kept-1', 'k1', 1)");
    sql.exec("INSERT INTO machine_log VALUES (1, 1, 'token t1', 'machine.enrol', 'kept-1', '')");
    sql.exec("INSERT INTO tombstones VALUES ('k0', 'kept-1', 1, 'revoked')");
    sql.exec("INSERT INTO rule_sets VALUES (3, ?, 1, 'alice')", rulesNamed("kept"));
  });
  const pages = await exported();
  await loseAll([]);
  return pages;
}

/** Returns the pages with another value in the first row of a table. */
const withCell = (
  pages: readonly BackupPage[],
  table: BackupTable,
  column: string,
  value: string | number | null,
) =>
  pages.map((page) => {
    if (page.table !== table) return page;
    const at = page.columns.indexOf(column);
    return { ...page, rows: page.rows.map((row, index) => (index === 0 ? row.with(at, value) : row)) };
  });

/** Imports pages until one is refused. Returns the refusal's status and text. */
async function refusalOf(
  pages: readonly BackupPage[],
): Promise<[status: number, detail: string | undefined]> {
  for (const page of pages) {
    const { status, body } = await take(page);
    if (status !== 200) return [status, body.detail];
  }
  return [200, undefined];
}

/** Expects that the deployment has no data of the backup. */
async function expectNothingTaken(): Promise<void> {
  expect((await stateOf())?.isDone ?? false).toBe(false);
  const counts = await runInDurableObject(registry(env), (_, { storage: { sql } }) =>
    ["pins", "enrolments", "tokens", "operators", "tombstones", "machine_log", "rule_sets"].map(
      (table) => sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n,
    ),
  );
  const index = await runInDurableObject(fleetIndex(env), (_, { storage: { sql } }) =>
    ["receivers", "mutes"].map(
      (table) => sql.exec<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`).one().n,
    ),
  );
  expect([...counts, ...index]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

describe("an import of pages with valid MACs", () => {
  it("of each table → imported, and the audit log has the number of machines", async () => {
    await imported(await resigned(await backupWithRows()));
    const { entries } = (await operator<{ entries: { what: string; detail: string }[] }>("GET", "/v1/audit"))
      .body;
    expect(entries[0]).toMatchObject({ what: "backup.import", detail: "1 machines" });
  });

  it("of an earlier version, which does not state its tables → imported, and the audit log states that", async () => {
    const pages = (await backupWithRows())
      .filter(({ table }) => !LATER_TABLES.includes(table))
      .map((page) => ({ ...page, rows: page.rows.filter(([what]) => what !== "table") }));
    await imported(await resigned(pages));
    const { entries } = (await operator<{ entries: { what: string; detail: string }[] }>("GET", "/v1/audit"))
      .body;
    expect(entries[0]).toMatchObject({
      what: "backup.import",
      detail: "1 machines, of an earlier version's backup, which does not state its tables",
    });
  });

  it("of an earlier version, which states its tables without later ones → imported", async () => {
    const pages = (await backupWithRows())
      .filter(({ table }) => !LATER_TABLES.includes(table))
      .map((page) => ({
        ...page,
        rows: page.rows.filter(([, name]) => !LATER_TABLES.includes(String(name))),
      }));
    await imported(await resigned(pages));
    expect(await stateOf()).toMatchObject({ isDone: true, machines: 1 });
  });

  it.each<[situation: string, own: number[], revisions: [number, string][]]>([
    ["no rules → those of the backup", [], [[3, "kept"]]],
    ["rules → they stay", [1, 2], [[1, "own"], [2, "own"]]], // prettier-ignore
  ])("into a deployment with %s", async (_, own, revisions) => {
    const pages = await resigned(await backupWithRows());
    await runInDurableObject(registry(env), (__, { storage: { sql } }) => {
      for (const revision of own)
        sql.exec("INSERT INTO rule_sets VALUES (?, ?, 1, 'bob')", revision, rulesNamed("own"));
    });
    await imported(pages);
    const query = "SELECT revision, objects ->> '$[0].metadata.name' FROM rule_sets ORDER BY 1";
    const found = await runInDurableObject(registry(env), (__, { storage: { sql } }) => [
      ...sql.exec(query).raw(),
    ]);
    expect(found).toEqual(revisions);
  });

  it.each(BACKUP_TABLES)("without the table %s → refused, and nothing is imported", async (table) => {
    const pages = (await backupWithRows()).filter((page) => page.table !== table);
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      expect.stringContaining(`the backup lacks the table ${table}`),
    ]);
    await expectNothingTaken();
  });

  it("with its tables in another order → refused", async () => {
    const pages = await backupWithRows();
    const [audit, tombstones] = ["audit", "tombstones"].map((table) =>
      pages.findIndex((page) => page.table === table),
    );
    const swapped = pages.with(audit!, pages[tombstones!]!).with(tombstones!, pages[audit!]!);
    expect(await refusalOf(await resigned(swapped))).toEqual([
      409,
      expect.stringContaining("the backup lacks the table audit"),
    ]);
    await expectNothingTaken();
  });

  it("that state a table of a later version → refused with the first page", async () => {
    const pages = (await backupWithRows()).map((page) =>
      page.table === "deployment" ? { ...page, rows: [...page.rows, ["table", "later", ""]] } : page,
    );
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      expect.stringMatching(/of a newer version, .*later.*deploy that version first/),
    ]);
    expect(await stateOf()).toBeNull();
  });

  it("with a column of a later version → refused, and nothing is imported", async () => {
    const pages = (await backupWithRows()).map((page) =>
      page.table === "pins"
        ? { ...page, columns: [...page.columns, "later"], rows: page.rows.map((row) => [...row, 1]) }
        : page,
    );
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      expect.stringMatching(/of a newer version, .*pins.*deploy that version first/),
    ]);
    await expectNothingTaken();
  });

  it("of another deployment → refused, with its name", async () => {
    const pages = (await backupWithRows()).map((page) => ({ ...page, deployment: "another" }));
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      "the backup is of the deployment another, which its Nodes are labelled with: set DEPLOYMENT to that",
    ]);
    expect(await stateOf()).toBeNull();
  });

  it("with a generation above those of its machines → no later machine gets an earlier generation", async () => {
    await imported(await resigned(withCell(await backupWithRows(), "generation", "value", 9)));
    const generation = await runInDurableObject(registry(env), (_, { storage: { sql } }) =>
      sql.exec("SELECT value FROM generation").one(),
    );
    expect(generation).toEqual({ value: 9 });
  });

  it("with a machine of the name mac-key → imported", async () => {
    await imported(await resigned(withCell(await backupWithRows(), "pins", "name", "mac-key")));
    expect(await stateOf()).toMatchObject({ isDone: true, machines: 1 });
  });

  it.each([
    ["that is not configured here", "name", "unknown", "unknown"],
    ["that has another value here", "check", "another", "2"],
  ])("with a MAC key %s → refused, with its ID", async (_, column, value, id) => {
    const pages = withCell(await backupWithRows(), "deployment", column, value);
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      expect.stringMatching(new RegExp(`^the key ${id} of the backup's KID_MAC_KEYS is not configured here`)),
    ]);
    expect(await stateOf()).toBeNull();
  });

  it.each<[BackupTable, string, string | number | null]>([
    ["deployment", "what", 1],
    ["pins", "name", "Not-A-Name"],
    ["pins", "thumbprint", "k 1"],
    ["pins", "next_thumbprint", ""],
    ["pins", "generation", "3"],
    ["pins", "machine", "not JSON"],
    ["pins", "machine", '{"key":"x"}'],
    ["pins", "pinned_at_ms", 1.5],
    ["pins", "revoked_at_ms", -1],
    ["enrolments", "token", null],
    ["enrolments", "admitted_at_ms", "now"],
    ["tokens", "rejoin", 2],
    ["tokens", "uses", -1],
    ["tokens", "allowed", "{"],
    ["tokens", "allowed", '{"mayAddress":"10.0.0.0/8"}'],
    ["tokens", "allowed", '{"mayEverything":true}'],
    ["operators", "role", "owner"],
    ["operators", "sha256", "short"],
    ["audit", "id", "1"],
    ["audit", "detail", null],
    ["machine_log", "at_ms", 2 ** 60],
    ["receivers", "name", "Upper"],
    ["receivers", "settings", "[]"],
    ["receivers", "settings", '{"states":["all"]}'],
    ["mutes", "filter", '{"selector":"=="}'],
    ["mutes", "until_ms", null],
    ["rule_sets", "objects", '[{"metadata":{}}]'],
    ["rule_sets", "revision", null],
    ["tombstones", "thumbprint", 7],
    ["generation", "value", "7"],
  ])(
    "with a row of %s whose %s is %j → refused with its place, and nothing is imported",
    async (table, column, value) => {
      const pages = withCell(await backupWithRows(), table, column, value);
      const page = pages.findIndex((each) => each.table === table) + 1;
      expect(await refusalOf(await resigned(pages))).toEqual([
        409,
        expect.stringMatching(new RegExp(`^page ${page}, row 1 of ${table}, /${column}`)),
      ]);
      await expectNothingTaken();
    },
  );

  it.each([
    ["shorter", (row: BackupPage["rows"][number]) => row.slice(0, -1)],
    ["longer", (row: BackupPage["rows"][number]) => [...row, "more"]],
  ])("with a row that is %s than its columns → refused, and nothing is imported", async (_, change) => {
    const pages = (await backupWithRows()).map((page) =>
      page.table === "tombstones" ? { ...page, rows: page.rows.map(change) } : page,
    );
    expect(await refusalOf(await resigned(pages))).toEqual([
      409,
      expect.stringMatching(/^page \d+, row 1 of tombstones/),
    ]);
    await expectNothingTaken();
  });
});
