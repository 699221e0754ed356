// A hundred machines, and a Worker that is older than what is stored: it refuses with its reason and writes nothing; under
// the later one all go on, with the same Nodes.
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodesOf } from "../../bench/local-fleet.ts";
import { eventually } from "../local-cluster.ts";
import { type SocketPlace, startSocketPlace } from "../sockets/socket-place.ts";

const MACHINES = 100;
const names = Array.from({ length: MACHINES }, (_, index) => `sim-${index + 1}`);
/** What each report and heartbeat came to last. */
const outcomes = new Map<string, string>();

let place: SocketPlace;

beforeAll(async () => {
  place = await startSocketPlace();
  for (const [at, name] of names.entries()) {
    const reported = ({ outcome }: { outcome: { ok: boolean } }) =>
      outcomes.set(name, JSON.stringify(outcome));
    await place.shim({ index: at + 1, reported });
  }
});
afterAll(() => place.stop());

const databases = (objects: string) =>
  globSync("rollcall-*/*.sqlite", { cwd: objects })
    .filter((file) => !file.endsWith("metadata.sqlite"))
    .map((file) => join(objects, file));

/** In each object that has stored something. Returns how many those are. */
function inEach(objects: string, statement: string): number {
  let count = 0;
  for (const file of databases(objects)) {
    const database = new DatabaseSync(file);
    const made = "SELECT COUNT(*) AS count FROM sqlite_master WHERE name = 'migrations'";
    if (database.prepare(made).get()?.["count"] === 1) {
      database.exec(statement);
      count++;
    }
    database.close();
  }
  return count;
}

/** All rows, but for the platform's own, such as the alarm. */
function dump(objects: string): string[] {
  return databases(objects).flatMap((file) => {
    const database = new DatabaseSync(file);
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const own = tables.map(({ name }) => String(name)).filter((name) => !name.startsWith("_cf_"));
    const rows = own.map((name) => JSON.stringify([name, database.prepare(`SELECT * FROM ${name}`).all()]));
    database.close();
    return rows;
  });
}

const uids = async () =>
  new Map((await nodesOf(place.admin)).map(({ metadata }) => [metadata?.name, metadata?.uid]));

it("an earlier Worker refuses, and loses nothing; under the later one all go on", async () => {
  await place.renewed(names, Date.now());
  const before = await uids();
  let stored: string[] = [];
  await place.worker.startAgain("deployed", (objects) => {
    expect(inEach(objects, "INSERT INTO migrations VALUES (1000)")).toBeGreaterThanOrEqual(MACHINES + 3);
    stored = dump(objects);
  });
  await eventually(async () =>
    names.every((name) => (outcomes.get(name) ?? "").includes('"reason":"newer-state"')),
  );
  const { code, stdout } = await place.worker.rollcall(["ready"]);
  expect([code, stdout]).toEqual([
    1,
    expect.stringMatching(/state.*newer-state: the stored state is of version \d+/),
  ]);
  await place.worker.startAgain("deployed", (objects) => {
    expect(dump(objects)).toEqual(stored);
    inEach(objects, "DELETE FROM migrations WHERE id = 1000");
  });
  await place.renewed(names, Date.now());
  expect(await uids()).toEqual(before);
  await eventually(async () => [...(await place.ready()).values()].every((ready) => ready === "True"));
});
