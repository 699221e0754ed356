// Tests questions from an operator's request to the machine and back, with the shim's own part of a socket: who may ask,
// what reaches the machine, the audit log, and everything that ends an answer.
import { createHmac } from "node:crypto";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type QuestionAnswering, SocketQuestions } from "../../node-shim/worker-link/questions.ts";
import type { Transport } from "../../node-shim/worker-link/exchange.ts";
import { HttpQuestions } from "../../node-shim/worker-link/http-questions.ts";
import { sha256Base64url, signReport } from "../../node-shim/worker-link/sign.ts";
import {
  type AnswerLine,
  answerText,
  type AskedQuestion,
  QUESTIONS_HEADER,
} from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS } from "../../shared/protocol/limits.ts";
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import {
  BEAT_MS,
  crashGateway,
  nextBeat,
  onHttp,
  type OnSocket,
  onSocket,
  slug,
} from "../faults/sockets/on-socket.ts";
import { IndexObject } from "../../worker/fleet/index-object.ts";
import { GatewayObject } from "../../worker/gateway/gateway-object.ts";
import { NodeObject } from "../../worker/machine/node-object.ts";
import { after, eventually, pass, shift } from "../worker/support/clock.ts";
import { ADMIN_SECRET, ORIGIN, VIEW_SECRET } from "../worker/support/constants.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  operator,
  send,
  shimOf,
  transport,
  writesAbout,
} from "../worker/support/machine.ts";

const COMPLETE: AnswerEnd = { reason: "complete" };
type Answers = QuestionAnswering["answer"];

async function* disks(): AsyncGenerator<Uint8Array, AnswerEnd> {
  yield Buffer.from("/ is 93 % full\n");
  return COMPLETE;
}
/** Answers once, and then waits until the answer is not wanted any more. */
async function* begun(_: AskedQuestion, signal: AbortSignal): AsyncGenerator<Uint8Array, AnswerEnd> {
  yield Buffer.from("begin\n");
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  return { reason: "gone" };
}

interface Askable extends OnSocket {
  /** The questions that have reached the machine, with their signals. */
  reached: { asked: AskedQuestion; signal: AbortSignal }[];
}

/** Opens a machine's socket, and names its questions as a shim does. */
async function askable(
  name: string,
  answer: Answers = disks,
  on = ["disks", "logs"],
  begun: OnSocket | null = null,
): Promise<Askable> {
  const of = begun ?? (await onSocket(name));
  const { socket } = of;
  const reached: Askable["reached"] = [];
  const questions = new SocketQuestions({
    answering: {
      on: new Set(on),
      isInRate: () => true,
      answer(asked, signal) {
        reached.push({ asked, signal });
        return answer(asked, signal);
      },
    },
    send: async (text) => (socket.closed ? undefined : socket.sendText(text)),
  });
  socket.takes = (frame) =>
    (frame.type === "question" || frame.type === "credit" || frame.type === "end") && questions.take(frame);
  const { raw } = (socket.session ?? socket.asking)!;
  questions.name((frame) => {
    const payload = JSON.stringify(frame);
    const mac = createHmac("sha256", raw).update(answerText(payload)).digest();
    return `${payload}\n${mac.toString("base64url", 0, 16)}`;
  });
  // The gateway handles frames in their order.
  if (socket.session) await nextBeat(socket);
  return { ...of, reached };
}

