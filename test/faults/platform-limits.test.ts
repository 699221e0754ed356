// Tests which of Cloudflare's limits workerd has as well, so that each test that exceeds one of them fails. The table
// "Limits of the platform" of docs/architecture.md lists them.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

const MIB = 1024 * 1024;

it.each<[situation: string, statement: (sql: SqlStorage) => unknown, isRefused: boolean]>([
  ["100 bindings", (sql) => bind(sql, 100), false],
  ["101 bindings", (sql) => bind(sql, 101), true],
  ["a text of 2 MiB", (sql) => sql.exec("SELECT LENGTH(?)", "x".repeat(2 * MIB)), false],
  [
    "a text of 3 MiB, which Cloudflare refuses",
    (sql) => sql.exec("SELECT LENGTH(?)", "x".repeat(3 * MIB)),
    false,
  ],
])("%s in a statement", async (situation, statement, isRefused) => {
  await runInDurableObject(env.NODES.getByName(situation), (_, { storage }) => {
    const run = () => void statement(storage.sql);
    if (isRefused) expect(run).toThrow(/too many|too big/i);
    else expect(run).not.toThrow();
  });
});

it.each([
  ["31 MiB", 31, false],
  ["33 MiB", 33, true],
])("a call of an object with %s", async (_, mib, isRefused) => {
  const called = Promise.resolve(env.GATEWAYS.getByName("large").look("x".repeat(mib * MIB)));
  if (isRefused) await expect(called).rejects.toThrow(/32 ?MiB|33554432/);
  else expect(await called).toBeNull();
});

const bind = (sql: SqlStorage, count: number) =>
  sql.exec(`SELECT 1 WHERE 1 IN (${Array(count).fill("?").join(", ")})`, ...Array<number>(count).fill(1));
