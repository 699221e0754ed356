// Tests lists and actions with more machines than one call to an object returns.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import type { BulkPlan } from "../../../../shared/protocol/administration-answers.ts";
import { BULK_LIMITS } from "../../../../shared/protocol/limits.ts";
import { fleetIndex, registry } from "../../../../worker/env.ts";
import { ROWS_AT_ONCE } from "../../../../worker/http/lists.ts";
import { VIEW_SECRET } from "../../support/constants.ts";
import { operator, send } from "../../support/machine.ts";
import { spreadSummaryOf } from "../../support/made-up-fleet.ts";
import { writeMachines } from "../../support/stored-machines.ts";

/** The number of characters of a name: the names of MACHINES machines have as many as one action may have. */
const NAME_LENGTH = 250;
const MACHINES = BULK_LIMITS.namesLength / NAME_LENGTH;
const nameOf = (index: number) => `m${String(index).padStart(NAME_LENGTH - 1, "0")}`;
const ORIGIN = "https://long.example.com";

const add = (from: number, to: number) =>
  runInDurableObject(fleetIndex(env), (_, { storage: { sql } }) => {
    writeMachines(sql, { from, to, nameOf, summaryOf: spreadSummaryOf });
    sql.exec("UPDATE machines SET state = 'silent'");
  });

beforeAll(() => add(0, MACHINES));

/** Returns the names in the first column of a list in CSV. */
async function namesIn(path: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${VIEW_SECRET}` };
  const text = await (await send(path, { method: "GET", headers })).text();
  return text
    .trim()
    .split("\r\n")
    .slice(1)
    .map((line) => line.split(",")[0]!);
}

it("all machines as CSV → each once, although one call returns fewer", async () => {
  expect(MACHINES).toBeGreaterThan(ROWS_AT_ONCE);
  expect(await namesIn("/v1/machines?fields=name&format=csv")).toEqual(
    Array.from({ length: MACHINES }, (_, index) => nameOf(index)),
  );
});

it.each([ROWS_AT_ONCE - 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1])(
  "%i machines of an origin as CSV → each once",
  async (count) => {
    await runInDurableObject(registry(env), (_, { storage: { sql } }) => {
      sql.exec("DELETE FROM origin_uses");
      sql.exec(
        `INSERT INTO origin_uses SELECT 'm' || value, ?, 1 FROM json_each(?)`,
        ORIGIN,
        JSON.stringify(Array.from({ length: count }, (_each, index) => index)),
      );
    });
    const names = await namesIn(`/v1/origins/machines?origin=${encodeURIComponent(ORIGIN)}&format=csv`);
    expect([names.length, new Set(names).size]).toEqual([count, count]);
  },
);

it("an action whose names are as long as they may be → planned; one machine more → refused", async () => {
  const plan = () =>
    operator<BulkPlan>("POST", "/v1/bulk", { action: "register", filter: { state: "silent" }, dryRun: true });
  expect((await plan()).body.unknown).toHaveLength(MACHINES);
  await add(MACHINES, MACHINES + 1);
  expect(await plan()).toMatchObject({ status: 400, body: { reason: "invalid-body", pointer: "/filter" } });
});
