// Tests how a gateway sends questions and passes answers on: who is asked, what reaches the reader, and each limit.
import { describe, expect, it } from "vitest";
import type { AnswerFrame, AnswerLine, AskedQuestion } from "../../../shared/protocol/asking.ts";
import { HEARTBEAT_MAC_LENGTH } from "../../../shared/protocol/frames.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../../shared/protocol/limits.ts";
import { usageText } from "../../../shared/protocol/usage.ts";
import type { Answered, NotAsked } from "../../../worker/asking.ts";
import { INTERVAL_MS, inGateway, type MachineSocket, MadeUpGateway } from "../support/made-up-gateway.ts";

const ASKED: AskedQuestion = {
  question: { name: "disks", parameters: {} },
  asker: "operator alice",
};
/** The seconds of `disks`, with the grace. */
const SECONDS = 30;

/** A timer whose time a test lets pass. */
function virtualTimer(made: MadeUpGateway) {
  const waiting = new Set<{ atMs: number; ring: () => void }>();
  made.live({
    timer: (ms, ring) => {
      const one = { atMs: made.nowMs + ms, ring };
      waiting.add(one);
      return () => void waiting.delete(one);
    },
  });
  const pass = async (seconds: number) => {
    const untilMs = made.nowMs + 1000 * seconds;
    for (;;) {
      const [next] = [...waiting].filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
      if (!next) break;
      waiting.delete(next);
      made.nowMs = next.atMs;
      next.ring();
      await turns();
    }
    made.nowMs = untilMs;
  };
  return { pass, waiting };
}

/** Lets everything run that waits only for promises, and for checks of MACs. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((again) => void setTimeout(again));
}

/** Opens a socket whose machine has named its questions. */
async function askable(made: MadeUpGateway, name = "edge-1", on = ["disks", "logs"]): Promise<MachineSocket> {
  const socket = await made.connected(name);
  await send(made, socket, { type: "questions", on });
  return socket;
}

async function send(
  made: MadeUpGateway,
  socket: MachineSocket,
  frame: AnswerFrame,
  ...how: [Parameters<MachineSocket["answer"]>[1]?]
): Promise<void> {
  await made.receive(socket, await socket.answer(frame, ...how));
}

const part = (n: number, text: string, id = 1): AnswerFrame => ({ type: "part", id, n, text });
const end = (n: number, id = 1): AnswerFrame => ({ type: "end", id, n, end: { reason: "complete" } });
/** Returns a part whose frame has this number of bytes. */
const partOf = (n: number, bytes: number) =>
  part(n, "x".repeat(bytes - JSON.stringify(part(n, "")).length - 1 - HEARTBEAT_MAC_LENGTH));

class Reading {
  readonly over: Answered[] = [];
  readonly refused: NotAsked | null;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | null;
  #text = "";

  constructor(made: MadeUpGateway, { name = "edge-1", asked = ASKED } = {}) {
    const got = made.gateway.ask(name, asked, (answered) => void this.over.push(answered));
    this.refused = "reason" in got ? got : null;
    this.#reader = "reason" in got ? null : got.getReader();
  }

  /** Reads all lines until the end of the stream. */
  async rest(): Promise<AnswerLine[]> {
    while (await this.chunk());
    return this.#text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as AnswerLine);
  }

