// Tests which messages an open feed gets and when, and which feeds are closed. The clock belongs to the test; the
// rows are those of a fleet index.
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import type { MachineSummary } from "../../../shared/fleet/summary.ts";
import { FEED_CLOSED } from "../../../shared/protocol/feed-names.ts";
import { FEED_LIMITS } from "../../../shared/protocol/limits.ts";
import { FeedSource, readCursor } from "../../../worker/fleet/feed-source.ts";
import { FEED_CHECK_MS, FEED_CHECK_WITHIN_MS, type FeedHolder, Feeds } from "../../../worker/fleet/feed.ts";
import { MachineRows } from "../../../worker/fleet/machine-rows.ts";
import { Outages } from "../../../worker/fleet/outages.ts";
import { MadeUpClock, MadeUpSocket } from "../support/feed-sockets.ts";
import { FLEET_START_MS, machineName, PENDING, summaryOf, updateOf } from "../support/made-up-fleet.ts";

const HOLDER = { who: "alice", credential: { sha256: "x" } };
const { intervalMs, acknowledgedMs, unacknowledged } = FEED_LIMITS;

class Fleet {
  readonly clock = new MadeUpClock();
  readonly sockets: MadeUpSocket[] = [];
  readonly rows: MachineRows;
  readonly outages: Outages;
  isGood: boolean | "fails" | "takes long" | ((holder: FeedHolder) => boolean) = true;
  asked = 0;
  answerLate: (isGood: boolean) => void = () => undefined;
  source: FeedSource;
  feeds: Feeds;
  #version = 0;
  #generation = 1;

  readonly sql: SqlStorage;
  constructor(sql: SqlStorage) {
    this.sql = sql;
    this.rows = new MachineRows(sql);
    this.outages = new Outages(sql);
    this.source = new FeedSource(sql, this.rows, this.outages);
    this.feeds = this.#newFeeds();
  }

