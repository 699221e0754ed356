// Tests the watch of the Nodes over lists, changes and failures: which node objects are notified, which Nodes count
// as watched, and which requests the apiserver gets.
import { describe, expect, it, test, vi } from "vitest";
import { NOTICE_LIMITS } from "../../../worker/cluster/notices.ts";
import { WAIT_LIMITS, WATCH_LIMITS, WELL_FOR_MS } from "../../../worker/cluster/node-watch.ts";
import { MOST_NODES, othersDigest, UNSURE } from "../../../worker/cluster/watched-nodes.ts";
import type { WatchEnd } from "../../../worker/kube/watch-stream.ts";
import { ourNode, refusal, UNREACHABLE, watchedCluster } from "../support/watched-cluster.ts";

/** Returns a list of faults that outlasts any test: one fault, a thousand times. */
const always = <T>(fault: T): T[] => Array.from({ length: 1000 }, () => fault);

/** A label of rollcall, whose change a machine's object must learn. */
const ZONE = "rollcall.dev/zone";

type Cluster = ReturnType<typeof watchedCluster>;
const names = (count: number) => Array.from({ length: count }, (_, each) => `node-${each}`);
const notifiedNames = ({ notified }: Cluster) =>
  notified.map(({ name, node }) => (node ? name : `${name} gone`));