  async chunk(): Promise<boolean> {
    const { done, value } = (await this.#reader?.read()) ?? { done: true };
    if (value) this.#text += new TextDecoder().decode(value);
    return !done;
  }

  get text(): string {
    return this.#text;
  }

  leave(): Promise<void> {
    return this.#reader?.cancel() ?? Promise.resolve();
  }
}

const begin = (made: MadeUpGateway) => new Reading(made);

const questionsIn = (socket: MachineSocket) =>
  socket.frames.filter(({ type }) => ["question", "credit", "end"].includes(type));

describe("who is asked", () => {
  it("a machine that has named the question gets it once, with its asker and its credit", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made, { asked: { ...ASKED, proof: "signed" } });
      expect([reading.refused, questionsIn(socket)]).toEqual([
        null,
        [{ type: "question", id: 1, credit: ASKING_LIMITS.creditBytes, ...ASKED, proof: "signed" }],
      ]);
    }));

  it("a gateway names questions in its answers until the machine has sent the frame, and again after an eviction", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await send(made, socket, { type: "questions", on: ["disks"] });
      await made.report(socket);
      made.evict();
      await made.report(socket);
      const takes = socket.frames.map((frame) => "takes" in frame && frame.takes);
      expect(takes).toEqual([["usage", "questions"], ["usage"], ["usage", "questions"]]);
    }));

  it.each<[situation: string, prepare: (made: MadeUpGateway) => Promise<unknown>, refused: NotAsked]>([
    ["no machine has this name", async () => undefined, { reason: "no socket" }],
    ["a socket without an accepted report", (made) => made.opened("edge-1"), { reason: "no socket" }],
    ["a shim without questions", (made) => made.connected("edge-1"), { reason: "off", on: [] }],
    ["another question is on", (made) => askable(made, "edge-1", ["logs"]), { reason: "off", on: ["logs"] }],
    [
      "a list with another machine's MAC",
      async (made) => {
        const socket = await made.connected("edge-1");
        await send(made, socket, { type: "questions", on: ["disks"] }, { key: new Uint8Array(32) });
      },
      { reason: "off", on: [] },
    ],
    [
      "a list with the MAC of another kind of frame",
      async (made) => {
        const socket = await made.connected("edge-1");
        await send(made, socket, { type: "questions", on: ["disks"] }, { text: usageText });
      },
      { reason: "off", on: [] },
    ],
    [
      "the gateway was evicted",
      async (made) => {
        await askable(made);
        made.evict();
      },
      { reason: "off", on: [] },
    ],
    ["two questions are in progress", askedTwice, { reason: "too many" }],
    [
      "the isolate is late",
      async (made) => {
        made.live({ lateness: { ms: 2000, calmMs: 0, note: () => undefined } });
        await askable(made);
      },
      { reason: "busy" },
    ],
  ])("is not asked: %s", (_, prepare, refused) =>
    inGateway(async (made) => {
      await prepare(made);
      const before = made.sockets.map(({ frames }) => frames.length);
      expect(new Reading(made).refused).toEqual(refused);
      expect(made.sockets.map(({ frames }) => frames.length)).toEqual(before);
    }),
  );

  async function askedTwice(made: MadeUpGateway): Promise<void> {
    await askable(made);
    for (let asked = 0; asked < QUESTION_LIMITS.atOnce; asked++) begin(made);
  }

  it("ten operators on one machine: two are answered, and the next one after an end", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const readings = Array.from({ length: 10 }, () => new Reading(made));
      expect(readings.filter(({ refused }) => refused === null)).toHaveLength(2);
      await send(made, socket, end(1));
      expect(new Reading(made).refused).toBeNull();
    }));

  it("the gateway has its most answers in progress → busy", () =>
    inGateway(async (made) => {
      const names = Array.from({ length: ASKING_LIMITS.atOnceOfGateway + 1 }, (_, n) => `edge-${n}`);
      for (const name of names) await askable(made, name);
      const refused = names.map((name) => new Reading(made, { name }).refused);
      expect(refused.filter((each) => each !== null)).toEqual([{ reason: "busy" }]);
    }));
});

