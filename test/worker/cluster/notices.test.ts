// Tests the notices to node objects: which change leads to a notice, when, and how many are sent in a second and in
// a turn.
import { beforeEach, describe, expect, it, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { type ChangeKind, NOTICE_LIMITS, Notices } from "../../../worker/cluster/notices.ts";
import { pass as passDeadlines, timers } from "../support/clock.ts";
import { virtualTime } from "../support/virtual-time.ts";

let time: ReturnType<typeof virtualTime>;
beforeEach(() => {
  time = virtualTime(0);
});

const pass = (ms: number) => time.pass(ms);

const nodeOf = (name: string, version = "1"): Node => ({ metadata: { name, resourceVersion: version } });
const changeOf = (kind: ChangeKind, node: Node | null, length: number) => ({
  kind,
  node,
  length,
  seen: `v${node?.metadata?.resourceVersion}`,
});
const names = (count: number, prefix = "node") =>
  Array.from({ length: count }, (_, each) => `${prefix}-${each}`);

interface Situation {
  /** The names that the registry does not know. */
  strangers?: string[];
  /** Returns the result of a notice to this name. By default the notice succeeds at once. */
  notify?: (name: string) => Promise<void>;
  known?: (names: string[]) => Promise<string[]>;
}

function opened({ strangers = [], notify, known }: Situation = {}) {
  const notified: { name: string; node: Node | null; atMs: number }[] = [];
  /** The calls in order, such as `notify a`. The state of a node object is certain only after the last call for it. */
  const calls: string[] = [];
  const asked: string[][] = [];
  const lines: Record<string, unknown>[] = [];
  let spent = 0;
  const notices = new Notices({
    known: (some) => {
      asked.push(some);
      return known ? known(some) : Promise.resolve(some.filter((name) => !strangers.includes(name)));
    },
    notify: async (name, node) => {
      notified.push({ name, node, atMs: time.nowMs() });
      calls.push(`notify ${name}`);
      await notify?.(name);
    },
    onSending: (name, seen) => void calls.push(`sending ${name} ${seen}`),
    onDone: (name, seen) => void calls.push(`done ${name} ${seen}`),
    timer: undefined,
    nowMs: time.nowMs,
    pause: time.pause,
    log: (line) => void lines.push(line),
  });
  const open = () => notices.open(() => void spent++);
  open();
  const put = (name: string, kind: ChangeKind = "changed", length = 100) =>
    notices.put(name, changeOf(kind, kind === "gone" ? null : nodeOf(name), length));
  return {
    notices,
    open,
    put,
    notified,
    calls,
    asked,
    lines,
    spent: () => spent,
    order: () => notified.map(({ name }) => name),
  };
}

describe("a change", () => {
  test.each<[kind: ChangeKind, afterMs: number]>([
    ["gone", 0],
    ["unknown", 0],
    ["changed", 500],
  ])("%s → notified after %i ms, with the Node as it is", async (kind, afterMs) => {
    const { put, notified, notices } = opened();
    put("a", kind);
    expect(notices.waits("a")).toBe(true);
    await pass(afterMs + 1000);
    expect(notified).toEqual([{ name: "a", node: kind === "gone" ? null : nodeOf("a"), atMs: afterMs }]);
    expect([notices.waits("a"), notices.size, notices.nextMs()]).toEqual([false, 0, null]);
  });

  it("→ stored as unsure before the notice, and as notified after it", async () => {
    const { put, calls } = opened();
    put("a");
    await pass(1000);
    expect(calls).toEqual(["sending a v1", "notify a", "done a v1"]);
  });

  it("several times in a row → one notice half a second after the first, with the newest Node", async () => {
    const { notices, notified } = opened();
    for (const version of ["1", "2", "3"]) {
      notices.put("a", changeOf("changed", nodeOf("a", version), 100));
      await pass(200);
    }
    await pass(5000);
    expect(notified).toEqual([{ name: "a", node: nodeOf("a", "3"), atMs: 500 }]);
  });

  it("that is reverted before its notice → no notice", async () => {
    const { notices, put, notified } = opened();
    put("a");
    notices.drop("a");
    notices.drop("never-there");
    await pass(5000);
    expect([notified, notices.size]).toEqual([[], 0]);
  });

  it("during the notice of the change before → a second notice", async () => {
    const { put, order, calls, notices } = opened({ notify: () => pass1s() });
    put("a");
    await pass(600);
    put("a");
    await pass(5000);
    expect(order()).toEqual(["a", "a"]);
    // The Node changed during the first notice, so that a second notice followed.
    expect(calls).toEqual(["sending a v1", "notify a", "sending a v1", "notify a", "done a v1"]);
    expect(notices.size).toBe(0);
  });
});

const pass1s = () => time.pause(1000);

describe("a machine", () => {
  it("the registry does not know it → its object is not woken", async () => {
    const { put, calls, notices } = opened({ strangers: ["stranger"] });
    put("stranger");
    put("a");
    await pass(5000);
    expect(calls.toSorted()).toEqual(["done a v1", "done stranger v1", "notify a", "sending a v1"]);
    expect(notices.size).toBe(0);
  });

  it("its object fails → retried after 10 s, 20 s and so on, up to 5 min; its knowledge stays unsure", async () => {
    const { put, notified, calls, lines } = opened({ notify: () => Promise.reject(new Error("broken")) });
    put("a", "gone");
    await pass(620_000);
    const times = notified.map(({ atMs }) => atMs);
    const waits = times.slice(1).map((atMs, each) => Math.round((atMs - (times[each] ?? 0)) / 1000));
    expect(waits).toEqual([10, 20, 40, 80, 160, 300]);
    expect(calls.some((call) => call.startsWith("done"))).toBe(false);
    expect(lines[0]).toMatchObject({ node: "a", error: "Error: broken" });
  });

  it("its object fails → no other machine waits, and a further change does not shorten the wait", async () => {
    const { put, notified } = opened({
      notify: (name) => (name === "bad" ? Promise.reject(new Error("broken")) : Promise.resolve()),
    });
    put("bad", "gone");
    await pass(1000);
    put("bad", "changed");
    put("good");
    await pass(8000);
    expect(notified.map(({ name }) => name)).toEqual(["bad", "good"]);
    await pass(2000);
    expect(notified.at(-1)).toMatchObject({ name: "bad", node: nodeOf("bad") });
  });

  it("the registry does not answer → all notices wait, and the registry gets one request for all", async () => {
    let isDown = true;
    const { put, order, asked, lines } = opened({
      known: (some) => (isDown ? Promise.reject(new Error("down")) : Promise.resolve(some)),
    });
    for (const name of names(3)) put(name);
    await pass(9000);
    expect([order(), asked.length, lines.length]).toEqual([[], 1, 1]);
    isDown = false;
    await pass(3000);
    expect(order()).toEqual(names(3));
  });
});

describe("the order", () => {
  it("deletions first, then the change that waits longest", async () => {
    const { notices, put, open, order } = opened();
    await notices.close();
    for (const name of ["c1", "c2"]) put(name);
    put("u1", "unknown");
    for (const name of ["g1", "g2"]) put(name, "gone");
    // The Node c1 changes again, and keeps its place in the queue.
    put("c1");
    await pass(1000);
    open();
    await pass(1000);
    expect(order()).toEqual(["g1", "g2", "c1", "c2", "u1"]);
  });
});

describe("at most", () => {
  const { aSecond, aTurn, atOnce, keptLength, unknownAtOnce } = NOTICE_LIMITS;

  it(`${aSecond} in a second`, async () => {
    const { put, notified } = opened();
    for (const name of names(200)) put(name);
    await pass(10_000);
    const times = notified.map(({ atMs }) => atMs);
    const inASecond = times.map((fromMs) => times.filter((ms) => ms >= fromMs && ms < fromMs + 1000).length);
    expect([notified.length, Math.max(...inASecond)]).toEqual([200, aSecond]);
  });

  it(`${atOnce} at once`, async () => {
    let [underWay, most] = [0, 0];
    const { put, notified } = opened({
      notify: async () => {
        most = Math.max(most, ++underWay);
        await pass1s();
        underWay--;
      },
    });
    for (const name of names(20)) put(name, "gone");
    await pass(60_000);
    expect([notified.length, most]).toEqual([20, atOnce]);
  });

  it(`${aTurn} requests in a turn, including those to the registry; the next turn continues`, async () => {
    const { notices, put, open, notified, asked, spent } = opened();
    for (const name of names(500)) put(name, "gone");
    await pass(60_000);
    expect([notified.length + asked.length, spent()]).toEqual([aTurn, 1]);
    expect(notices.size).toBe(500 - notified.length);
    await notices.close();
    open();
    await pass(60_000);
    expect([notified.length, notices.size]).toEqual([500, 0]);
  });

  it(`${keptLength} characters of Nodes; further notices have no Node`, async () => {
    const { put, notified } = opened();
    put("all-but-one", "changed", keptLength - 100);
    put("fits", "changed", 100);
    put("too-much", "changed", 1);
    // A waiting Node may change again. Only its newest text counts for the limit.
    put("fits", "changed", 100);
    await pass(5000);
    expect(notified.map(({ name, node }) => [name, node !== null])).toEqual([
      ["all-but-one", true],
      ["fits", true],
      ["too-much", false],
    ]);
    // The notices above were sent, so that memory has room for Nodes again.
    put("again", "changed", keptLength);
    await pass(5000);
    expect(notified.at(-1)).toMatchObject({ name: "again", node: nodeOf("again") });
  });

  /** Sets this number of Nodes to Unknown one after the other, as the node controller does. */
  async function givenUp(put: ReturnType<typeof opened>["put"], count: number): Promise<void> {
    for (const name of names(count)) {
      put(name, "unknown");
      await pass(100);
    }
  }

  it(`${unknownAtOnce} that turn Unknown within a report interval: notified at once; the next one 12 s later`, async () => {
    const { put, notified } = opened();
    await givenUp(put, unknownAtOnce + 1);
    expect(notified).toHaveLength(unknownAtOnce);
    await pass(9000);
    expect(notified).toHaveLength(unknownAtOnce);
    await pass(12_000);
    expect(notified).toHaveLength(unknownAtOnce + 1);
  });

  it("${unknownAtOnce} notices for Unknown Nodes; further machines report within an interval → their objects are not woken", async () => {
    const { notices, put, notified } = opened();
    await givenUp(put, 100);
    for (const name of names(100)) notices.drop(name);
    await pass(60_000);
    expect(notified).toHaveLength(unknownAtOnce);
  });

  it("${unknownAtOnce} notices for Unknown Nodes → a deletion and a cordon do not wait", async () => {
    const { put, notified } = opened();
    await givenUp(put, unknownAtOnce + 1);
    const [fromMs, before] = [time.nowMs(), notified.length];
    put("gone", "gone");
    put("cordoned");
    await pass(1000);
    const later = notified.slice(before).map(({ name, atMs }) => [name, atMs < fromMs + 1000]);
    expect(later).toEqual([
      ["gone", true],
      ["cordoned", true],
    ]);
  });
});

describe("between turns", () => {
  it("no notice; the next turn sends the waiting ones", async () => {
    const { notices, put, open, order } = opened();
    await notices.close();
    put("a", "gone");
    await pass(60_000);
    expect(order()).toEqual([]);
    open();
    await pass(1000);
    expect(order()).toEqual(["a"]);
  });

  it("`close` waits for the notices in progress, and starts none", async () => {
    const { notices, put, order, calls } = opened({ notify: pass1s });
    for (const name of names(20)) put(name, "gone");
    await pass(50);
    let isClosed = false;
    void notices.close().then(() => (isClosed = true));
    await pass(900);
    expect(isClosed).toBe(false);
    await pass(1000);
    const begun = order().length;
    expect([isClosed, begun < 20, calls.filter((call) => call.startsWith("done")).length]).toEqual([
      true,
      true,
      begun,
    ]);
    await pass(60_000);
    expect([order().length, time.waiting()]).toEqual([begun, 0]);
  });

  it.each<[situation: string, more: Situation, message: string]>([
    ["the registry", { known: () => new Promise(() => undefined) }, "the registry does not answer"],
    [
      "a machine's object",
      { notify: () => new Promise(() => undefined) },
      "not told of a change of its Node",
    ],
  ])(
    "`close` waits for %s that does not answer no longer than 8 s, and the change waits",
    async (_, more, message) => {
      const { notices, put, lines } = opened(more);
      put("a", "gone");
      await pass(50);
      let isClosed = false;
      void notices.close().then(() => (isClosed = true));
      await passDeadlines(7950);
      expect(isClosed).toBe(false);
      await passDeadlines(50);
      await pass(100);
      expect([isClosed, notices.waits("a"), timers()]).toEqual([true, true, 0]);
      expect(lines).toEqual([expect.objectContaining({ message, error: "Error: no answer in time" })]);
    },
  );

  it("`finish` first sends the notices that are due within a report interval, and no other", async () => {
    const { notices, put, order } = opened({
      notify: (name) => (name === "bad" ? Promise.reject(new Error("broken")) : Promise.resolve()),
    });
    for (const name of names(NOTICE_LIMITS.unknownAtOnce + 1)) put(name, "unknown");
    put("a");
    put("bad", "gone");
    let isOver = false;
    void notices.finish().then(() => (isOver = true));
    await pass(40_000);
    expect([isOver, notices.size, time.waiting()]).toEqual([true, 1, 0]);
    expect(order().filter((name) => name !== "bad")).toHaveLength(NOTICE_LIMITS.unknownAtOnce + 2);
  });
});