function ask(name: string, body: object = { name: "disks" }, secret = ADMIN_SECRET): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}` };
  return send(`/v1/nodes/${name}/questions`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function linesOf(response: Response): Promise<AnswerLine[]> {
  const text = new TextDecoder().decode(await response.arrayBuffer());
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AnswerLine);
}

async function auditOf(name: string): Promise<string[]> {
  const { body } = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
  return body.entries
    .filter(({ what }) => what === "machine.ask")
    .map(({ who, detail }) => `${who}: ${detail}`);
}

afterEach(() => void vi.restoreAllMocks());

describe("an operator asks", () => {
  it("the machine learns who asks what, the answer comes back, and the audit log has both", async () => {
    const { reached } = await askable("asked");
    const response = await ask("asked", { name: "disks", proof: "signed" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
    expect(await linesOf(response)).toEqual([{ text: "/ is 93 % full\n" }, { end: COMPLETE }]);
    expect(reached.map(({ asked }) => asked)).toEqual([
      { question: { name: "disks", parameters: {} }, asker: "admin secret", proof: "signed" },
    ]);
    await eventually(async () =>
      expect(await auditOf("asked")).toEqual(["admin secret: disks: 15 bytes, complete"]),
    );
  });

  it("a question of the machine's owner reaches the machine with its parameters", async () => {
    const { reached } = await askable("owner", disks, ["own:sales"]);
    const question = { name: "own:sales", parameters: { till: "4" } };
    expect(await linesOf(await ask("owner", question))).toContainEqual({ end: COMPLETE });
    expect(reached.map(({ asked }) => asked.question)).toEqual([question]);
  });

  it("the audit log has the question before the machine has it, without a searched text", async () => {
    let before: string[] = [];
    await askable("audited", async function* () {
      before = await auditOf("audited");
      yield* disks();
      return COMPLETE;
    });
    const parameters = { unit: "nginx", since: "10m", grep: "hunter2" };
    await linesOf(await ask("audited", { name: "logs", parameters }));
    expect(before).toEqual(["admin secret: logs unit=nginx since=10m grep"]);
  });

  it("parts come while the machine sends them, and a large answer is whole", async () => {
    const bytes = 700_000;
    await askable("large", async function* () {
      for (let sent = 0; sent < bytes; sent += 1000) yield Buffer.alloc(1000, "line\n");
      return COMPLETE;
    });
    const lines = await linesOf(await ask("large"));
    const length = lines.reduce((sum, line) => sum + ("text" in line ? line.text.length : 0), 0);
    expect([length, lines.at(-1)]).toEqual([bytes, { end: COMPLETE }]);
  });

  it("a machine that is short of memory, and so has no session on its new socket", async () => {
    const of = await onHttp("short-of-memory");
    const socket = await of.machine.connect();
    shift(BEAT_MS);
    const vitals = {
      signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * 2 ** 30] as [number, number] },
    };
    expect(await socket.report({ vitals })).toMatchObject({ status: 200, asking: expect.any(String) });
    expect(socket.session).toBeNull();
    await askable("short-of-memory", disks, ["disks"], { ...of, socket });
    await eventually(async () =>
      expect(await linesOf(await ask("short-of-memory"))).toEqual([
        { text: "/ is 93 % full\n" },
        { end: COMPLETE },
      ]),
    );
    expect(await socket.report({ vitals })).not.toHaveProperty("asking");
  });

  it("no lease is renewed, and the machine's heartbeats stay quiet", async () => {
    const { socket } = await askable("quiet");
    await linesOf(await ask("quiet"));
    expect(await nextBeat(socket)).toMatchObject({ type: "answer" });
  });
});

describe("the list of the questions that a machine answers", () => {
  const list = (name: string) =>
    operator<{ on?: string[]; reason?: string }>("GET", `/v1/nodes/${name}/questions`);

  it.each<[situation: string, name: string, made: () => Promise<unknown>, status: number, body: object]>([
    ["some are on", "list-on", () => askable("list-on"), 200, { on: ["disks", "logs"] }],
    ["none is named", "list-off", () => onSocket("list-off"), 200, { on: [] }],
    ["none is named over HTTP", "list-http", () => onHttp("list-http"), 200, { on: [], withinSeconds: 10 }],
    [
      "forbidden by its join token",
      "list-never",
      () => enrolled("list-never", { mayBeAsked: false }),
      409,
      { reason: "question-off" },
    ],
    ["no machine", "list-unknown", async () => undefined, 404, { reason: "not-found" }],
  ])("%s", async (_, name, made, status, body) => {
    await made();
    expect(await list(name)).toMatchObject({ status, body });
  });

  it("is no question: the audit log has no entry", async () => {
    await askable("list-quiet");
    await list("list-quiet");
    expect(await auditOf("list-quiet")).toEqual([]);
  });

  it("is not for the role view", async () => {
    await askable("list-view");
    const headers = { authorization: `Bearer ${VIEW_SECRET}` };
    expect((await send("/v1/nodes/list-view/questions", { headers })).status).toBe(403);
  });
});

describe("is refused, and never reaches the machine", () => {
  it.each<[situation: string, body: object, secret: string, status: number, problem: object]>([
    ["by the role view", { name: "disks" }, VIEW_SECRET, 403, { reason: "forbidden" }],
    ["without a valid secret", { name: "disks" }, "another", 403, { reason: "forbidden" }],
    [
      "an unknown question",
      { name: "shell" },
      ADMIN_SECRET,
      400,
      { reason: "invalid-body", pointer: "/name" },
    ],
    [
      "a name that is no name of an owner's question",
      { name: "own:../shell" },
      ADMIN_SECRET,
      400,
      { reason: "invalid-body", pointer: "/name" },
    ],
    [
      "a parameter that the question does not have",
      { name: "disks", parameters: { path: "/" } },
      ADMIN_SECRET,
      400,
      { reason: "invalid-body", pointer: "/parameters/path" },
    ],
    [
      "the name of a unit with an option",
      { name: "logs", parameters: { unit: "--root=/" } },
      ADMIN_SECRET,
      400,
      { reason: "invalid-body", pointer: "/parameters/unit" },
    ],
    [
      "a proof that is too long",
      { name: "disks", proof: "x".repeat(ASKING_LIMITS.proofLength + 1) },
      ADMIN_SECRET,
      400,
      { reason: "invalid-body", pointer: "/proof" },
    ],
    [
      "a question that is off: the answer names those that are on",
      { name: "units" },
      ADMIN_SECRET,
      409,
      { reason: "question-off", detail: expect.stringContaining("disks, logs") },
    ],
  ])("%s", async (situation, body, secret, status, problem) => {
    const name = `refused-${situation.replaceAll(/[^a-z]+/g, "-").slice(0, 30)}x`;
    const { reached } = await askable(name);
    const response = await ask(name, body, secret);
    expect([response.status, await response.json()]).toEqual([status, expect.objectContaining(problem)]);
    expect(reached).toEqual([]);
  });

  it("a name without a machine", async () => {
    expect((await ask("nobody-has-it")).status).toBe(404);
  });

  it("a machine whose join token forbids questions", async () => {
    await enrolled("token-forbids", { mayBeAsked: false });
    const response = await ask("token-forbids");
    expect([response.status, await response.json()]).toEqual([
      409,
      expect.objectContaining({
        reason: "question-off",
        detail: "Its join token forbids questions (--no-questions).",
      }),
    ]);
  });

  it.each([["bundle"], ["follow"]])(
    "%s, to a machine over HTTP → at once, with what to do",
    async (question) => {
      const { name } = await onHttp(`over-http-${question}`);
      const parameters = question === "follow" ? { unit: "a" } : {};
      const response = await ask(name, { name: question, parameters });
      expect([response.status, await response.json()]).toEqual([
        409,
        expect.objectContaining({ reason: "no-socket", detail: expect.stringContaining("needs its socket") }),
      ]);
      await eventually(async () => expect((await auditOf(name))[0]).toMatch(/: not asked: not over HTTP$/));
    },
  );

  it("a silent machine → at once, since when it is silent", async () => {
    await onHttp("silent");
    const silentSinceMs = Date.UTC(2100, 0, 1);
    const where = { gateway: null, silentSinceMs, mayBeAsked: true };
    vi.spyOn(NodeObject.prototype, "whereToAsk").mockReturnValue(where);
    const response = await ask("silent");
    const detail = expect.stringContaining("since 2100-01-01T00:00:00.000Z") as string;
    expect([response.status, await response.json()]).toEqual([
      409,
      expect.objectContaining({ reason: "machine-silent", detail }),
    ]);
  });

  it("a gateway of an earlier Worker, which answers no question → busy, with when to ask again", async () => {
    await askable("during-a-deploy");
    vi.spyOn(GatewayObject.prototype, "fetch").mockRejectedValueOnce(
      new SyntaxError("Unexpected end of JSON input"),
    );
    const response = await ask("during-a-deploy");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
  });

  it("more questions to one machine than its rate allows → when to ask again", async () => {
    await askable("rate");
    const { ofMachineAtOnce } = ASKING_LIMITS;
    for (let n = 0; n < ofMachineAtOnce; n++) await linesOf(await ask("rate"));
    const response = await ask("rate");
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "6"]);
    shift(6000);
    expect((await ask("rate")).status).toBe(200);
  });

  it("a third question at once", async () => {
    const { reached } = await askable("three", begun);
    const open = [await ask("three"), await ask("three")];
    expect((await ask("three")).status).toBe(429);
    expect(reached).toHaveLength(2);
    for (const response of open) await response.body?.cancel();
  });
});

describe("ends the answer, and the machine's work", () => {
  it("the asker goes away", async () => {
    const { reached } = await askable("left-alone", begun);
    const response = await ask("left-alone");
    const reader = response.body!.getReader();
    await reader.read();
    await reader.cancel();
    await eventually(() => expect(reached[0]?.signal.aborted).toBe(true));
    await eventually(async () =>
      expect(await auditOf("left-alone")).toEqual(["admin secret: disks: 6 bytes, the asker went away"]),
    );
  });

  it("the operator is revoked → within 10 s", async () => {
    const { body: made } = await operator<{ secret: string }>("POST", "/v1/operators", {
      name: "mallory",
      role: "operator",
      expiresInSeconds: 3600,
    });
    const { reached } = await askable("revoked", begun);
    const response = await ask("revoked", { name: "disks" }, made.secret);
    const lines = linesOf(response);
    await eventually(() => expect(reached).toHaveLength(1));
    await operator("DELETE", "/v1/operators/mallory");
    await pass(10_000);
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: expect.stringContaining("may not ask any more") },
    });
    await eventually(() => expect(reached[0]?.signal.aborted).toBe(true));
  });

  it("the machine loses the label of the operator's selector → within 10 s", async () => {
    const { body: made } = await operator<{ secret: string }>("POST", "/v1/operators", {
      name: "of-berlin",
      role: "operator",
      selector: "site=berlin",
      expiresInSeconds: 3600,
    });
    const matching = vi.spyOn(IndexObject.prototype, "matching").mockReturnValue(["relabelled"]);
    const { reached } = await askable("relabelled", begun);
    const lines = linesOf(await ask("relabelled", { name: "disks" }, made.secret));
    await eventually(() => expect(reached).toHaveLength(1));
    matching.mockReturnValue([]);
    await pass(10_000);
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: expect.stringContaining("may not ask any more") },
    });
  });

  it("the machine never ends it → after the question's time", async () => {
    const { reached, socket } = await askable("endless", begun);
    const lines = linesOf(await ask("endless"));
    await eventually(() => expect(reached).toHaveLength(1));
    for (let beats = 0; beats < 4; beats++) {
      await pass(BEAT_MS);
      await socket.beat();
    }
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: "the answer has not ended within 30 s" },
    });
    await eventually(() => expect(reached[0]?.signal.aborted).toBe(true));
  });

  it("the socket is lost", async () => {
    const { reached, socket } = await askable("lost-socket", begun);
    const lines = linesOf(await ask("lost-socket"));
    await eventually(() => expect(reached).toHaveLength(1));
    socket.close();
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: "the machine's socket has closed" },
    });
  });

  it("the gateway crashes", async () => {
    const { reached, gateway } = await askable("crashed", begun);
    const lines = linesOf(await ask("crashed"));
    await eventually(() => expect(reached).toHaveLength(1));
    await crashGateway(gateway);
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: "the machine's gateway has ended" },
    });
  });
});

describe("a machine over HTTP", () => {
  /** Enrols a machine whose reports name these questions, and which answers them as a shim does. */
  async function overHttp(name: string, answer: Answers = disks, on = ["disks"]) {
    const { enrolled: own } = await onHttp(name);
    const reached: Askable["reached"] = [];
    const answering: QuestionAnswering = {
      on: new Set(on),
      isInRate: () => true,
      answer(asked, signal) {
        reached.push({ asked, signal });
        return answer(asked, signal);
      },
    };
    const sent: string[] = [];
    const send: Transport = (request) => {
      sent.push(request.path);
      return transport(request);
    };
    const questions = new HttpQuestions({
      machine: { ...own, origin: ORIGIN },
      answering,
      clock: { timer: after },
      connect: () => ({ send, close: () => undefined }),
    });
    const link = {
      headers: () => ({ [QUESTIONS_HEADER]: questions.names }),
      offered: (_: unknown, asked: unknown) => questions.take(asked),
      socket: () => null,
      isOver: () => false,
    };
    const reported = shimOf(own, "start-1", link);
    const report = async () => {
      shift(BEAT_MS);
      expect((await reported(facts(name), HEALTHY)).ok).toBe(true);
    };
    await report();
    return { report, reached, sent, name, questions };
  }

  it("gets the question with the answer to its next report, and answers", async () => {
    const { report, reached, name } = await overHttp("http-asked");
    const lines = linesOf(await ask(name, { name: "disks", proof: "signed" }));
    await report();
    expect(await lines).toEqual([{ text: "/ is 93 % full\n" }, { end: COMPLETE }]);
    expect(reached.map(({ asked }) => asked)).toEqual([
      { question: { name: "disks", parameters: {} }, asker: "admin secret", proof: "signed" },
    ]);
    await eventually(async () =>
      expect(await auditOf(name)).toEqual(["admin secret: disks: 15 bytes, complete"]),
    );
  });

  it("the list has the questions that its last report named, and when it takes one", async () => {
    const { name } = await overHttp("http-list", disks, ["disks", "logs", "bundle"]);
    const { body } = await operator("GET", `/v1/nodes/${name}/questions`);
    expect(body).toEqual({ on: ["disks", "logs"], withinSeconds: 10 });
  });

  it("its object has lost its memory → no list before the next report, and when to ask again", async () => {
    const { name } = await overHttp("http-list-lost");
    const list = { on: null, withinSeconds: 10 };
    const where = { gateway: null, silentSinceMs: null, mayBeAsked: true, overHttp: list };
    vi.spyOn(NodeObject.prototype, "whereToAsk").mockReturnValueOnce(where);
    const response = await send(`/v1/nodes/${name}/questions`, {
      headers: { authorization: `Bearer ${ADMIN_SECRET}` },
    });
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "10"]);
  });

  it("a large answer comes whole, in requests of at most 64 KiB", async () => {
    const bytes = 500_000;
    const { report, sent, name } = await overHttp("http-large", async function* () {
      for (let done = 0; done < bytes; done += 1000) yield Buffer.alloc(1000, "line\n");
      return COMPLETE;
    });
    const lines = linesOf(await ask(name));
    await report();
    const length = (await lines).reduce((sum, line) => sum + ("text" in line ? line.text.length : 0), 0);
    expect([length, (await lines).at(-1)]).toEqual([bytes, { end: COMPLETE }]);
    expect(sent.length).toBeLessThan(30);
  });

  it("has the question off → refused with its next report", async () => {
    const { report, reached, name } = await overHttp("http-off");
    const lines = linesOf(await ask(name, { name: "units" }));
    await report();
    expect(await lines).toEqual([
      { end: { reason: "refused", fault: "the machine's owner has turned on: disks" } },
    ]);
    expect(reached).toEqual([]);
  });

  it("does not report → ends after its interval", async () => {
    const { name } = await overHttp("http-quiet");
    const lines = linesOf(await ask(name));
    await pass(20_000);
    expect((await lines).at(-1)).toEqual({
      end: { reason: "stopped", fault: "the machine has not taken the question within 20 s" },
    });
  });

  it("another machine gets the name → the question ends, and that machine never has it", async () => {
    const { name } = await overHttp("http-renamed");
    const lines = linesOf(await ask(name));
    await operator("POST", `/v1/nodes/${name}/revoke`);
    const next = await overHttp(name);
    expect((await lines).at(-1)).toMatchObject({ end: { reason: "stopped" } });
    await next.report();
    expect(next.reached).toEqual([]);
  });

  it("the asker goes away → the machine ends its work within ten seconds", async () => {
    const { report, reached, name } = await overHttp("http-left", begun);
    const reader = (await ask(name)).body!.getReader();
    await report();
    await reader.read();
    await reader.cancel();
    await pass(10_000);
    await eventually(() => expect(reached[0]?.signal.aborted).toBe(true));
  });

  it("a report that names no question writes and sends nothing more while no operator asks", async () => {
    const { report, name } = await overHttp("http-idle");
    const before = (await writesAbout(name)).length;
    await report();
    expect((await writesAbout(name)).length - before).toBe(1);
  });

  it.each<[string, (own: SignedAnswer) => SignedAnswer, number]>([
    ["another question's ID", (own) => ({ ...own, ticket: "another" }), 200],
    ["another machine's name", (own) => ({ ...own, sub: "http-other" }), 401],
    ["a report's signature", (own) => ({ ...own, typ: "rollcall-report+jwt" }), 401],
    ["a body of another form", (own) => ({ ...own, body: '{"protocol":1,"parts":[{"odd":1}]}' }), 400],
  ])("an answer with %s → reaches no asker", async (situation, forge, status) => {
    const name = slug("forged", situation);
    const { enrolled: own, machine } = await onHttp(name);
    const lines = linesOf(await ask(name));
    shift(BEAT_MS);
    const { token, body } = await machine.signed();
    const headers = { authorization: `Bearer ${token}`, [QUESTIONS_HEADER]: "disks" };
    const answered = await send(`/v1/nodes/${name}/report`, { method: "POST", headers, body });
    const { questions } = await answered.json<{ questions: [{ id: string }] }>();
    const forged = forge({
      sub: name,
      ticket: questions[0].id,
      typ: "rollcall-answer+jwt",
      body: JSON.stringify({ protocol: 1, parts: [{ text: "forged" }], end: COMPLETE }),
    });
    const claims = {
      sub: forged.sub,
      aud: ORIGIN,
      body: sha256Base64url(forged.body),
      ticket: forged.ticket,
      n: 1,
    };
    const authorization = `Bearer ${await signReport(own.key, own.kid, claims, forged.typ)}`;
    const sent = { method: "POST", headers: { authorization }, body: forged.body };
    expect((await send(`/v1/nodes/${name}/answers`, sent)).status).toBe(status);
    await pass(20_000);
    expect(await lines).toEqual([{ end: expect.objectContaining({ reason: "stopped" }) }]);
  });
});

interface SignedAnswer {
  sub: string;
  ticket: string;
  typ: string;
  body: string;
}
