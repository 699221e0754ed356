// Tests that the rows of watched Nodes are read again after an eviction, and are written only after a change.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, test } from "vitest";
import { ABSENT, nodeRows, UNSURE, type WatchedNode } from "../../../../worker/cluster/watched-nodes.ts";

/** Calls `work` with rows in an empty storage, which counts written rows. */
function within<T>(
  name: string,
  act: (open: () => ReturnType<typeof nodeRows>, written: () => number) => T,
): Promise<T> {
  return runInDurableObject(env.CLUSTER.getByName(`node-rows-${name}`), (_, { storage: { sql } }) => {
    let written = 0;
    const counting = {
      exec: (...query: Parameters<SqlStorage["exec"]>) => {
        const cursor = sql.exec(...query);
        written += cursor.rowsWritten;
        return cursor;
      },
    } as SqlStorage;
    return act(
      () => nodeRows(counting),
      () => written,
    );
  });
}

const SEEN: WatchedNode = { seen: "a", told: UNSURE };

test.each<[situation: string, rows: WatchedNode[], found: WatchedNode | undefined, written: number]>([
  ["seen", [SEEN], SEEN, 1],
  ["seen twice", [SEEN, { ...SEEN }], SEEN, 1],
  ["seen and notified", [SEEN, { seen: "a", told: "a" }], { seen: "a", told: "a" }, 2],
  ["gone, and not notified", [SEEN, { seen: ABSENT, told: "a" }], { seen: ABSENT, told: "a" }, 2],
  ["gone, and notified", [SEEN, { seen: ABSENT, told: ABSENT }], undefined, 2],
  ["never there", [{ seen: ABSENT, told: ABSENT }], undefined, 0],
])("a Node that was %s", async (situation, rows, found, written) => {
  await within(situation.replaceAll(/\W/g, "-"), (open, count) => {
    const kept = open();
    for (const row of rows) kept.put("edge-1", row);
    expect([kept.get("edge-1"), kept.size(), count()]).toEqual([found, found ? 1 : 0, written]);
    const after = open();
    expect([after.get("edge-1"), [...after.names()]]).toEqual([found, found ? ["edge-1"] : []]);
  });
});

it("one row for each of several Nodes; a row may be written during an iteration over all", async () => {
  await within("several", (open) => {
    const kept = open();
    for (const name of ["a", "b", "c"]) kept.put(name, { seen: name, told: UNSURE });
    for (const name of kept.names()) if (name !== "b") kept.put(name, { seen: ABSENT, told: ABSENT });
    expect([...open().names()]).toEqual(["b"]);
    expect([kept.size(), open().size()]).toEqual([1, 1]);
  });
});