  #newFeeds(): Feeds {
    return new Feeds({
      source: this.source,
      sockets: () => this.sockets.filter(({ closed }) => !closed),
      isGood: async (holder) => {
        this.asked += 1;
        if (typeof this.isGood === "function") return this.isGood(holder);
        if (this.isGood === "fails") throw new Error("the registry restarts");
        return this.isGood === "takes long"
          ? new Promise((resolve) => (this.answerLate = resolve))
          : this.isGood;
      },
      nowMs: () => this.clock.nowMs,
      after: this.clock.after,
    });
  }

  evict(): void {
    this.clock.forget();
    this.source = new FeedSource(this.sql, this.rows, this.outages);
    this.feeds = this.#newFeeds();
  }

  tell(index: number, change: Partial<MachineSummary> = {}): void {
    const telling = updateOf(index, ++this.#version, change);
    // The generation rises when a machine enrols again under its name.
    const { change: told } = this.rows.take({ ...telling, generation: this.#generation });
    if (!told) {
      // The update changes nothing, so that the feed has nothing to send.
      expect(this.rows.summary(telling.name)).toEqual(telling.summary);
      return;
    }
    this.outages.note(told);
    this.source.note(told);
    this.feeds.flush();
  }

  remove(index: number): void {
    const told = this.rows.remove(machineName(index), this.#generation++, this.clock.nowMs, "left");
    if (!told) return;
    this.outages.note(told);
    this.source.note(told);
    this.feeds.flush();
  }

  open(cursor: string | null = null, who = HOLDER.who, more: Partial<FeedHolder> = {}): MadeUpSocket {
    const socket = new MadeUpSocket();
    this.sockets.push(socket);
    this.feeds.begin(socket, { ...HOLDER, who, ...more }, cursor === null ? null : readCursor(cursor));
    return socket;
  }

  /** Acknowledges messages as a client does, until no message is left. */
  acknowledge(socket: MadeUpSocket): void {
    for (let frame = socket.take(); frame !== null; frame = socket.take()) this.feeds.receive(socket, frame);
  }

  /** Returns the socket of a feed whose client acknowledged the snapshot more than a second ago. */
  live(): MadeUpSocket {
    const socket = this.open();
    this.acknowledge(socket);
    this.clock.pass(intervalMs);
    return socket;
  }
}

let objects = 0;
function inIndex(work: (fleet: Fleet) => void | Promise<void>): Promise<void> {
  const stub = env.INDEX.getByName(`feeds-${objects++}`);
  return runInDurableObject(stub, (_, { storage }) => work(new Fleet(storage.sql)));
}

const kinds = ({ messages }: MadeUpSocket) => messages.map(({ type }) => type);
const states = ({ view }: MadeUpSocket) =>
  Object.fromEntries([...view.machines].map(([name, { state }]) => [Number(name.slice(-6)), state]));

describe("a new feed", () => {
  it("gets a snapshot of all machines, then nothing, and sets no timer", () =>
    inIndex((fleet) => {
      for (const index of [3, 1, 2]) fleet.tell(index);
      const socket = fleet.open();
      expect(kinds(socket)).toEqual(["hello", "snapshot"]);
      fleet.acknowledge(socket);
      fleet.clock.pass(24 * 3600_000);
      expect([socket.sent.length, fleet.clock.timers, socket.closed]).toEqual([2, 0, null]);
      expect(states(socket)).toEqual({ 1: "ready", 2: "ready", 3: "ready" });
    }));

  it("gets all fields of a machine that lists need", () =>
    inIndex((fleet) => {
      fleet.tell(7, {
        state: "silent",
        sinceMs: 9000,
        silentSinceMs: 4000,
        why: "no report",
        skewMs: 61_000,
      });
      const socket = fleet.open();
      fleet.acknowledge(socket);
      const { labels, versions, capacity } = summaryOf(7);
      expect(socket.view.machines.get(machineName(7))).toEqual({
        name: machineName(7),
        state: "silent",
        sinceMs: 9000,
        silentSinceMs: 4000,
        phase: "registered",
        why: "no report",
        conditions: { MemoryPressure: "False", DiskPressure: "False", PIDPressure: "False", Ready: "True" },
        isUnschedulable: false,
        skewMs: 61_000,
        labels,
        versions,
        addresses: ["InternalIP=10.0.0.7"],
        address: "203.0.7.7",
        capacity,
        withheld: "",
        token: "token-1",
        isUsed: true,
        transport: "http",
        createdMs: FLEET_START_MS,
      });
    }));

  it("of an empty fleet gets an empty snapshot", () =>
    inIndex((fleet) => {
      const socket = fleet.open();
      expect(socket.messages[1]).toMatchObject({ type: "snapshot", rows: 0, isLast: true, counts: {} });
    }));
});

describe("changes", () => {
  it("are sent at once if the last message is a second old, else once a second, each machine once", () =>
    inIndex((fleet) => {
      fleet.tell(1);
      fleet.tell(2);
      const socket = fleet.live();
      fleet.tell(1, { state: "silent" });
      expect(kinds(socket)).toEqual(["hello", "snapshot", "changes"]);
      fleet.acknowledge(socket);
      fleet.tell(1, { state: "not-ready" });
      fleet.tell(1, { state: "blocked" });
      fleet.tell(2, { state: "silent" });
      expect(socket.sent).toHaveLength(3);
      fleet.clock.pass(intervalMs - 1);
      expect(socket.sent).toHaveLength(3);
      fleet.clock.pass(1);
      fleet.acknowledge(socket);
      expect(socket.messages[3]).toMatchObject({ moved: { rows: 2 }, counts: { blocked: 1, silent: 1 } });
      expect(states(socket)).toEqual({ 1: "blocked", 2: "silent" });
      expect(fleet.clock.timers).toBe(0);
    }));

  it("of rarely changing fields → the whole machine; of other fields → only those", () =>
    inIndex((fleet) => {
      fleet.tell(1);
      fleet.tell(2);
      const socket = fleet.live();
      fleet.tell(1, { labels: { site: "elsewhere" } });
      fleet.clock.pass(intervalMs);
      fleet.acknowledge(socket);
      fleet.tell(2, { state: "silent" });
      fleet.tell(3);
      fleet.clock.pass(intervalMs);
      fleet.acknowledge(socket);
      expect(socket.view.machines.get(machineName(1))?.labels).toEqual({ site: "elsewhere" });
      expect(states(socket)).toEqual({ 1: "ready", 2: "silent", 3: "ready" });
      const shapes = socket.messages.slice(2).map((news) => Object.keys(news).slice(2).sort());
      expect(shapes).toEqual([
        ["counts", "machines"],
        ["counts", "moved"],
        ["counts", "machines"],
      ]);
    }));

  it("a removed machine → its name; a machine that returns → all of it", () =>
    inIndex((fleet) => {
      fleet.tell(1);
      const socket = fleet.live();
      fleet.remove(1);
      fleet.acknowledge(socket);
      expect(states(socket)).toEqual({});
      fleet.tell(1);
      fleet.clock.pass(intervalMs);
      fleet.acknowledge(socket);
      expect(states(socket)).toEqual({ 1: "ready" });
    }));

  it("an outage and pending machines are sent as well", () =>
    inIndex((fleet) => {
      const socket = fleet.live();
      fleet.tell(1, { state: "silent", silentSinceMs: 5, address: "203.0.113.7" });
      fleet.tell(2, { state: "silent", silentSinceMs: 6, address: "203.0.113.7" });
      fleet.source.setPending([PENDING]);
      fleet.clock.pass(intervalMs);
      fleet.acknowledge(socket);
      expect([...socket.view.outages.values()]).toMatchObject([{ machines: 2, silent: 2 }]);
      expect(socket.view.pending.map(({ name }) => name)).toEqual(["x"]);
      const later = fleet.live();
      expect([later.view.outages.size, later.view.pending.length]).toEqual([1, 1]);
      fleet.tell(3);
      expect(Object.keys(later.messages.at(-1)!)).not.toContain("pending");
    }));

  it("for two clients at one position → the message is made once", () =>
    inIndex((fleet) => {
      for (let each = 0; each < 2; each++) fleet.acknowledge(fleet.open());
      fleet.clock.pass(intervalMs);
      const next = vi.spyOn(fleet.source, "next");
      fleet.tell(1);
      expect(fleet.sockets.map((socket) => kinds(socket).at(-1))).toEqual(["changes", "changes"]);
      expect(next).toHaveBeenCalledTimes(1);
    }));
});

describe("room for another feed", () => {
  const { feeds, feedsOfOperator } = FEED_LIMITS;
  it.each<[situation: string, openOfAlice: number, openOfOthers: number, forAlice: boolean, forBob: boolean]>(
    [
      ["none is open", 0, 0, true, true],
      ["one less than an operator may have", feedsOfOperator - 1, 0, true, true],
      ["as many as an operator may have", feedsOfOperator, 0, false, true],
      ["one less than there may be", 1, feeds - 2, true, true],
      ["as many as there may be", 1, feeds - 1, false, false],
    ],
  )("%s", (_, openOfAlice, openOfOthers, forAlice, forBob) =>
    inIndex((fleet) => {
      for (let each = 0; each < openOfAlice; each++) fleet.open();
      for (let each = 0; each < openOfOthers; each++) fleet.open(null, `operator-${each}`);
      expect([fleet.feeds.hasRoomFor("alice"), fleet.feeds.hasRoomFor("bob")]).toEqual([forAlice, forBob]);
    }),
  );

  it("a closed feed leaves its room to another", () =>
    inIndex((fleet) => {
      const sockets = Array.from({ length: feedsOfOperator }, () => fleet.open());
      sockets[0]?.close();
      expect(fleet.feeds.hasRoomFor("alice")).toBe(true);
    }));
});

describe("a client that does not acknowledge", () => {
  it("two messages → the feed stays open until a third is due; then it is closed", () =>
    inIndex((fleet) => {
      const socket = fleet.live();
      for (let message = 0; message < unacknowledged; message++) {
        fleet.tell(message);
        fleet.clock.pass(intervalMs);
      }
      expect([socket.sent.length, socket.closed]).toEqual([2 + unacknowledged, null]);
      fleet.tell(9);
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.tooSlow);
    }));

  it("for ten seconds → the feed is closed, not earlier", () =>
    inIndex((fleet) => {
      const socket = fleet.live();
      fleet.tell(1);
      fleet.clock.pass(acknowledgedMs - 1);
      expect([socket.closed, fleet.clock.timers]).toEqual([null, 1]);
      fleet.clock.pass(1);
      expect([socket.closed?.[0], fleet.clock.timers]).toEqual([FEED_CLOSED.tooSlow, 0]);
    }));

  it("for ten seconds, and gets a later message meanwhile → the feed is closed no later", () =>
    inIndex((fleet) => {
      const socket = fleet.live();
      fleet.tell(1);
      fleet.clock.pass(acknowledgedMs - 1);
      fleet.tell(2);
      expect([socket.sent.length, socket.closed]).toEqual([4, null]);
      fleet.clock.pass(1);
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.tooSlow);
    }));

  it("the other client's feed continues", () =>
    inIndex((fleet) => {
      const [slow, other] = [fleet.live(), fleet.live()];
      for (let round = 0; round < 4; round++) {
        fleet.tell(round);
        fleet.clock.pass(intervalMs);
        fleet.acknowledge(other);
      }
      expect([slow.closed?.[0], other.closed]).toEqual([FEED_CLOSED.tooSlow, null]);
      expect(Object.keys(states(other))).toEqual(["0", "1", "2", "3"]);
    }));
});

describe("a client's frame", () => {
  const cases: [situation: string, frame: (cursor: string) => string | ArrayBuffer][] = [
    ["that is no JSON", () => "{"],
    ["of bytes", () => new ArrayBuffer(2)],
    ["that asks for something", () => '{"subscribe": "x"}'],
    ["that says more", (ack) => JSON.stringify({ ack, more: 1 })],
    ["that acknowledges another cursor", () => '{"ack": "0123456789abcdef_5"}'],
    ["that is too long", (ack) => JSON.stringify({ ack }).padEnd(FEED_LIMITS.frameLength + 1)],
  ];
  it.each(cases)("%s → closes the feed", (_, frame) =>
    inIndex((fleet) => {
      const socket = fleet.open();
      const [, snapshot] = socket.messages;
      fleet.feeds.receive(socket, frame(snapshot?.type === "snapshot" ? snapshot.cursor : ""));
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.badFrame);
    }),
  );

  it("of the largest size → counts", () =>
    inIndex((fleet) => {
      const socket = fleet.open();
      fleet.feeds.receive(socket, socket.take()!.padEnd(FEED_LIMITS.frameLength));
      expect(socket.closed).toBeNull();
    }));
});