const failed = (error = UNREACHABLE, retryAfterMs?: number): WatchEnd => ({
  kind: "failed",
  error,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

/** Returns a watch of these Nodes after its first notices. The test checks the notices after that. */
async function watching(nodes: readonly string[], options: Parameters<typeof watchedCluster>[0] = {}) {
  const cluster = watchedCluster(options);
  for (const name of nodes) cluster.put(ourNode(name));
  await cluster.pass(10_000);
  expect(cluster.watch.state()).toMatchObject({ state: "live", nodes: nodes.length, waiting: 0 });
  forget(cluster);
  return cluster;
}

function forget(cluster: Cluster): void {
  Object.assign(cluster, {
    notified: [],
    notes: [],
    pages: [],
    watches: [],
    rowsWritten: 0,
    registryAsked: 0,
  });
}

describe("the first list", () => {
  it("comes in pages and notifies each machine's object of its Node, as no earlier notice is on record", async () => {
    const cluster = watchedCluster({ page: 2 });
    for (const name of names(5)) cluster.put(ourNode(name));
    await cluster.pass(10_000);
    expect(cluster.pages.map(({ limit, continue: token }) => [limit, token])).toEqual([
      [WATCH_LIMITS.page, undefined],
      [WATCH_LIMITS.page, "2@105"],
      [WATCH_LIMITS.page, "4@105"],
    ]);
    expect(notifiedNames(cluster)).toEqual(names(5));
    expect(names(5).every((name) => cluster.watch.statusOf(name).isWatched)).toBe(true);
    expect([cluster.watches.map(({ version }) => version), cluster.notes]).toEqual([["105"], []]);
  });

  it("finds no Node → the watch pauses until an object asks; then it finds the first Node", async () => {
    const cluster = watchedCluster();
    await cluster.pass(60_000);
    expect([cluster.watch.state().state, cluster.alarmMs, cluster.pages.length]).toEqual(["paused", null, 1]);
    cluster.put(ourNode("a"));
    cluster.wake();
    await cluster.pass(5000);
    expect([cluster.watch.statusOf("a").isWatched, cluster.watch.state().state]).toEqual([true, "live"]);
  });

  it("finds no Node while many objects ask at once → one list in five seconds", async () => {
    const cluster = watchedCluster();
    for (let each = 0; each < 199; each++) {
      await cluster.pass(100);
      cluster.wake();
    }
    expect(cluster.pages).toHaveLength(4);
  });
});

describe("a change", () => {
  it("by another writer → notified within half a second, with the Node; until then the object's knowledge is unsure", async () => {
    const cluster = await watching(["a", "b"]);
    const changedMs = cluster.nowMs();
    const node = cluster.touch("a", { [ZONE]: "x" });
    expect([cluster.watch.statusOf("a").isWatched, cluster.watch.statusOf("b").isWatched]).toEqual([
      false,
      true,
    ]);
    await cluster.pass(5000);
    expect(cluster.notified).toEqual([{ name: "a", node, atMs: changedMs + 500 }]);
    expect([cluster.watch.statusOf("a").isWatched, cluster.pages]).toEqual([true, []]);
  });

  it("of another program's label and annotation → no notice, no row, no request, and the Node stays watched", async () => {
    const cluster = await watching(["a"]);
    const node = cluster.touch("a", { team: "blue" });
    cluster.put({ ...node, metadata: { ...node.metadata, annotations: { "load.example.com/cpu": "0.4" } } });
    expect(cluster.watch.statusOf("a").isWatched).toBe(true);
    await cluster.pass(5000);
    const { notified, rowsWritten, registryAsked } = cluster;
    expect([notified, rowsWritten, registryAsked]).toEqual([[], 0, 0]);
  });

  it("by this deployment itself, as a heartbeat → no notice, no row, no request", async () => {
    const cluster = await watching(["a"]);
    const node = cluster.nodes.get("a")!;
    const conditions = [{ type: "Ready", status: "False", lastHeartbeatTime: "2026-01-01T00:00:00Z" }];
    cluster.put({ ...node, status: { conditions } });
    cluster.bookmark();
    await cluster.pass(5000);
    expect([cluster.notified, cluster.rowsWritten, cluster.registryAsked, cluster.pages]).toEqual([
      [],
      0,
      0,
      [],
    ]);
  });

  test.each<[what: string, make: (cluster: Cluster) => void, notified: string[]]>([
    ["created by its machine's object → which knows it", (cluster) => void cluster.put(ourNode("new")), []],
    ["created by another writer → notified", (cluster) => void cluster.touch("new", {}), ["new"]],
  ])("a Node that is %s", async (_, make, notified) => {
    const cluster = await watching(["a"]);
    make(cluster);
    await cluster.pass(5000);
    expect([notifiedNames(cluster), cluster.watch.statusOf("new").isWatched]).toEqual([notified, true]);
  });

  it("is reverted before its notice → no notice, and no row", async () => {
    const cluster = await watching(["a"]);
    const before = cluster.nodes.get("a")!;
    cluster.touch("a", { [ZONE]: "x" });
    cluster.put(before);
    await cluster.pass(5000);
    expect([cluster.notified, cluster.watch.statusOf("a").isWatched]).toEqual([[], true]);
    expect(cluster.rowsWritten).toBe(0);
  });

  it("is reverted during its notice → a second notice, so that the object does not keep the first state", async () => {
    const cluster = await watching(["a"]);
    const before = cluster.nodes.get("a")!;
    cluster.notify = () => cluster.pause(1000);
    cluster.touch("a", { [ZONE]: "x" });
    await cluster.pass(700);
    const back = cluster.put(before);
    await cluster.pass(5000);
    expect(cluster.notified.map(({ node }) => node?.metadata?.labels)).toEqual([{ [ZONE]: "x" }, undefined]);
    expect([cluster.notified.at(-1)?.node, cluster.watch.statusOf("a").isWatched]).toEqual([back, true]);
  });

  it("to a Node without a machine → one request to the registry, and no object is woken", async () => {
    const cluster = await watching(["a"]);
    cluster.strangers.add("stranger");
    cluster.touch("stranger", { "rollcall.dev/deployment": "rollcall" });
    await cluster.pass(5000);
    expect([cluster.notified, cluster.registryAsked]).toEqual([[], 1]);
    // A machine enrols under this name. From now on its node object is notified of changes.
    cluster.strangers.clear();
    cluster.touch("stranger", { [ZONE]: "x" });
    await cluster.pass(5000);
    expect(notifiedNames(cluster)).toEqual(["stranger"]);
  });
});

describe("a Node that is no longer in the list", () => {
  it("→ its object is notified at once, without a Node; its status is unsure, and its row is deleted", async () => {
    const cluster = await watching(["a", "b"]);
    cluster.remove("a");
    await cluster.pass(100);
    expect([notifiedNames(cluster), cluster.watch.statusOf("a").isWatched]).toEqual([["a gone"], false]);
    expect([...cluster.stored.keys()]).toEqual(["b"]);
  });

  it.each([
    ["the same one → no notice", ourNode("a"), []],
    ["another one → notified", ourNode("a", { metadata: { uid: "another" } }), ["a"]],
  ])("and back before its object could be notified: %s", async (_, back, notified) => {
    const cluster = await watching(["a", "b"]);
    await cluster.notices.close();
    cluster.remove("a");
    cluster.put(back);
    cluster.endWatch();
    await cluster.pass(10_000);
    expect([notifiedNames(cluster), cluster.watch.statusOf("a").isWatched]).toEqual([notified, true]);
  });

  it("during its first notice → the object is notified of the deletion as well", async () => {
    const cluster = await watching(["b"]);
    cluster.notify = () => cluster.pause(1000);
    cluster.touch("a", {});
    await cluster.pass(700);
    cluster.remove("a");
    await cluster.pass(5000);
    expect([notifiedNames(cluster), cluster.stored.has("a")]).toEqual([["a", "a gone"], false]);
  });
});

describe("an object that is evicted", () => {
  const unwatched = async (cluster: Cluster) => {
    await cluster.notices.close();
  };

  test.each<[situation: string, before: (cluster: Cluster) => void | Promise<unknown>, notified: string[]]>([
    ["with nothing that waits → no notice", () => undefined, []],
    [
      "with a change that waits → notified",
      async (cluster) => unwatched(cluster).then(() => cluster.touch("a", { [ZONE]: "x" })),
      ["a"],
    ],
    [
      "with a deletion that waits → notified",
      async (cluster) => unwatched(cluster).then(() => cluster.remove("a")),
      ["a gone"],
    ],
    [
      "with a deletion that waits, and the Node is back → no notice",
      async (cluster) => {
        await unwatched(cluster);
        cluster.remove("a");
        cluster.evict();
        cluster.put(ourNode("a"));
      },
      [],
    ],
    [
      "before a change → notified",
      (cluster) => {
        cluster.evict();
        cluster.touch("a", { [ZONE]: "x" });
      },
      ["a"],
    ],
    [
      "before a deletion → notified",
      (cluster) => {
        cluster.evict();
        cluster.remove("a");
      },
      ["a gone"],
    ],
    [
      "before a Node is created → notified, since changes meanwhile are unknown",
      (cluster) => {
        cluster.evict();
        cluster.put(ourNode("new"));
      },
      ["new"],
    ],
  ])("%s", async (_, before, notified) => {
    const cluster = await watching(["a", "b"]);
    await before(cluster);
    cluster.evict();
    await cluster.pass(10_000);
    expect([notifiedNames(cluster), cluster.watch.state()]).toMatchObject([
      notified,
      { state: "live", waiting: 0 },
    ]);
  });

  it("during the notice of a change that is then reverted → notifies again, since the first notice may have arrived", async () => {
    const cluster = await watching(["a", "b"]);
    const before = cluster.nodes.get("a")!;
    cluster.notify = () => cluster.pause(1000);
    cluster.touch("a", { [ZONE]: "x" });
    await cluster.pass(700);
    cluster.evict();
    cluster.put(before);
    await cluster.pass(10_000);
    expect(cluster.notified.map(({ node }) => node?.metadata?.labels)).toEqual([{ [ZONE]: "x" }, undefined]);
  });
});

describe("a new version of the Worker, whose digest leaves out other programs' labels and annotations", () => {
  const COUNT = 300;
  /** Returns a cluster whose rows have the digests of the earlier version, and whose object has just started. */
  async function upgraded() {
    const cluster = await watching(names(COUNT));
    for (const name of names(COUNT)) {
      const node = cluster.touch(name, { team: "blue", [ZONE]: "x" });
      const former = othersDigest(node, "rollcall", true);
      expect(former).not.toBe(othersDigest(node, "rollcall"));
      cluster.stored.set(name, { seen: former, told: former });
    }
    cluster.evict();
    return cluster;
  }

  it("starts → one row for each Node, and no notice", async () => {
    const cluster = await upgraded();
    await cluster.pass(10_000);
    expect([cluster.notified, cluster.rowsWritten]).toEqual([[], COUNT]);
    cluster.evict();
    await cluster.pass(10_000);
    expect([cluster.notified, cluster.rowsWritten]).toEqual([[], COUNT]);
  });

  it("starts after a change that the earlier version did not see → one notice", async () => {
    const cluster = await upgraded();
    cluster.touch("node-7", { team: "blue", [ZONE]: "y" });
    await cluster.pass(10_000);
    expect(notifiedNames(cluster)).toEqual(["node-7"]);
  });

  it.each([
    ["a notice that waits", (former: string) => ({ seen: former, told: "a digest before" })],
    ["a notice that was sent", (former: string) => ({ seen: former, told: UNSURE })],
  ])("starts with %s → the notice is sent", async (_, rowOf) => {
    const cluster = await upgraded();
    cluster.stored.set("node-7", rowOf(cluster.stored.get("node-7")!.seen));
    await cluster.pass(10_000);
    expect(notifiedNames(cluster)).toEqual(["node-7"]);
  });

  it("starts after a restore of etcd → all are notified", async () => {
    const cluster = await watching(["a"]);
    const node = cluster.touch("a", { team: "blue" });
    const former = othersDigest(node, "rollcall", true);
    cluster.stored.set("a", { seen: former, told: former });
    cluster.restore(50);
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(10_000);
    expect(notifiedNames(cluster)).toEqual(["a"]);
  });
});

describe("a list", () => {
  it.each([
    ["that fails half-way", UNREACHABLE],
    ["whose next page is refused: its continue token has expired", refusal(410, "Expired")],
  ])("%s → begins again, and nothing counts as gone", async (_, error) => {
    const cluster = await watching(names(5), { page: 2 });
    cluster.listFaults = [undefined, error];
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(70_000);
    expect(cluster.pages.map(({ continue: token }) => token)).toEqual([
      undefined,
      "2@105",
      undefined,
      "2@105",
      "4@105",
    ]);
    expect([cluster.notified, cluster.watch.state().state]).toEqual([[], "live"]);
  });

  it("misses what happens between its pages → the watch, which begins at the first page's version, finds it", async () => {
    const cluster = await watching(names(3), { page: 2 });
    cluster.onPage = (pages) => {
      if (pages === 1) cluster.touch("node-0", { [ZONE]: "x" });
      if (pages === 2) cluster.touch("between", {});
    };
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(10_000);
    expect(cluster.watches.map(({ version }) => version)).toEqual(["103"]);
    expect(notifiedNames(cluster)).toEqual(["node-0", "between"]);
  });

  it("is longer than one turn may read → continues in the next turn, and no Node counts as deleted meanwhile", async () => {
    const cluster = await watching(["last"], { page: 1 });
    const size = 4 * 1024 * 1024;
    const images = [{ names: ["x".repeat(size)] }];
    const some = names(WATCH_LIMITS.turnLength / size + 1);
    const last = cluster.nodes.get("last")!;
    cluster.nodes.clear();
    for (const name of some) {
      cluster.strangers.add(name);
      cluster.nodes.set(name, ourNode(name, { status: { images } }));
    }
    cluster.nodes.set("last", last);
    const turn = vi.spyOn(cluster.watch, "turn");
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(10_000);
    // The list takes two turns: the first reads all pages but the last, the second reads the last page and watches.
    expect([turn.mock.calls.length, cluster.pages.length, cluster.notified]).toEqual([
      2,
      some.length + 1,
      [],
    ]);
    expect(cluster.watch.state()).toMatchObject({ state: "live", nodes: some.length + 1 });
  });

  test.each<[after: string, end: WatchEnd]>([
    ["the version is refused", { kind: "expired" }],
    ["a watch has failed once, whose version the next one would be let go on from", failed()],
  ])(
    "older than the last version, after %s → all objects are notified, and the history has that",
    async (_, end) => {
      const cluster = await watching(["a", "b"]);
      cluster.restore(50);
      cluster.endWatch(end);
      await cluster.pass(10_000);
      expect(notifiedNames(cluster)).toEqual(["a", "b"]);
      expect(cluster.notes).toEqual([
        "the versions of the cluster's objects went back: all machines read their Nodes again",
      ]);
      // A second list has no lower versions than the first, so that no machine is notified again.
      cluster.endWatch({ kind: "expired" });
      await cluster.pass(20_000);
      expect([cluster.notified.length, cluster.notes.length]).toEqual([2, 1]);
    },
  );

  it("older than the last version, and the object is evicted before the notices → all objects are notified", async () => {
    const cluster = await watching(["a", "b"]);
    cluster.restore(50);
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(200);
    expect([cluster.notes.length, cluster.notified]).toEqual([1, []]);
    cluster.evict();
    await cluster.pass(10_000);
    expect(notifiedNames(cluster)).toEqual(["a", "b"]);
  });

  it("is not a list → a failure, not an empty list", async () => {
    const cluster = await watching(["a"]);
    const list = vi.spyOn(cluster.nodes, "values").mockImplementation(() => {
      throw new TypeError("items is not iterable");
    });
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(10_000);
    expect([cluster.notified, cluster.watch.state()]).toMatchObject([[], { state: "down", nodes: 1 }]);
    list.mockRestore();
    await cluster.pass(70_000);
    expect(cluster.watch.state().state).toBe("live");
  });
});

describe(`more than ${MOST_NODES} Nodes`, () => {
  it("→ those that exceed it are not watched; each is counted once and takes the next free place", async () => {
    const cluster = watchedCluster();
    const some = names(MOST_NODES);
    for (const name of some) {
      cluster.strangers.add(name);
      cluster.nodes.set(name, ourNode(name));
    }
    await cluster.pass(10_000);
    expect(cluster.watch.state()).toMatchObject({ nodes: some.length, beyond: 0, waiting: 0 });
    cluster.strangers.add("one-more");
    cluster.put(ourNode("one-more"));
    cluster.touch("one-more", { [ZONE]: "x" });
    expect(cluster.watch.state()).toMatchObject({ nodes: some.length, beyond: 1 });
    expect(cluster.watch.statusOf("one-more").isWatched).toBe(false);
    cluster.remove("node-7");
    await cluster.pass(1000);
    cluster.touch("one-more", { [ZONE]: "y" });
    expect(cluster.watch.state()).toMatchObject({ nodes: some.length, beyond: 0 });
  });

  it("in a list → the history states the number; a Node that is deleted leaves nothing", async () => {
    const cluster = watchedCluster();
    for (const name of [...names(MOST_NODES), "more-1", "more-2"]) {
      cluster.strangers.add(name);
      cluster.nodes.set(name, ourNode(name));
    }
    await cluster.pass(3000);
    expect(cluster.notes).toEqual(["2 Nodes more than 20000 are not watched"]);
    cluster.remove("more-1");
    expect(cluster.watch.state().beyond).toBe(1);
    cluster.nodes.delete("more-2");
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(5000);
    expect([cluster.watch.state().beyond, cluster.notes.length]).toEqual([0, 1]);
  });
});

describe("a watch", () => {
  it("ends → continues from the last version, also a bookmark's, without a list", async () => {
    const cluster = await watching(["a"]);
    cluster.touch("a", { [ZONE]: "x" });
    await cluster.pass(10_000);
    // The version rises by changes to other deployments' objects, which this watch does not get.
    cluster.restore(200);
    cluster.bookmark();
    cluster.endWatch();
    await cluster.pass(1000);
    expect([cluster.watches.map(({ version }) => version), cluster.pages]).toEqual([["200"], []]);
  });

  it("ends by itself after five minutes at most", async () => {
    const cluster = await watching(["a"]);
    await cluster.pass(WATCH_LIMITS.seconds * 1000);
    expect(cluster.watches).toHaveLength(1);
  });

  it("that has read as much as a turn may → ends, and the next one loses nothing", async () => {
    const cluster = await watching(["a"]);
    cluster.endWatch();
    await cluster.pass(1000);
    cluster.happens({ type: "BOOKMARK", version: "101", length: WATCH_LIMITS.turnLength - 1 });
    expect(cluster.isWatching()).toBe(true);
    cluster.happens({ type: "BOOKMARK", version: "101", length: 1 });
    expect(cluster.isWatching()).toBe(false);
    cluster.touch("a", { [ZONE]: "x" });
    await cluster.pass(5000);
    expect([notifiedNames(cluster), cluster.pages, cluster.isWatching()]).toEqual([["a"], [], true]);
  });

  it("without a line for two minutes → no longer trusted", async () => {
    const cluster = await watching(["a"]);
    cluster.isSilent = true;
    cluster.bookmark();
    await cluster.pass(120_000);
    expect(cluster.watch.statusOf("a").isWatched).toBe(true);
    await cluster.pass(1);
    expect([cluster.watch.statusOf("a").isWatched, cluster.watch.state().state]).toEqual([false, "starting"]);
    cluster.bookmark();
    expect(cluster.watch.statusOf("a").isWatched).toBe(true);
  });

  it("of a turn that has sent all its notices → the next turn continues at once", async () => {
    const cluster = await watching(["a"]);
    for (const name of names(NOTICE_LIMITS.aTurn + 100)) cluster.touch(name, { [ZONE]: "x" });
    await cluster.pass(30_000);
    expect([cluster.notified.length, cluster.pages]).toEqual([NOTICE_LIMITS.aTurn + 100, []]);
    expect(cluster.watches).toHaveLength(1);
  });
});

describe("a failure", () => {
  it("→ the next list, of one Node, after a second; the second failure in a row → down, with a line of history", async () => {
    const cluster = await watching(["a"]);
    cluster.watchFaults = [failed(refusal(500, "InternalError"))];
    cluster.endWatch(failed());
    expect(await stateAfter(cluster, 500)).toBe("starting");
    expect([cluster.watches.length, cluster.notes]).toEqual([0, []]);
    expect(await stateAfter(cluster, 700)).toBe("down");
    expect([cluster.watches.length, cluster.pages.map(({ limit }) => limit)]).toEqual([1, [1]]);
    expect(cluster.notes).toEqual([expect.stringContaining("the Nodes are not watched: ")]);
    expect(cluster.watch.statusOf("a").isWatched).toBe(false);
    // Each retry begins with a list from here on.
    await cluster.pass(2000);
    expect([cluster.watches.length, cluster.pages.length]).toEqual([2, 2]);
    cluster.bookmark();
    await cluster.pass(5000);
    cluster.bookmark();
    expect(await stateAfter(cluster, 0)).toBe("live");
    expect(cluster.notes.at(-1)).toMatch(/^the Nodes are watched again: away from .+Z to .+Z$/);
  });

  async function stateAfter(cluster: Cluster, ms: number): Promise<string> {
    await cluster.pass(ms);
    return cluster.watch.state().state;
  }

  it.each<[situation: string, error: typeof UNREACHABLE, isUnanswered: boolean]>([
    ["no answer → the time of the last one, until the next", UNREACHABLE, true],
    ["a refusal → is an answer", refusal(403, "Forbidden"), false],
  ])("%s", async (_, error, isUnanswered) => {
    const cluster = await watching(["a"]);
    cluster.bookmark();
    const heardMs = cluster.nowMs();
    await cluster.pass(30_000);
    Object.assign(cluster, { listFaults: always(error), watchFaults: always(failed(error)) });
    cluster.endWatch(failed(error));
    await cluster.pass(120_000);
    expect(cluster.watch.state().unansweredSinceMs).toBe(isUnanswered ? heardMs : undefined);
    Object.assign(cluster, { listFaults: [], watchFaults: [] });
    await cluster.pass(70_000);
    expect(cluster.watch.state().unansweredSinceMs).toBeUndefined();
  });

  it("that happens once → no line of history", async () => {
    const cluster = await watching(["a"]);
    cluster.endWatch(failed());
    await cluster.pass(60_000);
    cluster.bookmark();
    expect([await stateAfter(cluster, 0), cluster.notes]).toEqual(["live", []]);
  });

  test.each<[situation: string, break_: (cluster: Cluster) => void]>([
    ["no list is answered", (cluster) => (cluster.listFaults = always(UNREACHABLE))],
    ["no watch is answered", (cluster) => (cluster.watchFaults = always(failed()))],
    ["each watch ends at once", (cluster) => (cluster.watchFaults = always<WatchEnd>({ kind: "ended" }))],
    [
      "each watch expires at once",
      (cluster) => (cluster.watchFaults = always<WatchEnd>({ kind: "expired" })),
    ],
  ])("%s → the waits double up to a minute", async (_, break_) => {
    const cluster = await watching(["a"]);
    break_(cluster);
    cluster.endWatch({ kind: "expired" });
    const startMs = cluster.nowMs();
    await cluster.pass(600_000);
    const lists = cluster.pages.length;
    // The watch retries after 1, 2, 4, 8, 16 and 32 seconds, then every minute.
    expect([lists > 12, lists < 18]).toEqual([true, true]);
    expect(cluster.watch.state()).toMatchObject({ state: "down" });
    expect(cluster.watch.state().downSinceMs).toBeLessThan(startMs + 1000);
    expect(cluster.notes).toHaveLength(1);
  });

  it("every watch expires right after a change → retries slow down", async () => {
    const cluster = await watching(["a"]);
    const end = cluster.every(100, () => {
      cluster.bookmark();
      cluster.endWatch({ kind: "expired" });
    });
    await cluster.pass(120_000);
    end();
    // The watch retries after 1, 2, 4, 8, 16 and 32 seconds.
    expect(cluster.pages.length).toBeLessThan(9);
  });

  it("every watch is cut after a change → continues from there, once a second", async () => {
    const cluster = await watching(["a"]);
    const end = cluster.every(100, () => {
      cluster.bookmark();
      cluster.endWatch();
    });
    await cluster.pass(60_000);
    end();
    expect([cluster.pages, cluster.notes]).toEqual([[], []]);
    expect(cluster.watches.length).toBeLessThanOrEqual(61);
  });

  test.each<[asked: string, retryAfterMs: number, afterMs: number]>([
    ["half a minute", 30_000, 30_000],
    ["as long as counts", WAIT_LIMITS.retryAfterMs, WAIT_LIMITS.retryAfterMs],
    ["longer", WAIT_LIMITS.retryAfterMs + 60_000, WAIT_LIMITS.retryAfterMs],
    ["for ever", Number.POSITIVE_INFINITY, WAIT_LIMITS.retryAfterMs],
  ])(
    "with Retry-After, %s → not sooner than that, and no later than five minutes",
    async (_, retryAfterMs, afterMs) => {
      const cluster = await watching(["a"]);
      cluster.endWatch(failed(refusal(429, "TooManyRequests"), retryAfterMs));
      await cluster.pass(afterMs - 1000);
      expect(cluster.watches).toEqual([]);
      await cluster.pass(2000);
      expect(cluster.watches).toHaveLength(1);
    },
  );

  it("the watch alone fails, as when the account may not watch → objects are still notified of what lists show", async () => {
    const cluster = await watching(["a", "b"]);
    cluster.watchFaults = always(failed(refusal(403, "Forbidden")));
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(120_000);
    cluster.touch("a", { [ZONE]: "x" });
    cluster.remove("b");
    await cluster.pass(70_000);
    expect(notifiedNames(cluster).toSorted()).toEqual(["a", "b gone"]);
    expect(cluster.watch.state()).toMatchObject({ state: "down", error: { status: { code: 403 } } });
  });

  it("a bug of the object → the watch continues, and the history has the error", async () => {
    const cluster = await watching(["a"]);
    const broken = vi.spyOn(cluster.stored, "get").mockImplementation(() => {
      throw new Error("disk I/O error");
    });
    cluster.endWatch({ kind: "expired" });
    await cluster.pass(10_000);
    broken.mockRestore();
    expect(cluster.notes).toEqual(["the Nodes are not watched: Error: disk I/O error"]);
    await cluster.pass(70_000);
    expect(cluster.watch.state().state).toBe("live");
  });
});

test.each<[situation: string, make: (cluster: Cluster) => void, isThere: boolean]>([
  ["nothing but our own hand", () => undefined, false],
  ["a Node that it gave up", (cluster) => cluster.ready("a", "Unknown"), true],
])("a node controller is known by %s", async (_, make, isThere) => {
  const cluster = await watching(["a"]);
  make(cluster);
  await cluster.pass(2000);
  expect(cluster.watch.statusOf("a").isSilenceSeen).toBe(isThere);
});

describe("10,000 Nodes", () => {
  const COUNT = 10_000;
  const most = (cluster: Cluster) => {
    const seconds = new Map<number, number>();
    for (const { atMs } of cluster.notified) {
      const second = Math.floor(atMs / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
    return Math.max(...seconds.values());
  };
  /** Returns a cluster where each node object knows its Node, without sending 10,000 notices first. */
  async function fleet() {
    const cluster = watchedCluster();
    for (const name of names(COUNT)) {
      cluster.strangers.add(name);
      cluster.nodes.set(name, ourNode(name));
    }
    await cluster.pass(60_000);
    expect(cluster.watch.state()).toMatchObject({ state: "live", nodes: COUNT, waiting: 0 });
    cluster.strangers.clear();
    forget(cluster);
    return cluster;
  }

  it("all relabelled at once → one notice each, at most 50 a second, deletions first, and no list", async () => {
    const cluster = await fleet();
    for (const name of names(COUNT)) cluster.touch(name, { [ZONE]: "x" });
    await cluster.pass(20_000);
    const before = cluster.notified.length;
    const removedMs = cluster.nowMs();
    for (const name of ["node-9998", "node-9999"]) cluster.remove(name);
    await cluster.pass(280_000);
    const notified = cluster.notified.map(({ name }) => name);
    expect([notified.length, new Set(notified).size, most(cluster)]).toEqual([
      COUNT,
      COUNT,
      NOTICE_LIMITS.aSecond,
    ]);
    expect([before > 900, before <= 1000]).toEqual([true, true]);
    // The notices of the current second are already being sent when the Nodes are deleted.
    const gone = cluster.notified.filter(({ node }) => node === null);
    expect(gone.map(({ name, atMs }) => [name, atMs - removedMs <= 2000])).toEqual([
      ["node-9998", true],
      ["node-9999", true],
    ]);
    // Each notice costs two rows: its start and its end.
    expect([cluster.pages, cluster.rowsWritten]).toEqual([[], 2 * COUNT]);
    expect(cluster.watch.state().waiting).toBe(0);
  });

  it("with more changes than memory keeps → notices without Nodes, which the objects then read themselves", async () => {
    const cluster = await fleet();
    const long = "x".repeat(16 * 1024);
    for (const name of names(1000)) cluster.touch(name, { [ZONE]: long });
    await cluster.pass(30_000);
    const kept = cluster.notified.filter(({ node }) => node !== null).length;
    expect(cluster.notified).toHaveLength(1000);
    const fits = Math.floor(NOTICE_LIMITS.keptLength / (16 * 1024));
    expect([kept <= fits, kept > fits - 50]).toEqual([true, true]);
  });

  it("all turn Unknown and report within a report interval → at most 20 notices", async () => {
    const cluster = await fleet();
    for (const name of names(COUNT)) cluster.ready(name, "Unknown");
    await cluster.pass(9800);
    for (const name of names(COUNT)) cluster.ready(name, "True");
    await cluster.pass(60_000);
    expect(cluster.notified.length).toBeLessThanOrEqual(NOTICE_LIMITS.unknownAtOnce);
    expect([cluster.watch.state().waiting, cluster.pages]).toEqual([0, []]);
  });

  it("all turn Unknown and stay Unknown → one notice each, at most 50 a second", async () => {
    const cluster = await fleet();
    for (const name of names(COUNT)) cluster.ready(name, "Unknown");
    await cluster.pass(300_000);
    expect([cluster.notified.length, most(cluster)]).toEqual([COUNT, NOTICE_LIMITS.aSecond]);
    expect(cluster.watch.statusOf(names(1)[0]!).isSilenceSeen).toBe(true);
  });
});

describe("the time for which the watch is live", () => {
  it("rises from the first watch on, and begins again after a failure", async () => {
    const cluster = await watching(["node-1"]);
    const before = cluster.watch.liveForMs();
    await cluster.pass(30_000);
    expect(cluster.watch.liveForMs()).toBe(before + 30_000);
    cluster.endWatch(failed());
    await cluster.pass(100);
    expect(cluster.watch.liveForMs()).toBe(0);
    cluster.bookmark();
    await cluster.pass(20_000);
    cluster.bookmark();
    await cluster.pass(10_000);
    expect(cluster.watch.liveForMs()).toBeLessThanOrEqual(30_000);
  });

  it.each<[situation: string, meanwhile: (cluster: Cluster) => Promise<void> | void, isWell: boolean]>([
    ["at once, as after a deployment → it is well at once", () => undefined, true],
    [
      "after a failure → it must be live for a minute",
      async (cluster) => {
        cluster.endWatch(failed());
        await cluster.pass(100);
      },
      false,
    ],
    [
      "after more than ten minutes → it must be live for a minute",
      async (cluster) => {
        cluster.evict();
        cluster.alarmMs = null;
        await cluster.pass(601_000);
      },
      false,
    ],
  ])("and the watch of the next instance begins %s", async (_, meanwhile, isWell) => {
    const cluster = await watching(["node-1"]);
    await cluster.pass(300_000);
    await meanwhile(cluster);
    cluster.evict();
    await cluster.pass(100);
    expect(cluster.watch.state().state).toBe("live");
    expect(cluster.watch.liveForMs() >= WELL_FOR_MS).toBe(isWell);
  });

  it("is a minute → stored at most every four minutes", async () => {
    const cluster = await watching(["node-1"]);
    await cluster.pass(45_000);
    expect(cluster.wellWritten).toBe(0);
    await cluster.pass(3_600_000);
    expect(cluster.wellWritten).toBeGreaterThan(10);
    expect(cluster.wellWritten).toBeLessThanOrEqual(15);
  });
});