describe("an answer", () => {
  it("its parts come while the machine sends them, then its end", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      await send(made, socket, part(1, "über\n"));
      await reading.chunk();
      expect(reading.text).toBe('{"text":"über\\n"}\n');
      await send(made, socket, { type: "part", id: 1, n: 2, base64: "/wA=" });
      await send(made, socket, end(3));
      expect(await reading.rest()).toEqual([
        { text: "über\n" },
        { base64: "/wA=" },
        { end: { reason: "complete" } },
      ]);
      expect(reading.over).toEqual([{ end: { reason: "complete" }, bytes: 8 }]);
    }));

  it("two at once do not mix, and a report in between changes nothing", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const [one, two] = [new Reading(made), new Reading(made)];
      await send(made, socket, part(1, "one", 1));
      await made.report(socket);
      await send(made, socket, part(1, "two", 2));
      await send(made, socket, end(2, 2));
      await send(made, socket, end(2, 1));
      expect([await one.rest(), await two.rest()]).toEqual([
        [{ text: "one" }, { end: { reason: "complete" } }],
        [{ text: "two" }, { end: { reason: "complete" } }],
      ]);
    }));

  it("frames that arrive together keep their order, although the check of a long one takes longer", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      const frames = [part(1, "x".repeat(50_000)), part(2, "b"), end(3)];
      const signed = await Promise.all(frames.map((frame) => socket.answer(frame)));
      await Promise.all(signed.map((frame) => made.receive(socket, frame)));
      const lines = await reading.rest();
      expect(lines.map((line) => Object.keys(line)[0])).toEqual(["text", "text", "end"]);
      expect(lines.at(-1)).toEqual({ end: { reason: "complete" } });
    }));

  it("wakes no object, makes no PUT, sets no alarm, writes no row, and is no contact", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const before = [made.alarmMs, structuredClone(socket.deserializeAttachment()), made.members];
      const reading = new Reading(made);
      made.nowMs += 1000;
      await send(made, socket, part(1, "text"));
      await send(made, socket, end(2));
      await reading.rest();
      const after = [made.alarmMs, socket.deserializeAttachment(), made.members];
      expect([after, made.puts, made.woken]).toEqual([before, [], ["edge-1 report"]]);
    }));

  it("heartbeats go on meanwhile", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      for (let n = 1; n <= 3; n++) {
        await send(made, socket, part(n, "text"));
        expect(await made.beat(socket)).toBe("answer");
        made.nowMs += 20_000 - INTERVAL_MS;
      }
      expect(reading.over).toEqual([]);
    }));
});

describe("an answer ends early", () => {
  const stopped = (fault: string) => ({ end: { reason: "stopped", fault } });

  it.each<
    [situation: string, act: (made: MadeUpGateway, socket: MachineSocket) => Promise<unknown>, fault: string]
  >([
    ["the socket is lost", (made, socket) => made.lose(socket), "the machine's socket has closed"],
    [
      "the machine opens another socket",
      (made) => made.connected("edge-1"),
      "the machine's socket has closed",
    ],
    [
      "the machine has left",
      (made) => made.gateway.dismiss("edge-1", "left"),
      "the machine's socket has closed",
    ],
    [
      "a part is missing",
      (made, socket) => send(made, socket, part(3, "later")),
      "a part of the answer is missing",
    ],
    [
      "a part with another MAC, and the next one",
      async (made, socket) => {
        await send(made, socket, part(2, "false"), { key: new Uint8Array(32) });
        await send(made, socket, part(3, "true"));
      },
      "a part of the answer is missing",
    ],
    [
      "the machine names its questions again",
      (made, socket) => send(made, socket, { type: "questions", on: ["disks"] }),
      "the machine has begun another session",
    ],
  ])("%s → the reader gets what has come, and why", (_, act, fault) =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      await send(made, socket, part(1, "begin"));
      await act(made, socket);
      expect(await reading.rest()).toEqual([{ text: "begin" }, stopped(fault)]);
      expect(reading.over).toMatchObject([stopped(fault)]);
    }),
  );

  it("its reader goes away → the machine gets an end, and late parts are ignored", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      await send(made, socket, part(1, "begin"));
      await reading.leave();
      await send(made, socket, part(2, "late"));
      expect([questionsIn(socket).at(-1), reading.over, socket.readyState]).toEqual([
        { type: "end", id: 1 },
        [{ end: null, bytes: 5 }],
        1,
      ]);
    }));

  it("a machine that never ends → ended after the question's time and the grace", () =>
    inGateway(async (made) => {
      const { pass, waiting } = virtualTimer(made);
      const socket = await askable(made);
      const reading = new Reading(made);
      await pass(SECONDS - 1);
      expect(reading.over).toEqual([]);
      await pass(ASKING_LIMITS.aliveSeconds);
      expect(await reading.rest()).toEqual([stopped(`the answer has not ended within ${SECONDS} s`)]);
      expect([questionsIn(socket).at(-1), waiting.size]).toEqual([{ type: "end", id: 1 }, 0]);
    }));

  it("a reader who waits gets an empty line every three seconds; one who does not read gets one", () =>
    inGateway(async (made) => {
      const { pass } = virtualTimer(made);
      const socket = await askable(made);
      const [waits, sleeps] = [new Reading(made), new Reading(made)];
      const chunk = waits.chunk();
      await pass(ASKING_LIMITS.aliveSeconds);
      await chunk;
      expect(waits.text).toBe("\n");
      await pass(3 * ASKING_LIMITS.aliveSeconds);
      await send(made, socket, end(1, 2));
      await sleeps.rest();
      expect(sleeps.text.startsWith("\n{")).toBe(true);
    }));
});