describe("a credential", () => {
  it("is checked once a minute, and only before a message", () =>
    inIndex(async (fleet) => {
      const socket = fleet.live();
      for (const [passMs, asked] of [
        [FEED_CHECK_MS - intervalMs - 1, 0],
        [intervalMs, 1],
        [FEED_CHECK_MS - 1, 1],
        [3 * FEED_CHECK_MS, 2],
      ] as const) {
        fleet.clock.pass(passMs);
        fleet.tell(1, { why: `after ${passMs} ms` });
        await Promise.resolve();
        await Promise.resolve();
        fleet.acknowledge(socket);
        expect(fleet.asked).toBe(asked);
      }
      expect([socket.closed, fleet.clock.timers]).toEqual([null, 0]);
      expect(kinds(socket).filter((kind) => kind === "changes")).toHaveLength(4);
    }));

  it("is no longer valid → the feed is closed without a further message", () =>
    inIndex(async (fleet) => {
      const socket = fleet.live();
      fleet.clock.pass(FEED_CHECK_MS - intervalMs);
      fleet.isGood = false;
      fleet.tell(1);
      await Promise.resolve();
      await Promise.resolve();
      expect([socket.closed?.[0], socket.sent.length]).toEqual([FEED_CLOSED.notAllowed, 2]);
    }));

  it.each<[situation: string, isGood: Fleet["isGood"], passMs: number]>([
    ["cannot be looked at", "fails", 0],
    ["is looked at for too long", "takes long", FEED_CHECK_WITHIN_MS],
  ])("that %s → the feed is closed for a while, and sent nothing", (_, isGood, passMs) =>
    inIndex(async (fleet) => {
      const socket = fleet.live();
      fleet.clock.pass(FEED_CHECK_MS);
      fleet.isGood = isGood;
      fleet.tell(1);
      if (passMs > 0) fleet.clock.pass(passMs - 1);
      await Promise.resolve();
      await Promise.resolve();
      if (passMs > 0) {
        expect(socket.closed).toBeNull();
        fleet.tell(2);
        fleet.clock.pass(1);
      }
      expect(fleet.asked).toBe(1);
      const closed = [FEED_CLOSED.inDoubt, "the credential could not be checked: open it again"];
      expect([socket.closed, socket.sent.length, fleet.clock.timers]).toEqual([closed, 2, 0]);
      fleet.answerLate(true);
      await Promise.resolve();
      expect([socket.closed, socket.sent.length, fleet.clock.timers]).toEqual([closed, 2, 0]);
    }),
  );

  const LIFE_MS = FEED_LIMITS.lifeSeconds * 1000;
  it.each<[string, (nowMs: number) => Partial<FeedHolder>, number]>([
    ["a secret", () => ({}), LIFE_MS],
    ["a session that expires in an hour", (nowMs) => ({ endsMs: nowMs + 3600_000 }), 3600_000],
    ["a session that outlives the feed", (nowMs) => ({ endsMs: nowMs + LIFE_MS + 1 }), LIFE_MS],
    ["an assertion of a minute", (nowMs) => ({ credential: { untilMs: nowMs + 60_000 } }), 60_000],
  ])("is %s → the feed is closed at its end without a change, also after an eviction", (_, more, lifeMs) =>
    inIndex((fleet) => {
      const openedMs = fleet.clock.nowMs;
      const socket = fleet.open(null, "alice", more(openedMs));
      fleet.acknowledge(socket);
      fleet.evict();
      expect(fleet.feeds.endMs()).toBe(openedMs + lifeMs);
      fleet.clock.pass(lifeMs - 1);
      fleet.feeds.flush();
      expect(socket.closed).toBeNull();
      fleet.clock.pass(1);
      fleet.feeds.flush();
      expect([socket.closed?.[0], fleet.feeds.endMs()]).toEqual([FEED_CLOSED.notAllowed, null]);
    }),
  );

  it("of one of two feeds expires first → the first end is due", () =>
    inIndex((fleet) => {
      const endsMs = [3600_000, 1800_000].map((ms) => fleet.clock.nowMs + ms);
      for (const each of endsMs) fleet.open(null, "alice", { endsMs: each });
      expect(fleet.feeds.endMs()).toBe(endsMs[1]);
    }));

  it("may have ended → each feed is checked at once, and the ended ones are closed", () =>
    inIndex(async (fleet) => {
      const [ended, other] = [fleet.live(), fleet.open(null, "bob", { credential: { session: "bob's" } })];
      fleet.isGood = ({ credential }) => "session" in credential;
      fleet.feeds.recheck();
      await Promise.resolve();
      await Promise.resolve();
      expect([ended.closed?.[0], other.closed]).toEqual([FEED_CLOSED.notAllowed, null]);
    }));

  it("ends while an earlier check runs → that check's result does not count", () =>
    inIndex(async (fleet) => {
      const socket = fleet.live();
      fleet.isGood = "takes long";
      fleet.feeds.recheck();
      const { answerLate } = fleet;
      fleet.isGood = false;
      fleet.feeds.recheck();
      answerLate(true);
      await Promise.resolve();
      await Promise.resolve();
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.notAllowed);
    }));
});

