// Tests answers over HTTP with a Worker of the test: its answers decide what a machine sends, and when it stops.
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { type MachineKey, makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { HttpQuestions } from "../../../node-shim/worker-link/http-questions.ts";
import type { QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import type { PartAnswer } from "../../../shared/protocol/asking.ts";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";

const COMPLETE: AnswerEnd = { reason: "complete" };
const ROOM: PartAnswer = { isWanted: true, bytes: 128 * 1024 };
const asked = (id: string, name = "disks") => ({ id, question: { name, parameters: {} }, asker: "alice" });
let key: MachineKey;
beforeAll(async () => void (key = await makeMachineKey()));

type Answers = QuestionAnswering["answer"];
async function* disks(): AsyncGenerator<Uint8Array, AnswerEnd> {
  yield Buffer.from("full\n");
  return COMPLETE;
}
async function* waits(_: unknown, signal: AbortSignal): AsyncGenerator<Uint8Array, AnswerEnd> {
  yield Buffer.from("begun\n");
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return { reason: "gone" };
}

/** Makes a machine. `answer` is the Worker's answer to the request with this number; an error if none comes. */
function machine(answer: (n: number) => unknown, answers: Answers = disks, isInRate = () => true) {
  const sent: { n: number; ticket: string; parts: unknown[]; end?: AnswerEnd }[] = [];
  const signals: AbortSignal[] = [];
  let isClosed = false;
  let ring = () => {};
  const questions = new HttpQuestions({
    machine: { name: "edge-1", origin: "https://rollcall.example.com", key, kid: "kid" },
    answering: {
      on: new Set(["disks", "bundle", "follow"]),
      isInRate,
      answer(question, signal) {
        signals.push(signal);
        return answers(question, signal);
      },
    },
    clock: {
      timer: (_, rung) => {
        ring = rung;
        return () => undefined;
      },
    },
    connect: () => ({
      send: (request: TransportRequest) => {
        const { n, ticket } = decodeJwt<{ n: number; ticket: string }>(
          (request.headers["authorization"] ?? "").slice("Bearer ".length),
        );
        const body = JSON.parse(request.body) as { parts: unknown[]; end?: AnswerEnd };
        sent.push({ n, ticket, parts: body.parts, ...(body.end && { end: body.end }) });
        const given = answer(sent.length);
        if (given instanceof Error) return Promise.reject(given);
        return Promise.resolve({ status: 200, body: JSON.stringify(given) });
      },
      close: () => void (isClosed = true),
    }),
  });
  const until = async (look: () => boolean) => {
    // Signing runs on other threads, which a busy computer delays: the test's timeout is the limit.
    while (!look()) await new Promise((done) => void setImmediate(done));
  };
  return { questions, sent, signals, until, closed: () => until(() => isClosed), late: () => ring() };
}

it("names the questions that are answered over HTTP: no bundle, and no followed log", () => {
  expect(machine(() => ROOM).questions.names).toBe("disks");
});

it("sends the parts and then the end, each request with its number, and closes its connection", async () => {
  const { questions, sent, closed } = machine(() => ROOM);
  questions.take([asked("one")]);
  await closed();
  expect(sent).toEqual([
    { n: 1, ticket: "one", parts: [{ text: "full\n" }] },
    { n: 2, ticket: "one", parts: [], end: COMPLETE },
  ]);
});

it("the Worker repeats a question → it is answered once", async () => {
  const { questions, signals, closed } = machine(() => ROOM);
  questions.take([asked("one")]);
  questions.take([asked("one")]);
  await closed();
  questions.take([asked("one")]);
  expect(signals).toHaveLength(1);
});

it("a server that never has room, and does not hold requests → the answer ends after some", async () => {
  const { questions, sent, signals, until } = machine(
    () => ({ isWanted: true, bytes: 0 }),
    async function* () {
      yield Buffer.from("one");
      await new Promise((done) => void setImmediate(done));
      await new Promise((done) => void setImmediate(done));
      yield Buffer.from("two");
      return COMPLETE;
    },
  );
  questions.take([asked("one")]);
  for (let at = 1; at <= 61; at++) await until(() => sent.length >= at);
  await until(() => signals[0]?.aborted === true);
  expect(sent).toHaveLength(61);
});

it("no room → asks again without parts, until there is", async () => {
  const room = [ROOM, { isWanted: true, bytes: 0 }, { isWanted: true, bytes: 0 }, ROOM, ROOM, ROOM];
  const { questions, sent, closed } = machine(
    (n) => room[n],
    async function* () {
      yield Buffer.from("one");
      await new Promise((done) => void setImmediate(done));
      await new Promise((done) => void setImmediate(done));
      yield Buffer.from("two");
      return COMPLETE;
    },
  );
  questions.take([asked("one")]);
  await closed();
  expect(sent.map(({ parts }) => parts.length)).toEqual([1, 0, 0, 1, 0]);
});

describe("ends its work", () => {
  it.each<[string, unknown]>([
    ["the answer is not wanted any more", { isWanted: false, bytes: 0 }],
    ["another server answers", { hello: 1 }],
    ["no answer comes", new Error("socket hang up")],
  ])("%s", async (_, answer) => {
    const { questions, sent, signals, closed } = machine(() => answer, waits);
    questions.take([asked("one")]);
    await closed();
    expect([sent.length, signals[0]?.aborted]).toEqual([1, true]);
  });

  it("its asker has gone while nothing comes → learns that by a request without parts", async () => {
    const { questions, sent, signals, until, late, closed } = machine(
      (n) => (n === 1 ? ROOM : { isWanted: false, bytes: 0 }),
      waits,
    );
    questions.take([asked("one")]);
    await until(() => sent.length === 1);
    await until(() => (late(), sent.length === 2));
    await closed();
    expect([sent[1]?.parts, signals[0]?.aborted]).toEqual([[], true]);
  });

  it("the process ends", async () => {
    const { questions, sent, signals, until } = machine(() => ROOM, waits);
    questions.take([asked("one")]);
    await until(() => sent.length === 1);
    questions.stop();
    expect(signals[0]?.aborted).toBe(true);
  });
});

it.each<[string, unknown]>([
  ["no list", { id: "one" }],
  ["more than two at once", ["one", "two", "three"].map((id) => asked(id))],
  ["no ID", [asked("")]],
  ["a control character in the asker", [{ ...asked("one"), asker: "\u001B[31m" }]],
  ["a bundle", [asked("one", "bundle")]],
  ["a followed log", [asked("one", "follow")]],
])("a server that sends %s → nothing is answered", (_, questions) => {
  const made = machine(() => ROOM);
  made.questions.take(questions);
  expect(made.signals).toEqual([]);
});

it("more questions than the rate, or than two at once → only those within it are answered", async () => {
  let left = 1;
  const limited = machine(
    () => ROOM,
    waits,
    () => left-- > 0,
  );
  limited.questions.take([asked("one"), asked("two")]);
  await limited.until(() => limited.signals.length === 1);
  const busy = machine(() => ROOM, waits);
  busy.questions.take([asked("one"), asked("two")]);
  busy.questions.take([asked("three")]);
  await busy.until(() => busy.signals.length === 2);
});
