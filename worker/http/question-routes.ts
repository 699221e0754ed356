// Serves questions to machines: checks, records and sends a question, and streams the answer while its operator may ask.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { ANSWER_TYPE, answerLine, answerSeconds, type AskBody } from "../../shared/protocol/asking.ts";
import { ASKING_LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import { shownText } from "../../shared/protocol/printable.ts";
import type { QuestionsAnswer } from "../../shared/protocol/operator-answers.ts";
import { questionSchema } from "../../shared/protocol/question.ts";
import { isOwnName } from "../../shared/protocol/questions.ts";
import { askBy, type Asking, type NotAsked, noteAnswer, type WhereToAsk } from "../asking.ts";
import { after, currentMs } from "../clock.ts";
import { gateway, registry } from "../env.ts";
import { inTime as resultInTime } from "../kube/deadline.ts";
import { logFailure } from "../log.ts";
import { knownNode } from "./node-routes.ts";
import { mayStillAsk } from "./operator-access.ts";
import { type App, invalidBody, refuse, refuseForNow } from "./responses.ts";
import { serve } from "./route.ts";

export const questionRoutes = new Hono<App>();

/** The deadline of a request to an object. */
const OBJECTS_WITHIN_MS = 4000;
const inTime = <T>(ask: (signal: AbortSignal) => Promise<T>) =>
  resultInTime(OBJECTS_WITHIN_MS, ask, undefined, undefined);

serve(questionRoutes, "POST /v1/nodes/{name}/questions", async (c, { body }) => {
  const name = c.req.param("name");
  const { proof, ...question } = body;
  // Only the machine knows the parameters of its owner's questions.
  const { error } = isOwnName(question.name) ? {} : questionSchema.safeParse(question);
  if (error) return invalidBody(error);
  const { who } = c.var.operator;
  // The audit log records a question before it is sent.
  const asking = { who, target: name, detail: auditText(question) };
  const noted = await inTime(async () => registry(c.env).noteQuestion(asking));
  if (!noted.ok) {
    const { whose, waitSeconds } = noted.error;
    return whose === null ? refuse("not-found") : refuseForNow(TOO_OFTEN[whose], waitSeconds);
  }
  const asked = { question, asker: who, ...(proof !== undefined && { proof }) };
  const got = await send(c, { name, asked, entry: noted.value });
  if (got instanceof ReadableStream) return answer(c, question.name, got);
  const note = { entry: noted.value, text: `not asked: ${got.reason}` };
  c.executionCtx.waitUntil(noteAnswer(c.env, name, note));
  return refuseUnasked(got);
});

serve(questionRoutes, "GET /v1/nodes/{name}/questions", async (c) => {
  const name = c.req.param("name");
  if (!(await knownNode(c.env, name))) return refuse("not-found");
  const where = await whereToAsk(c, name);
  if ("unasked" in where) return refuseUnasked(where.unasked);
  const { gateway: number, silent, overHttp } = where;
  const on = number === null ? null : await atObject(name, () => gateway(c.env, number).questionsOf(name));
  if (on) return c.json({ on } satisfies QuestionsAnswer);
  if (on === null && silent) return refuseUnasked(silent);
  if (on === undefined || !overHttp) return refuse("busy", { retryAfterSeconds: 10 });
  if ("reason" in overHttp) return refuseUnasked(overHttp);
  const { on: named, withinSeconds } = overHttp;
  return named
    ? c.json({ on: named, withinSeconds } satisfies QuestionsAnswer)
    : refuse("busy", { detail: NOT_NAMED, retryAfterSeconds: withinSeconds });
});

const NOT_NAMED = "It reports over HTTP, and names its questions with its next report.";

const { ofMachineAMinute, ofOperatorAtOnce, ofOperatorAMinute } = ASKING_LIMITS;
const TOO_OFTEN = {
  machine: `Operators may ask one machine ${ofMachineAMinute} questions a minute.`,
  operator: `An operator may ask ${ofOperatorAtOnce} questions at once, and then ${ofOperatorAMinute} a minute.`,
} as const;

/** Returns the question for the audit log. A searched text may be a secret, so that its value is left out. */
function auditText({ name, parameters }: Pick<AskBody, "name" | "parameters">): string {
  const pairs = Object.entries(parameters).map(([key, value]) => (key === "grep" ? key : `${key}=${value}`));
  return shownText([name, ...pairs].join(" "), ASKING_LIMITS.loggedLength);
}

type Unasked = NotAsked | { reason: "silent"; sinceMs: number } | { reason: "forbidden by its token" };

/** Where a machine can be asked, or why it cannot. `gateway`: null if it reports over HTTP; `silent`: null if it reports. */
type Where =
  | { unasked: Unasked }
  | (Pick<WhereToAsk, "gateway" | "overHttp"> & { silent: Extract<Unasked, { reason: "silent" }> | null });

async function whereToAsk(c: Context<App>, name: string): Promise<Where> {
  const where = await inTime(() => c.env.NODES.getByName(name).whereToAsk());
  const { silentSinceMs: sinceMs } = where;
  if (!where.mayBeAsked) return { unasked: { reason: "forbidden by its token" } };
  const silent = sinceMs === null ? null : { reason: "silent" as const, sinceMs };
  return where.gateway === null && silent ? { unasked: silent } : { ...where, silent };
}

/** Sends a question by the machine's gateway or by its object. Returns the lines of the answer, or why it is not asked. */
async function send(c: Context<App>, asking: Asking): Promise<ReadableStream<Uint8Array> | Unasked> {
  const { name } = asking;
  const where = await whereToAsk(c, name);
  if ("unasked" in where) return where.unasked;
  const got = where.gateway === null ? null : await ask(gateway(c.env, where.gateway), asking);
  if (got !== null && (got instanceof ReadableStream || got.reason !== "no socket")) return got;
  // The machine gets the question with the answer to its next report over HTTP.
  return where.silent ?? ask(c.env.NODES.getByName(name), asking);
}

/** Asks by an object. An object that fails is busy: one of an earlier version, or during a deploy. */
const ask = async (object: Pick<Fetcher, "fetch">, asking: Asking) =>
  (await atObject(asking.name, (signal) => askBy(object, asking, signal))) ?? { reason: "busy" as const };

/** Returns the answer of an object; undefined if it fails. */
async function atObject<T>(name: string, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  try {
    return await inTime(ask);
  } catch (error) {
    logFailure({ node: name, message: "a question was not sent", error: String(error) });
    return undefined;
  }
}

function refuseUnasked(why: Unasked): Response {
  switch (why.reason) {
    case "silent": {
      const since = new Date(why.sinceMs).toISOString();
      const detail = `Nothing was heard of it since ${since}. It cannot be asked before it reports again.`;
      return refuse("machine-silent", { detail });
    }
    case "forbidden by its token":
      return refuse("question-off", { detail: "Its join token forbids questions (--no-questions)." });
    case "no socket":
    case "not over HTTP":
      return refuse("no-socket");
    case "off":
      return refuse("question-off", { detail: offText(why.on) });
    case "too many":
      return refuseForNow(TOO_MANY, 5);
    default:
      return refuse("busy", { retryAfterSeconds: 10 });
  }
}

const TOO_MANY = `It answers ${QUESTION_LIMITS.atOnce} questions now, which are the most at once.`;

function offText(on: readonly string[]): string {
  return on.length === 0
    ? "It answers no questions at present: its owner has turned none on (--questions), its shim is too old, or its socket is new. See docs/questions.md."
    : `Its owner has turned on: ${on.join(", ")}. --questions of its shim names them.`;
}

/** Returns the answer as it comes. It ends when the operator may not ask the machine any more. */
function answer(c: Context<App>, name: string, from: ReadableStream<Uint8Array>): Response {
  const lines = new AnswerLines(from, answerSeconds(name) + ASKING_LIMITS.reportWithinSeconds, () =>
    inTime(() => mayStillAsk(c, c.req.param("name") ?? "")),
  );
  return new Response(lines.body, { headers: { "content-type": ANSWER_TYPE } });
}

const NEW_LINE = 10;
const END_BEGIN = '{"end":';
const encoder = new TextEncoder();

/** Passes whole lines on. The last one is an end in each case: of the machine, of the gateway, or of this class. */
class AnswerLines {
  readonly body: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #mayAsk: () => Promise<boolean>;
  readonly #untilMs: number;
  /** The bytes after the last line break. */
  #rest = new Uint8Array();
  #hasEnd = false;
  #isOver = false;
  #stopTicking: () => void = () => undefined;

  constructor(from: ReadableStream<Uint8Array>, seconds: number, mayAsk: () => Promise<boolean>) {
    this.#reader = from.getReader();
    this.#mayAsk = mayAsk;
    // The gateway ends the answer a little earlier.
    this.#untilMs = currentMs() + 1000 * (seconds + 2 * ASKING_LIMITS.recheckSeconds);
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => this.#tick(controller),
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    );
  }

  #tick(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#stopTicking = after(1000 * ASKING_LIMITS.recheckSeconds, () => void this.#check(controller));
  }

  async #check(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const mayAsk = await this.#mayAsk().catch(() => false);
    if (this.#isOver) return undefined;
    if (!mayAsk)
      return this.#end(controller, "the operator may not ask any more, or this could not be checked");
    if (currentMs() >= this.#untilMs) return this.#end(controller, "the answer has not ended in time");
    return this.#tick(controller);
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      const next = await this.#reader.read().catch(() => ({ done: true, value: undefined }) as const);
      if (this.#isOver) return undefined;
      if (next.done) return this.#end(controller, this.#hasEnd ? null : "the machine's gateway has ended");
      const lines = this.#lines(next.value);
      if (lines.length > 0) return controller.enqueue(lines);
    }
  }

  /** Returns the whole lines that there are now. */
  #lines(chunk: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(this.#rest.length + chunk.length);
    bytes.set(this.#rest);
    bytes.set(chunk, this.#rest.length);
    const length = bytes.lastIndexOf(NEW_LINE) + 1;
    this.#rest = bytes.slice(length);
    const lines = bytes.subarray(0, length);
    const last = lines.lastIndexOf(NEW_LINE, length - 2) + 1;
    const begin = new TextDecoder().decode(lines.subarray(last, last + END_BEGIN.length));
    this.#hasEnd ||= begin === END_BEGIN;
    return lines;
  }

  /** Ends the answer. `fault`: null if its end has been passed on. */
  #end(controller: ReadableStreamDefaultController<Uint8Array>, fault: string | null): void {
    if (fault !== null) controller.enqueue(encoder.encode(answerLine({ end: { reason: "stopped", fault } })));
    controller.close();
    void this.#leave();
  }

  async #leave(): Promise<void> {
    this.#isOver = true;
    this.#stopTicking();
    await this.#reader.cancel().catch(() => undefined);
  }
}