describe("a resumed feed", () => {
  it("at its cursor → changed and removed machines, without a snapshot", () =>
    inIndex((fleet) => {
      for (const index of [1, 2, 3]) fleet.tell(index);
      const before = fleet.live();
      fleet.tell(1, { state: "silent" });
      fleet.remove(2);
      const after = fleet.open(before.view.cursor);
      expect(after.messages).toMatchObject([
        { type: "hello", resumed: true },
        { type: "changes", moved: { rows: 1 }, gone: [machineName(2)] },
      ]);
    }));

  it("without a change since → nothing", () =>
    inIndex((fleet) => {
      fleet.tell(1);
      expect(kinds(fleet.open(fleet.live().view.cursor))).toEqual(["hello"]);
    }));

  const cases: [situation: string, cursor: (cursor: string) => string, why: string][] = [
    [
      "of another life of the index",
      (cursor) => cursor.replace(/^\w{16}/, "0123456789abcdef"),
      "the index began anew",
    ],
    ["of a change that is not made yet", (cursor) => `${cursor}0`, "the index began anew"],
  ];
  it.each(cases)("with the cursor %s → a snapshot, with the reason", (_, cursor, why) =>
    inIndex((fleet) => {
      fleet.tell(1);
      const socket = fleet.open(cursor(fleet.live().view.cursor!));
      expect(socket.messages).toMatchObject([{ resumed: false, why }, { type: "snapshot" }]);
    }),
  );
});

