// Tests one socket: its frames and their effects, with the test's connection and clock.
import { beforeEach, describe, expect, it, test } from "vitest";
import { makeSessionKeys } from "../../../node-shim/worker-link/session.ts";
import type { QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import { GatewaySocket, type SocketEnd } from "../../../node-shim/worker-link/socket-transport.ts";
import type { ConnectionListener } from "../../../node-shim/worker-link/websocket.ts";
import type { GatewayFrame, HeartbeatFrame } from "../../../shared/protocol/frames.ts";
import { LIMITS, USAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { USAGE, usageOf } from "../../../shared/protocol/usage.ts";
import { fakeClock, settle } from "../base/fake-clock.ts";

const DEADLINE_MS = 9000;
const VITALS: Vitals = { signals: { "memory.available": [100, 200] } };
const OTHER: Vitals = { signals: { "memory.available": [90, 200] } };
const REPORT = { token: "token", body: "{}", vitals: VITALS };
const KEY = makeSessionKeys().publicKey;
const ACCEPTED = {
  type: "report-answer",
  status: 200,
  body: {} as never,
  session: { key: KEY, nonce: "n".repeat(22) },
  comeBackWithinMs: 30_000,
} as const satisfies GatewayFrame;

/**
 * Makes a socket on the test's connection. `events` has the events of both sides, in their order. The Worker answers
 * pings if `pongs`.
 */
function socketOnTest({
  pongs = false,
  random = 0,
  patienceMs = 20_000,
  answering = null as QuestionAnswering | null,
} = {}) {
  const clock = fakeClock();
  const events: string[] = [];
  const sent: string[] = [];
  const ends: SocketEnd[] = [];
  const answered: true[] = [];
  let listener: ConnectionListener | undefined;
  const connection = {
    listen: (listens: ConnectionListener) => void (listener = listens),
    send: (text: string, left?: () => void) => {
      sent.push(text);
      left?.();
    },
    ping: () => void (events.push("ping"), pongs && listener?.ponged()),
    close: () => void events.push("closed"),
    terminate: () => void events.push("terminated"),
  };
  const socket = new GatewaySocket(
    connection,
    {
      name: "edge-1",
      keys: makeSessionKeys(),
      clock,
      deadlineMs: DEADLINE_MS,
      patienceMs,
      random: () => random,
      answering,
    },
    {
      asked: () => events.push("asked"),
      answered: () => answered.push(true),
      accepted: (ms) => events.push(`accepted ${ms}`),
      ended: (end) => {
        events.push("ended");
        ends.push(end);
      },
    },
  );
  const receives = (frame: unknown) =>
    listener?.received(typeof frame === "string" ? frame : JSON.stringify(frame));
  const beats = () =>
    sent
      .filter((text) => text.includes("\n"))
      .map((text) => JSON.parse(text.split("\n")[0] ?? "") as HeartbeatFrame);
  return {
    socket,
    clock,
    events,
    sent,
    ends,
    answered,
    receives,
    beats,
    isLost: (why: string) => listener?.ended(why),
  };
}

let test_: ReturnType<typeof socketOnTest>;
beforeEach(() => {
  test_ = socketOnTest();
});

async function withSession() {
  const { socket, receives, events } = test_;
  const answer = socket.report(REPORT);
  receives(ACCEPTED);
  await answer;
  events.length = 0;
  return test_;
}

describe("a report", () => {
  it("goes as a frame, and its answer comes back; its acceptance is logged once", async () => {
    const { socket, sent, receives, events } = test_;
    const answer = socket.report(REPORT);
    expect(sent).toEqual(['{"type":"report","token":"token","body":"{}"}']);
    receives(ACCEPTED);
    expect(await answer).toEqual(ACCEPTED);
    expect(events).toEqual(["accepted 30000"]);
  });

  it("each answer is counted, also a refusal's; a frame of a later Worker in between is not", async () => {
    const { socket, receives, answered, ends } = test_;
    for (const status of [200, 409, 500]) {
      const answer = socket.report(REPORT);
      receives({ type: "news" });
      receives({ ...ACCEPTED, status });
      expect(await answer).toMatchObject({ status });
    }
    expect([answered.length, ends]).toEqual([3, []]);
  });

  it("refused → its answer comes back, the socket stays, and no heartbeat follows", async () => {
    const { socket, receives, events } = test_;
    const answer = socket.report(REPORT);
    receives({ ...ACCEPTED, status: 409, body: { reason: "ticket-stale" } });
    expect(await answer).toMatchObject({ status: 409 });
    expect(await socket.heartbeat(OTHER, 0)).toBeNull();
    expect(events).toEqual([]);
  });

  it("in a frame of the maximum size → sent; a byte more → not, and the socket stays", async () => {
    const { socket, sent, receives, events } = test_;
    const around = JSON.stringify({ type: "report", token: "token", body: "" }).length;
    const body = "é".repeat(1000) + "x".repeat(LIMITS.bodyBytes - around - 2000);
    const answer = socket.report({ ...REPORT, body });
    expect(Buffer.byteLength(sent[0] ?? "")).toBe(LIMITS.bodyBytes);
    receives(ACCEPTED);
    await answer;
    expect(await socket.report({ ...REPORT, body: `${body}x` })).toBeNull();
    expect(sent).toHaveLength(1);
    expect(events).toEqual(["accepted 30000"]);
    // No heartbeat is possible: the next report goes by HTTP, which ends the lease loan.
    expect(await socket.heartbeat(OTHER, 0)).toBeNull();
  });

  it("the connection ends meanwhile → no answer, at once", async () => {
    const { socket, isLost, ends } = test_;
    const answer = socket.report(REPORT);
    isLost("it was closed (1012)");
    expect(await answer).toBeNull();
    expect(ends).toEqual([{ why: "it was closed (1012)", comeBackInMs: 0, isPlanned: false }]);
  });
});

describe("a heartbeat", () => {
  it("has only the amounts; its answer sets the time of the next one, which has the next number", async () => {
    const { socket, receives, beats } = await withSession();
    const first = socket.heartbeat(OTHER, 1_767_225_600_000);
    receives({ type: "answer", n: 1, nonce: "m".repeat(22), nextInMs: 9500 });
    expect(await first).toBe(9500);
    void socket.heartbeat(VITALS, 1_767_225_609_500);
    expect(beats()).toEqual([
      { type: "heartbeat", n: 1, at: 1_767_225_600_000, available: [90, null, null, null, null, null] },
      { type: "heartbeat", n: 2, at: 1_767_225_609_500, available: [100, null, null, null, null, null] },
    ]);
  });

  it("30 in a second, each answered → the socket stays: answers do not count as frames without a request", async () => {
    const { socket, receives, ends } = await withSession();
    for (let n = 1; n <= 30; n++) {
      const beat = socket.heartbeat(OTHER, 0);
      receives({ type: "answer", n, nonce: "m".repeat(22), nextInMs: 30 });
      expect(await beat).toBe(30);
    }
    expect(ends).toEqual([]);
  });

  it("after an accepted report with a session whose key is invalid → none is sent", async () => {
    const { socket, receives, beats, events } = test_;
    const answer = socket.report(REPORT);
    receives({ ...ACCEPTED, session: { key: "A", nonce: "n" } });
    await answer;
    expect(await socket.heartbeat(VITALS, 0)).toBeNull();
    expect([beats(), events]).toEqual([[], ["accepted 30000"]]);
  });

  it("at most 220 bytes, with every signal of a large machine", async () => {
    const { socket, sent, receives } = test_;
    const amount = 10 ** 13;
    const vitals: Vitals = {
      signals: {
        "memory.available": [amount, amount],
        "nodefs.available": [amount, amount],
        "nodefs.inodesFree": [10 ** 9, 10 ** 9],
        "imagefs.available": [amount, amount],
        "imagefs.inodesFree": [10 ** 9, 10 ** 9],
        "pid.available": [4_000_000, 4_194_304],
      },
    };
    const answer = socket.report({ ...REPORT, vitals });
    receives(ACCEPTED);
    await answer;
    void socket.heartbeat(vitals, Date.UTC(2026, 0, 1));
    expect(Buffer.byteLength(sent[1] ?? "")).toBeLessThanOrEqual(220);
  });

  test.each<[string, Vitals]>([
    ["a new error", { ...VITALS, errors: { network: ["no CNI"] } }],
    ["a shutdown has begun", { ...VITALS, shuttingDown: true }],
    ["a signal is missing", { signals: {} }],
    ["another capacity", { signals: { "memory.available": [100, 300] } }],
  ])("%s → none is sent: a report is needed", async (_, vitals) => {
    const { socket, beats } = await withSession();
    expect(await socket.heartbeat(vitals, 0)).toBeNull();
    expect(beats()).toEqual([]);
  });

  it("before any report, and without a loan → none is sent", async () => {
    const { socket, receives, sent } = test_;
    expect(await socket.heartbeat(VITALS, 0)).toBeNull();
    const answer = socket.report(REPORT);
    receives({ ...ACCEPTED, session: undefined });
    await answer;
    expect(await socket.heartbeat(VITALS, 0)).toBeNull();
    expect(sent).toHaveLength(1);
  });

  it("again → a report is needed, and no heartbeat goes before one is accepted", async () => {
    const { socket, receives, beats, ends } = await withSession();
    const beat = socket.heartbeat(OTHER, 0);
    receives({ type: "again", reason: "not quiet" });
    expect(await beat).toBeNull();
    expect(await socket.heartbeat(OTHER, 0)).toBeNull();
    expect(beats()).toHaveLength(1);
    expect(ends).toEqual([]);
  });

  it("an answer to another heartbeat → ignored, until the socket ends as without an answer", async () => {
    const { socket, receives, clock, ends } = await withSession();
    const beat = socket.heartbeat(OTHER, 0);
    for (const n of [0, 2]) receives({ type: "answer", n, nonce: "x".repeat(22), nextInMs: 1 });
    await settle();
    expect(ends).toEqual([]);
    await clock.pass(1.5 * DEADLINE_MS);
    expect(await beat).toBeNull();
    expect(ends).toMatchObject([{ why: "no answer within 9 s" }]);
  });
});

describe("a late answer", () => {
  test.each<[situation: string, pongs: boolean, random: number, patienceMs: number, givenUpMs: number]>([
    ["and no answer to a ping → given up, at the earliest", false, 0, 20_000, 13_500],
    ["and no answer to a ping → given up, at the latest", false, 1, 20_000, 18_000],
    [
      "from a Worker that answers a ping, and is only busy → given up after the patience",
      true,
      0,
      20_000,
      20_000,
    ],
    ["from such a Worker, whatever the random time", true, 1, 20_000, 20_000],
    ["and a lease that would soon expire → given up before the random time", false, 1, 10_000, 10_000],
    ["from such a Worker, and such a lease", true, 1, 10_000, 10_000],
  ])("%s", async (_, pongs, random, patienceMs, givenUpMs) => {
    test_ = socketOnTest({ pongs, random, patienceMs });
    const { socket, clock, events, ends } = test_;
    const answer = socket.report(REPORT);
    await clock.pass(DEADLINE_MS - 1);
    expect(events).toEqual([]);
    await clock.pass(givenUpMs - DEADLINE_MS);
    expect(events).toEqual(["ping"]);
    await clock.pass(1);
    expect(await answer).toBeNull();
    expect(events.filter((event) => event !== "closed")).toEqual(["ping", "terminated", "ended"]);
    expect(ends).toEqual([{ why: "no answer within 9 s", comeBackInMs: 0, isPlanned: false }]);
    expect(await socket.report(REPORT)).toBeNull();
  });

  test.each<[situation: string, pongs: boolean, answerMs: number, givenUpMs: number, isPlanned?: boolean]>([
    ["the answer before took a second → later by half of the time; a fault", false, 1000, 15_750, false],
    [
      "no answer to a ping, and the answer before took 2 s → given up after twice the time",
      false,
      2000,
      18_000,
    ],
    ["an answer to a ping, and the answer before took 2 s → after twice the patience", true, 2000, 40_000],
    [
      "an answer to a ping, and the answer before took 6 s → after four times the patience",
      true,
      6000,
      80_000,
    ],
    ["the answer before took longer → not later than that", true, 12_000, 80_000],
  ])("%s", async (_, pongs, answerMs, givenUpMs, isPlanned = true) => {
    test_ = socketOnTest({ pongs });
    const { socket, clock, receives, ends } = test_;
    const before = socket.report(REPORT);
    await clock.pass(answerMs);
    receives(ACCEPTED);
    await before;
    const answer = socket.heartbeat(OTHER, 0);
    await clock.pass(givenUpMs - 1);
    expect(ends).toEqual([]);
    await clock.pass(1);
    expect([await answer, ends]).toMatchObject([null, [{ isPlanned }]]);
  });

  it("and the answer before put the heartbeat off by 28 s → given up after 2.8 times the patience", async () => {
    test_ = socketOnTest({ pongs: true });
    const { socket, clock, receives, ends } = await withSession();
    const before = socket.heartbeat(OTHER, 0);
    receives({ type: "answer", n: 1, nonce: "m".repeat(22), nextInMs: 28_000 });
    await before;
    void socket.heartbeat(OTHER, 0);
    await clock.pass(55_999);
    expect(ends).toEqual([]);
    await clock.pass(1);
    expect(ends).toHaveLength(1);
  });

  it("and a lease shorter than the deadline → given up at the deadline", async () => {
    test_ = socketOnTest({ pongs: true, patienceMs: 2000 });
    const answer = test_.socket.report(REPORT);
    await test_.clock.pass(DEADLINE_MS);
    expect(await answer).toBeNull();
    expect(test_.ends).toHaveLength(1);
  });

  it.each([13_499, 19_999])("that comes after %i ms → counts, and the socket stays", async (ms) => {
    test_ = socketOnTest({ pongs: true });
    const { socket, receives, clock, ends } = await withSession();
    const beat = socket.heartbeat(OTHER, 0);
    await clock.pass(ms);
    receives({ type: "answer", n: 1, nonce: "m".repeat(22), nextInMs: 9500 });
    expect(await beat).toBe(9500);
    await clock.pass(60_000);
    expect(ends).toEqual([]);
  });
});

describe("frames that the gateway sends unasked", () => {
  it("report-now → a report is requested, and a heartbeat does not count; also during a report", async () => {
    const { socket, receives, events } = await withSession();
    receives({ type: "report-now" });
    expect(events).toEqual(["asked"]);
    expect(await socket.heartbeat(OTHER, 0)).toBeNull();
    const answer = socket.report(REPORT);
    receives({ type: "report-now" });
    receives(ACCEPTED);
    await answer;
    expect(await socket.heartbeat(OTHER, 0)).toBeNull();
    expect(events).toEqual(["asked", "asked", "accepted 30000"]);
  });

  test.each<[frame: object, end: SocketEnd]>([
    [
      { type: "closing", reason: "too often", comeBackInMs: 600_000 },
      { why: "the gateway has closed it: frames came too often", comeBackInMs: 600_000, isPlanned: false },
    ],
    [
      { type: "closing", reason: "moved", comeBackInMs: 0 },
      {
        why: "the gateway has closed it: another gateway is this machine's now",
        comeBackInMs: 0,
        isPlanned: true,
      },
    ],
    [{ type: "left" }, { why: "this machine has left, or was forgotten", comeBackInMs: 0, isPlanned: false }],
  ])("%j → the end, and running requests get no answer", async (frame, end) => {
    const { socket, receives, events, ends } = await withSession();
    const beat = socket.heartbeat(OTHER, 0);
    receives(frame);
    expect(await beat).toBeNull();
    expect(events).toEqual(["closed", "ended"]);
    expect(ends).toEqual([end]);
  });

  test.each<[situation: string, frame: unknown, fault: string]>([
    ["no JSON", "{", "without JSON"],
    ["null", "null", "without a type"],
    ["a number", "7", "without a type"],
    ["no type", {}, "without a type"],
    [
      "a wait of more than an hour",
      { type: "answer", n: 1, nonce: "n", nextInMs: 3_600_001 },
      "(answer) of another form",
    ],
    ["a negative wait", { type: "closing", reason: "moved", comeBackInMs: -1 }, "(closing) of another form"],
    ["an unknown reason", { type: "again", reason: "because" }, "(again) of another form"],
    ["an answer without a status", { ...ACCEPTED, status: undefined }, "(report-answer) of another form"],
  ])("%s → the end", async (_, frame, fault) => {
    const { receives, ends } = await withSession();
    receives(frame);
    expect(ends).toMatchObject([{ why: `the gateway sent a frame ${fault}` }]);
  });

  test.each<[string, unknown]>([
    ["a frame of a later Worker", { type: "news" }],
    ["of an Object's own name", { type: "constructor" }],
    ["an answer without a request", { type: "answer", n: 1, nonce: "n", nextInMs: 1 }],
    ["a report's answer that nobody waits for", ACCEPTED],
  ])("%s → ignored", async (_, frame) => {
    const { receives, events } = await withSession();
    receives(frame);
    expect(events).toEqual([]);
  });
});

describe("frames that answer nothing", () => {
  test.each<[what: string, frame: object]>([
    ["requests for a report", { type: "report-now" }],
    ["frames of a later Worker", { type: "news" }],
    ["answers without a request", { type: "answer", n: 1, nonce: "n", nextInMs: 1 }],
  ])("%s: 20 at once → taken; one more → the end; one a second → taken", async (_, frame) => {
    const { receives, ends, clock } = await withSession();
    for (let n = 0; n < 20; n++) receives(frame);
    await clock.pass(1000);
    receives(frame);
    expect(ends).toEqual([]);
    receives(frame);
    expect(ends).toMatchObject([{ why: "the gateway sends frames too often", isPlanned: false }]);
  });
});

test("closed or dropped by this side → no event, and running requests get no answer", async () => {
  for (const [how, said] of [
    ["close", "closed"],
    ["drop", "terminated"],
  ] as const) {
    test_ = socketOnTest();
    const { socket, events, isLost } = await withSession();
    const beat = socket.heartbeat(OTHER, 0);
    socket[how]();
    isLost("the connection was closed");
    expect(await beat).toBeNull();
    for (const again of ["close", "drop"] as const) socket[again]();
    expect(events).toEqual([said]);
  }
});

describe("usage", () => {
  const USAGE_NONE = usageOf(USAGE.map(() => null));
  const usagesIn = (sent: string[]) => sent.filter((text) => text.startsWith('{"type":"usage"'));
  async function reported(frame: object) {
    const answer = test_.socket.report(REPORT);
    test_.receives(frame);
    await answer;
  }

  it.each<[situation: string, answer: object, isSent: boolean]>([
    ["a gateway that takes it", { ...ACCEPTED, takes: ["usage"] }, true],
    ["a gateway of an earlier Worker", ACCEPTED, false],
    ["a gateway that takes others", { ...ACCEPTED, takes: ["question"] }, false],
    ["no session", { ...ACCEPTED, takes: ["usage"], session: undefined }, false],
    ["a refused report", { ...ACCEPTED, takes: ["usage"], status: 409 }, false],
  ])("%s", async (_, answer, isSent) => {
    await reported(answer);
    test_.socket.sendUsage(USAGE_NONE);
    expect([test_.socket.takesUsage, usagesIn(test_.sent)]).toEqual([
      isSent,
      isSent ? [expect.any(String)] : [],
    ]);
  });

  it("each frame has the next number, also after a report without a session; another session begins with 1", async () => {
    const taking = { ...ACCEPTED, takes: ["usage"] };
    await reported(taking);
    test_.socket.sendUsage(USAGE_NONE);
    await reported({ ...taking, session: undefined });
    test_.socket.sendUsage(USAGE_NONE);
    await reported(taking);
    test_.socket.sendUsage(USAGE_NONE);
    expect(usagesIn(test_.sent).map((text) => /"n":(\d+)/.exec(text)?.[1])).toEqual(["1", "2", "1"]);
  });

  it("it is no frame that waits for an answer, and a heartbeat may be under way", async () => {
    await reported({ ...ACCEPTED, takes: ["usage"] });
    const beat = test_.socket.heartbeat(OTHER, 0);
    test_.socket.sendUsage(USAGE_NONE);
    test_.receives({ type: "answer", n: 1, nonce: "m".repeat(22), nextInMs: 9600 });
    expect(await beat).toBe(9600);
  });

  it("the largest machine's frame has at most 300 bytes; a longer one is not sent", async () => {
    await reported({ ...ACCEPTED, takes: ["usage"] });
    test_.socket.sendUsage(LARGEST);
    test_.socket.sendUsage(usageOf(USAGE.map(() => 0.123456789012345)));
    const [largest, ...others] = usagesIn(test_.sent);
    expect(largest?.length).toBeLessThanOrEqual(USAGE_LIMITS.frameBytes);
    expect(others).toEqual([]);
  });

  describe("kept samples", () => {
    const KEPT = { count: 2, take: (most: number) => ({ lost: most, samples: [] }) };
    const missingIn = (sent: string[]) => sent.filter((text) => text.startsWith('{"type":"missing-usage"'));

    it.each<[situation: string, takes: string[], isOffered: boolean]>([
      ["a gateway that takes them", ["usage", "missing-usage"], true],
      ["a gateway of an earlier Worker, or without a receiver", ["usage"], false],
    ])("%s", async (_, takes, isOffered) => {
      await reported({ ...ACCEPTED, takes });
      test_.socket.sendUsage(USAGE_NONE, KEPT);
      expect(usagesIn(test_.sent)[0]?.includes('"missing":2')).toBe(isOffered);
      test_.receives({ type: "missing-usage", most: 7 });
      expect(missingIn(test_.sent).map((text) => text.split("\n")[0])).toEqual(
        isOffered ? ['{"type":"missing-usage","n":2,"lost":7,"samples":[]}'] : [],
      );
    });

    it("are sent once for each offer", async () => {
      await reported({ ...ACCEPTED, takes: ["usage", "missing-usage"] });
      test_.socket.sendUsage(USAGE_NONE, KEPT);
      for (let times = 0; times < 2; times++) test_.receives({ type: "missing-usage", most: 7 });
      test_.socket.sendUsage(USAGE_NONE, { ...KEPT, count: 0 });
      test_.receives({ type: "missing-usage", most: 7 });
      expect(missingIn(test_.sent)).toHaveLength(1);
    });
  });

  it("the socket has ended → nothing is sent", async () => {
    await reported({ ...ACCEPTED, takes: ["usage"] });
    test_.isLost("gone");
    test_.socket.sendUsage(USAGE_NONE);
    expect([test_.socket.takesUsage, usagesIn(test_.sent)]).toEqual([false, []]);
  });
});

describe("questions", () => {
  const answering: QuestionAnswering = {
    on: new Set(["disks"]),
    isInRate: () => true,
    async *answer() {
      yield Buffer.from("all\n");
      return { reason: "complete" };
    },
  };
  const TAKING = { ...ACCEPTED, takes: ["usage", "questions"] };
  const QUESTION = {
    type: "question",
    id: 1,
    credit: 4096,
    question: { name: "disks", parameters: {} },
    asker: "operator alice",
  };
  const sentTypes = () =>
    test_.sent.map((text) => (JSON.parse(text.split("\n")[0] ?? "") as { type: string }).type);
  async function reported(frame: object) {
    const answer = test_.socket.report(REPORT);
    test_.receives(frame);
    await answer;
  }

  it.each<[situation: string, on: QuestionAnswering | null, answer: object, isNamed: boolean]>([
    ["a gateway that asks for the frame", answering, TAKING, true],
    ["a gateway of an earlier Worker", answering, { ...ACCEPTED, takes: ["usage"] }, false],
    ["a gateway that has it", answering, { ...ACCEPTED, takes: ["usage"] }, false],
    ["no session", answering, { ...TAKING, session: undefined }, false],
    [
      "no session, but a key for questions",
      answering,
      { ...TAKING, session: undefined, asking: ACCEPTED.session.key },
      true,
    ],
    ["a refused report", answering, { ...TAKING, status: 409 }, false],
    ["all questions are off", { ...answering, on: new Set() }, TAKING, false],
  ])("the shim names them: %s", async (_, on, answer, isNamed) => {
    test_ = socketOnTest({ answering: on });
    await reported(answer);
    expect(sentTypes().includes("questions")).toBe(isNamed);
  });

  it("are answered, also while a heartbeat waits and after a report; each frame has a MAC", async () => {
    test_ = socketOnTest({ answering });
    await reported(TAKING);
    const beat = test_.socket.heartbeat(OTHER, 0);
    test_.receives(QUESTION);
    await settle();
    test_.receives({ type: "answer", n: 1, nonce: "m".repeat(22), nextInMs: 9600 });
    expect(await beat).toBe(9600);
    await reported({ ...ACCEPTED, takes: ["usage"] });
    test_.receives({ ...QUESTION, id: 2 });
    await settle();
    const answers = ["part", "end"];
    expect(sentTypes()).toEqual(["report", "questions", "heartbeat", ...answers, "report", ...answers]);
    expect(
      test_.sent.filter((text) => /"type":"(part|end|questions)"/.test(text) && !/\n[\w-]{22}$/.test(text)),
    ).toEqual([]);
  });

  it.each<[situation: string, on: QuestionAnswering | null, answer: object, frame: object]>([
    ["all are off", null, TAKING, QUESTION],
    ["the gateway has not got their names", answering, ACCEPTED, QUESTION],
    ["credit that nobody used", answering, TAKING, { type: "credit", id: 1, bytes: 1024 }],
    ["a question of another form", answering, TAKING, { ...QUESTION, question: "disks" }],
    [
      "a parameter with a control character",
      answering,
      TAKING,
      { ...QUESTION, question: { name: "disks", parameters: { path: "\u001b[2J" } } },
    ],
  ])("a question that must not come closes the socket: %s", async (_, on, answer, frame) => {
    test_ = socketOnTest({ answering: on });
    await reported(answer);
    test_.receives(frame);
    await settle();
    expect([test_.ends.length, sentTypes().includes("part")]).toEqual([1, false]);
  });
});

/** 256 CPUs and 24 TiB of memory, busy for ten years, with 5 PB read, written and sent. */
const LARGEST = usageOf([
  315_360_000.01, 80_732_160_000.01, 256, 1024.25, 1024.25, 1024.25, 26_388_279_066_624, 26_388_279_066_624,
  5_000_000_000_000_000, 5_000_000_000_000_000, 5_000_000_000_000_000, 5_000_000_000_000_000, 315_360_000.01,
  315_360_000.01, 315_360_000.01, 315_360_000.01, 315_360_000.01, 104.5,
]);
