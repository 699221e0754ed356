// Tests the cluster's history as operators read it: newest line first, page by page, with a limited number of
// entries.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { CLUSTER_HISTORY_LIMITS, clusterHistory } from "../../../../worker/cluster/cluster-object.ts";

const { entries, entryLength } = CLUSTER_HISTORY_LIMITS;
const ALL = { limit: 1000 };
const START_MS = Date.UTC(2026, 0, 1);

const within = (
  name: string,
  act: (history: ReturnType<typeof clusterHistory>, again: () => ReturnType<typeof clusterHistory>) => void,
) =>
  runInDurableObject(env.CLUSTER.getByName(`history-${name}`), (_, { storage: { sql } }) =>
    act(clusterHistory(sql), () => clusterHistory(sql)),
  );

function written(history: ReturnType<typeof clusterHistory>, count: number): void {
  for (let each = 1; each <= count; each++) history.add(`entry ${each}`, START_MS + each * 1000);
}

it("without an entry → empty", async () => {
  await within("empty", (history) => expect(history.read(ALL)).toEqual([]));
});

it("entries → newest first, with their times, also after an eviction", async () => {
  await within("order", (history, again) => {
    written(history, 2);
    expect(again().read(ALL)).toEqual([
      { id: 2, at: "2026-01-01T00:00:02.000Z", text: "entry 2" },
      { id: 1, at: "2026-01-01T00:00:01.000Z", text: "entry 1" },
    ]);
  });
});

it("a page → the entries before a given one, up to the limit", async () => {
  await within("pages", (history) => {
    written(history, 5);
    const ids = (query: { before?: number; limit: number }) => history.read(query).map(({ id }) => id);
    expect([ids({ limit: 2 }), ids({ limit: 2, before: 4 }), ids({ limit: 2, before: 2 })]).toEqual([
      [5, 4],
      [3, 2],
      [1],
    ]);
  });
});

it("the largest number of entries → all are kept; one more → the oldest is deleted", async () => {
  await within("limit", (history) => {
    written(history, entries);
    expect(history.read(ALL).map(({ id }) => id)).toHaveLength(entries);
    expect(history.read(ALL).at(-1)?.id).toBe(1);
    history.add("one more", START_MS);
    expect(history.read(ALL)).toHaveLength(entries);
    expect(history.read(ALL).at(-1)?.id).toBe(2);
  });
});

it("an entry of the longest size → stays as it is; a longer one → cut", async () => {
  await within("length", (history) => {
    history.add("x".repeat(entryLength), START_MS);
    history.add("y".repeat(entryLength + 1), START_MS);
    const [cut, whole] = history.read(ALL);
    expect(whole?.text).toBe("x".repeat(entryLength));
    expect(cut?.text).toHaveLength(entryLength);
    expect(cut?.text).not.toBe("y".repeat(entryLength));
  });
});
