// Tests the connection to the unit that answers: what the asker gets, and that nothing waits for ever.
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { answerer } from "../../../node-shim/questions/answerer.ts";
import { askUnit, isShim, serveQuestion } from "../../../node-shim/questions/ask-unit.ts";
import { frame } from "../../../node-shim/wire/grpc/frames.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { eventually } from "../base/eventually.ts";
import { heldTimers } from "../base/timers.ts";
import { place, type Place } from "../wire/grpc/socket.ts";

let at: Place;
beforeEach(() => {
  at = place();
});
afterEach(() => at.end());

const ASKED = { name: "units", parameters: {} };
const going = new AbortController().signal;

/** Starts a unit that does this with each connection. */
async function unit(connected: (connection: Socket) => unknown): Promise<void> {
  const connections: Socket[] = [];
  const server: Server = createServer((connection) => {
    connections.push(connection);
    connection.on("error", () => undefined);
    connected(connection);
  });
  await new Promise<void>((resolve) => void server.listen(at.socketPath, resolve));
  at.later(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
}

async function whole(chunks: AsyncGenerator<Uint8Array, AnswerEnd>) {
  const all: Uint8Array[] = [];
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) return { text: Buffer.concat(all).toString(), end: value };
    all.push(value);
  }
}
const ask = (signal = going) => askUnit(at.socketPath, ASKED, 10, signal);

test("a question → the bytes and the end; more than one buffer has waits for its reader", async () => {
  const asked: unknown[] = [];
  await unit((connection) =>
    serveQuestion(connection, async function* (question) {
      asked.push(question);
      for (let part = 0; part < 100; part++) yield Buffer.alloc(60_000, "x");
      return { reason: "cut" };
    }),
  );
  const { text, end } = await whole(ask());
  expect([text.length, end, asked]).toEqual([6_000_000, { reason: "cut" }, [ASKED]]);
});

test("the shim with a unit → the unit answers, and not this process", async () => {
  await unit((connection) =>
    serveQuestion(connection, async function* () {
      yield Buffer.from("from the unit\n");
      return { reason: "complete" };
    }),
  );
  const local = () => {
    throw new Error("this process has answered");
  };
  const on = { questions: new Set(["units"] as const), ownQuestions: new Map() };
  const answers = answerer(local, on, () => 0, at.socketPath);
  const ends = [];
  for (let count = 0; count < 3; count++) ends.push(await whole(answers(ASKED, going)));
  expect(ends).toEqual(ends.map(() => ({ text: "from the unit\n", end: { reason: "complete" } })));
});

test("an operator's proof → the unit gets it, to check it too", async () => {
  const asked: unknown[] = [];
  await unit((connection) =>
    serveQuestion(connection, async function* (question) {
      asked.push(question);
      yield Buffer.from("a");
      return { reason: "complete" };
    }),
  );
  const answers = answerer(
    () => expect.fail(),
    { questions: new Set(["units"] as const), ownQuestions: new Map() },
    () => 0,
    at.socketPath,
  );
  await whole(answers(ASKED, going, "a proof"));
  expect(asked).toEqual([{ ...ASKED, proof: "a proof" }]);
});

test.each<[asker: string, instance: string, cgroups: string | null, isShim: boolean]>([
  ["the shim's service", "3-7-0", "0::/system.slice/rollcall-node-shim.service\n", true],
  ["on cgroup v1", "3-7-0", "2:pids:/\n1:name=systemd:/system.slice/rollcall-node-shim.service\n", true],
  ["a newer systemd", "3-4711-7-0", "0::/system.slice/rollcall-node-shim.service\n", true],
  ["a shell of root", "3-7-0", "0::/user.slice/user-0.slice/session-1.scope\n", false],
  ["the same, with a pidfd", "3-4711-7_815-0", "0::/user.slice/user-0.slice/session-1.scope\n", false],
  ["a process that has ended", "3-7-0", null, true],
  ["unknown to systemd", "3-unknown", "0::/user.slice\n", true],
  ["a unit without the instance", "true", "0::/user.slice\n", true],
])("a connection of %s", (_, instance, cgroups, expected) => {
  const cgroupsOf = (pid: string) => (pid === "7" ? (cgroups ?? expect.fail()) : "");
  expect(isShim(instance, cgroupsOf)).toBe(expected);
});

test.each<[situation: string, answer: (connection: Socket) => void, fault: RegExp]>([
  ["ends at once, as above MaxConnections=", (connection) => connection.end(), /has ended without an answer/],
  ["is killed in the middle", (connection) => connection.end(frame(Buffer.from("a"))), /has ended without/],
  [
    "announces a gigabyte",
    (connection) => connection.write(Buffer.from([0, 0x40, 0, 0, 0])),
    /received message larger than max \(1073741824 vs\. 65536\)/,
  ],
  ["is another program", (connection) => connection.end("HTTP/1.1 400 Bad Request"), /flag 72/],
])("a unit that %s → a fault", async (_, answer, fault) => {
  await unit(answer);
  expect((await whole(ask())).end).toEqual({ reason: "failed", fault: expect.stringMatching(fault) });
});

test("no unit → a fault", async () => {
  expect((await whole(ask())).end).toMatchObject({
    reason: "failed",
    fault: expect.stringContaining("ENOENT"),
  });
});

test("a unit that is silent → a fault after the question's time", async () => {
  let isConnected = false;
  await unit(() => (isConnected = true));
  const pass = heldTimers();
  const ended = whole(ask());
  await eventually(() => isConnected).toBe(true);
  pass(15_000);
  expect((await ended).end).toEqual({
    reason: "failed",
    fault: "rollcall-ask.socket: no answer within 15 s",
  });
});

test("an asker who leaves → the answer of the unit ends", async () => {
  let isGone = false;
  await unit((connection) =>
    serveQuestion(connection, async function* (_, signal) {
      yield Buffer.from("one\n");
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      isGone = true;
      return { reason: "gone" };
    }),
  );
  const gone = new AbortController();
  const chunks = ask(gone.signal);
  expect(await chunks.next()).toEqual({ done: false, value: Buffer.from("one\n") });
  gone.abort();
  expect(await chunks.next()).toEqual({ done: true, value: { reason: "gone" } });
  await eventually(() => isGone).toBe(true);
});

test.each([
  ["no line", ""],
  ["a line without end", "x".repeat(70_000)],
])("a connection with %s → ends without an answer", async (_, text) => {
  let isAsked = false;
  await unit((connection) =>
    serveQuestion(connection, () => {
      throw new Error("asked");
    }).catch(() => (isAsked = true)),
  );
  const pass = heldTimers();
  const { connect } = await import("node:net");
  const asker = connect(at.socketPath);
  const closed = new Promise((resolve) => asker.once("close", resolve));
  asker.on("error", () => undefined);
  await new Promise((resolve) => asker.write(`${text} `, resolve));
  await new Promise((resolve) => void setImmediate(resolve));
  pass(10_000);
  await closed;
  expect(isAsked).toBe(false);
});