describe("a fleet whose snapshot has many parts", () => {
  /** Adds 100 machines whose texts together exceed one message. */
  const large = (fleet: Fleet) => {
    for (let index = 0; index < 100; index++) fleet.tell(index, { why: `${index} `.repeat(10_000) });
  };
  const isPart = (socket: MadeUpSocket) =>
    socket.messages.flatMap((message) => (message.type === "snapshot" ? message.isLast : []));

  it("arrives in messages of at most 1 MiB, two at a time", () =>
    inIndex((fleet) => {
      large(fleet);
      const socket = fleet.open();
      expect(isPart(socket)).toEqual([false, false]);
      fleet.feeds.receive(socket, socket.take()!);
      expect(isPart(socket)).toEqual([false, false, false]);
      fleet.acknowledge(socket);
      expect(isPart(socket).at(-1)).toBe(true);
      expect(socket.view.machines.size).toBe(100);
      const sizes = socket.sent.map((text) => new TextEncoder().encode(text).length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(FEED_LIMITS.messageBytes);
    }));

  it("and all of them change → messages of at most 1 MiB, until the client has all", () =>
    inIndex((fleet) => {
      large(fleet);
      const socket = fleet.live();
      for (let index = 0; index < 100; index++) fleet.tell(index, { why: `${index}! `.repeat(10_000) });
      for (let second = 0; second < 6; second++) {
        fleet.clock.pass(intervalMs);
        fleet.acknowledge(socket);
      }
      const whys = [...socket.view.machines.values()].filter(({ why }) => why.includes("! "));
      expect([whys.length, socket.closed]).toEqual([100, null]);
      const sizes = socket.sent.map((text) => new TextEncoder().encode(text).length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(FEED_LIMITS.messageBytes);
    }));

  it("changes meanwhile → the changes follow once the client has the whole snapshot", () =>
    inIndex((fleet) => {
      large(fleet);
      const socket = fleet.open();
      fleet.feeds.receive(socket, socket.take()!);
      fleet.tell(0, { state: "silent" });
      fleet.remove(1);
      fleet.clock.pass(2 * intervalMs);
      expect(kinds(socket)).not.toContain("changes");
      fleet.acknowledge(socket);
      // The counts are newer than the snapshot's machines, so that only the changes have them.
      expect(
        socket.messages.find((message) => message.type === "snapshot" && message.isLast),
      ).not.toHaveProperty("counts");
      fleet.clock.pass(intervalMs);
      fleet.acknowledge(socket);
      expect([kinds(socket).at(-1), fleet.clock.timers]).toEqual(["changes", 0]);
      expect([states(socket)[0], states(socket)[1], socket.view.machines.size]).toEqual([
        "silent",
        undefined,
        99,
      ]);
    }));

  it("changes, and the last part is not acknowledged → the changes wait", () =>
    inIndex((fleet) => {
      large(fleet);
      const socket = fleet.open();
      while (!isPart(socket).includes(true)) fleet.feeds.receive(socket, socket.take()!);
      // Two parts were not acknowledged. Now only the last one is not.
      fleet.feeds.receive(socket, socket.take()!);
      fleet.tell(0, { state: "silent" });
      fleet.clock.pass(2 * intervalMs);
      expect([kinds(socket).at(-1), socket.closed]).toEqual(["snapshot", null]);
    }));

  it("and a client that stops half-way → closed after ten seconds; a reconnect continues from there", () =>
    inIndex((fleet) => {
      large(fleet);
      const socket = fleet.open();
      socket.take();
      fleet.clock.pass(acknowledgedMs);
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.tooSlow);
      const back = fleet.open(socket.view.cursor);
      expect(back.messages[0]).toMatchObject({ resumed: true });
      for (const message of back.messages.slice(1)) socket.view.take(message);
      fleet.acknowledge(back);
      for (const message of back.messages.slice(3)) socket.view.take(message);
      expect(socket.view.machines.size).toBe(100);
    }));
});

it("an eviction at any point → nothing is lost, and nothing is sent twice", () =>
  inIndex((fleet) => {
    fleet.tell(1);
    const socket = fleet.open();
    fleet.evict();
    fleet.acknowledge(socket);
    fleet.clock.pass(intervalMs);
    fleet.evict();
    fleet.tell(1, { state: "silent" });
    fleet.evict();
    fleet.acknowledge(socket);
    fleet.tell(2);
    // The change of machine 2 waits for the end of the interval, and the eviction deletes that timer. The next
    // event sends the change.
    fleet.evict();
    fleet.clock.pass(intervalMs);
    fleet.tell(3);
    fleet.acknowledge(socket);
    expect(states(socket)).toEqual({ 1: "silent", 2: "ready", 3: "ready" });
    expect(kinds(socket)).toEqual(["hello", "snapshot", "changes", "changes"]);
  }));

describe("a feed with a selector", () => {
  const X = { "rollcall.dev/machine": "", site: "x" };
  const [OWN, OTHER] = [{ labels: X }, { labels: { ...X, site: "y" } }];
  const SITE = { selector: "site=x" };
  const opened = (fleet: Fleet) => {
    const socket = fleet.open(null, "bob", SITE);
    fleet.acknowledge(socket);
    fleet.clock.pass(intervalMs);
    return socket;
  };
  const settled = (fleet: Fleet, socket: MadeUpSocket) => {
    fleet.clock.pass(intervalMs);
    fleet.acknowledge(socket);
    return states(socket);
  };

  it("gets a snapshot of the machines that match, with their counts and outages alone", () =>
    inIndex((fleet) => {
      const silent = { state: "silent", silentSinceMs: FLEET_START_MS, address: "203.0.113.7" } as const;
      for (const index of [1, 2, 3]) fleet.tell(index, { ...silent, ...OTHER });
      for (const index of [4, 5]) fleet.tell(index, { ...silent, ...OWN });
      fleet.source.setPending([PENDING]);
      const [, snapshot] = fleet.open(null, "bob", SITE).messages;
      expect(snapshot).toMatchObject({
        rows: 2,
        pending: [],
        counts: { silent: 2 },
        outages: [{ machines: 2, silent: 2, names: [machineName(4), machineName(5)] }],
      });
      expect(JSON.stringify(snapshot)).not.toMatch(/machine-00000[123]/);
    }));

  it("only other machines change, join, leave or wait → no message, and no acknowledgement is due", () =>
    inIndex((fleet) => {
      fleet.tell(1, OWN);
      fleet.tell(2, OTHER);
      const socket = opened(fleet);
      const before = socket.sent.length;
      fleet.tell(2, { ...OTHER, state: "silent", silentSinceMs: 1 });
      fleet.tell(3, OTHER);
      fleet.remove(2);
      fleet.source.setPending([PENDING]);
      fleet.feeds.flush();
      fleet.clock.pass(2 * acknowledgedMs);
      expect([socket.sent.length, socket.closed]).toEqual([before, null]);
      fleet.tell(1, { ...OWN, state: "silent" });
      expect(settled(fleet, socket)).toEqual({ 1: "silent" });
      expect(socket.messages.at(-1)).toMatchObject({ counts: { silent: 1 } });
    }));

  it.each<[string, (fleet: Fleet) => void, object]>([
    [
      "a machine gets the label",
      (fleet) => {
        fleet.tell(2, OWN);
      },
      { 1: "ready", 2: "ready" },
    ],
    [
      "a machine loses the label",
      (fleet) => {
        fleet.tell(1, OTHER);
      },
      {},
    ],
    [
      "a machine loses it, and changes again",
      (fleet) => {
        fleet.tell(1, OTHER);
        fleet.tell(1, { ...OTHER, state: "silent" });
      },
      {},
    ],
    [
      "a machine loses it, and is removed",
      (fleet) => {
        fleet.tell(1, OTHER);
        fleet.remove(1);
      },
      {},
    ],
    [
      "a machine loses it, and gets it again",
      (fleet) => {
        fleet.tell(1, OTHER);
        fleet.tell(1, OWN);
      },
      { 1: "ready" },
    ],
    [
      "a machine gets the label, and loses it",
      (fleet) => {
        fleet.tell(2, OWN);
        fleet.tell(2, OTHER);
      },
      { 1: "ready" },
    ],
    [
      "a machine is removed",
      (fleet) => {
        fleet.remove(1);
      },
      {},
    ],
  ])("%s → the client's machines: %3$j", (_, change, expected) =>
    inIndex((fleet) => {
      fleet.tell(1, OWN);
      fleet.tell(2, OTHER);
      const socket = opened(fleet);
      change(fleet);
      expect(settled(fleet, socket)).toEqual(expected);
    }),
  );

  it("a label is lost while the snapshot is not acknowledged → the machine leaves afterwards", () =>
    inIndex((fleet) => {
      fleet.tell(1, OWN);
      const socket = fleet.open(null, "bob", SITE);
      fleet.tell(1, OTHER);
      fleet.acknowledge(socket);
      expect(settled(fleet, socket)).toEqual({});
    }));

  it("any cursor → a snapshot again, since a cursor does not show what its client has", () =>
    inIndex((fleet) => {
      fleet.tell(1, OTHER);
      const all = fleet.live();
      const socket = fleet.open(all.view.cursor, "bob", SITE);
      expect(socket.messages[0]).toMatchObject({ resumed: false, why: "the feed has some machines only" });
      fleet.acknowledge(socket);
      expect(states(socket)).toEqual({});
    }));

  it("an outage of which only others' machines change → not sent again", () =>
    inIndex((fleet) => {
      const silent = { state: "silent", silentSinceMs: FLEET_START_MS, address: "203.0.113.7" } as const;
      for (const index of [1, 2]) fleet.tell(index, { ...silent, ...OWN });
      const socket = opened(fleet);
      const before = socket.sent.length;
      fleet.tell(3, { ...silent, ...OTHER });
      fleet.clock.pass(intervalMs);
      expect(socket.sent.length).toBe(before);
      fleet.tell(1, OWN);
      settled(fleet, socket);
      expect(socket.messages.at(-1)).toMatchObject({ outages: [{ machines: 2, silent: 1 }] });
    }));

  it("the operator has another selector by now → closed", () =>
    inIndex(async (fleet) => {
      const socket = opened(fleet);
      fleet.isGood = ({ selector }) => selector === "site=y";
      fleet.feeds.recheck();
      await Promise.resolve();
      await Promise.resolve();
      expect(socket.closed?.[0]).toBe(FEED_CLOSED.notAllowed);
    }));

  it("random events → the client has what a new feed has, and never a machine that did not match", () =>
    inIndex((fleet) => {
      const random = seeded(11);
      let socket = fleet.open(null, "bob", SITE);
      for (let step = 0; step < 400; step++) {
        const index = random(12);
        // Machines from 6 on never have the label.
        const labels = index < 6 && random(2) === 0 ? OWN : OTHER;
        const kind = random(10);
        if (kind < 6) fleet.tell(index, { ...CHANGES[random(2)], ...labels });
        else if (kind === 6) fleet.remove(index);
        else if (kind === 7) fleet.clock.pass(random(1500));
        else if (kind === 8) fleet.evict();
        else fleet.acknowledge(socket);
        if (socket.closed) socket = fleet.open(null, "bob", SITE);
      }
      fleet.acknowledge(socket);
      fleet.clock.pass(intervalMs);
      fleet.feeds.flush();
      fleet.acknowledge(socket);
      const fresh = fleet.open(null, "bob", SITE);
      fleet.acknowledge(fresh);
      expect(Object.fromEntries(socket.view.machines)).toEqual(Object.fromEntries(fresh.view.machines));
      const sent = fleet.sockets.flatMap((each) => each.sent).join();
      expect(sent).toContain(machineName(5));
      for (let index = 6; index < 12; index++) expect(sent).not.toContain(machineName(index));
    }));
});

it("random events → each client that stays or reconnects has the index's content", () =>
  inIndex((fleet) => {
    const random = seeded(7);
    let sockets = [fleet.open(), fleet.open()];
    for (let step = 0; step < 400; step++) {
      const index = random(12);
      const kind = random(10);
      if (kind < 5) fleet.tell(index, CHANGES[random(CHANGES.length)]);
      else if (kind === 5) fleet.remove(index);
      else if (kind === 6) fleet.clock.pass(random(1500));
      else if (kind === 7) fleet.evict();
      else if (kind === 8) for (const socket of sockets) fleet.acknowledge(socket);
      else sockets = sockets.map((socket) => resumed(fleet, socket));
      sockets = sockets.map((socket) => (socket.closed ? resumed(fleet, socket) : socket));
    }
    for (const socket of sockets) {
      fleet.acknowledge(socket);
      fleet.clock.pass(intervalMs);
      fleet.feeds.flush();
      fleet.acknowledge(socket);
      const fresh = fleet.open();
      fleet.acknowledge(fresh);
      expect(Object.fromEntries(socket.view.machines)).toEqual(Object.fromEntries(fresh.view.machines));
    }
  }));

const CHANGES: Partial<MachineSummary>[] = [
  {},
  { state: "silent", silentSinceMs: 5 },
  { labels: { site: "x" } },
  { versions: { shim: "9", kernel: "", os: "", runtime: "", architecture: "" } },
];

function resumed(fleet: Fleet, socket: MadeUpSocket): MadeUpSocket {
  socket.close();
  const next = fleet.open(socket.view.cursor);
  next.view = socket.view;
  return next;
}

/** Returns a function that returns random numbers below a bound, identical in each run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * below);
  };
}