describe("the credit", () => {
  it("is returned once the reader has read, a quarter at once", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      const quarter = ASKING_LIMITS.creditBytes / 4;
      for (let n = 1; n <= 4; n++) await send(made, socket, partOf(n, quarter));
      expect(questionsIn(socket)).toHaveLength(1);
      await reading.chunk();
      await reading.chunk();
      expect(questionsIn(socket).slice(1)).toEqual([
        { type: "credit", id: 1, bytes: quarter },
        { type: "credit", id: 1, bytes: quarter },
      ]);
      await send(made, socket, partOf(5, 2 * quarter));
      expect(socket.readyState).toBe(1);
    }));

  it.each([
    ["all of it", 0, false],
    ["a byte more", 1, true],
  ])("a reader who does not read: %s", (_, more, isClosed) =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      for (let n = 1; n <= 32; n++)
        await send(made, socket, partOf(n, ASKING_LIMITS.creditBytes / 32 + (n === 32 ? more : 0)));
      expect(socket.said.includes("closing too often")).toBe(isClosed);
      expect(reading.over.length).toBe(isClosed ? 1 : 0);
    }),
  );

  it("a small part costs 1 KiB, so that a machine sends 128 of them at once", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      begin(made);
      for (let n = 1; n <= 128; n++) await send(made, socket, part(n, "x"));
      expect(socket.readyState).toBe(1);
      await send(made, socket, part(129, "x"));
      expect(socket.said.at(-1)).toBe("closing too often");
    }));

  it("an answer without end → ended after 16 MiB", () =>
    inGateway(async (made) => {
      const socket = await askable(made);
      const reading = new Reading(made);
      let n = 0;
      while (reading.over.length === 0 && n < 300) {
        await send(made, socket, partOf(++n, ASKING_LIMITS.frameBytes));
        await reading.chunk();
      }
      expect(n).toBe(ASKING_LIMITS.streamBytes / ASKING_LIMITS.frameBytes + 1);
      expect(questionsIn(socket).at(-1)).toEqual({ type: "end", id: 1 });
    }));
});

describe("the gateway closes the socket", () => {
  it.each([
    ["parts nobody asked for, as long as an evicted gateway may get them", 256, 1],
    ["more of them", 257, 3],
  ])("%s", (_, parts, state) =>
    inGateway(async (made) => {
      const socket = await askable(made);
      for (let n = 1; n <= parts; n++) await send(made, socket, part(n, "x", 9));
      expect(socket.readyState).toBe(state);
    }),
  );

  it.each([
    ["six lists of questions at once", 6, 1],
    ["a seventh", 7, 3],
  ])("%s", (_, lists, state) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (let n = 1; n <= lists; n++) await send(made, socket, { type: "questions", on: [] });
      expect(socket.readyState).toBe(state);
    }),
  );

  it.each([
    ["a frame of 64 KiB", 64 * 1024, 1],
    ["a byte more", 64 * 1024 + 1, 3],
  ])("%s", (_, bytes, state) =>
    inGateway(async (made) => {
      const socket = await askable(made);
      begin(made);
      await send(made, socket, partOf(1, bytes));
      expect(socket.readyState).toBe(state);
    }),
  );
});
