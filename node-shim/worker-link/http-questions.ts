// Answers the questions that come with the answers to reports over HTTP. Sends each answer by requests over a connection
// of its own, so that no report waits for them.
import * as z from "zod/mini";
import {
  answerBodySchema,
  askSchema,
  costOf,
  HTTP_NEVER,
  type HttpQuestion,
  type PartAnswer,
} from "../../shared/protocol/asking.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import { ASKING_LIMITS, LIMITS, QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { PROTOCOL } from "../../shared/protocol/report.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import { plainText } from "../../shared/protocol/schema.ts";
import type { Clock } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { exchange, type Transport } from "./exchange.ts";
import { contentOf, partsOf, type QuestionAnswering } from "./questions.ts";
import type { EnrolledMachine } from "./requests.ts";
import { sha256Base64url, signReport } from "./sign.ts";

interface HttpAnswering {
  machine: EnrolledMachine;
  answering: QuestionAnswering;
  clock: Pick<Clock, "timer">;
  /** Opens a connection for one answer. */
  connect: () => { send: Transport; close: () => void }; // typically httpTransport
}

type Part = z.infer<typeof answerBodySchema>["parts"][number];

/** The most questions whose IDs are remembered: the Worker repeats one until a part of its answer has come. */
const REMEMBERED = 64;
/** The most requests of one answer that wait for room. A Worker holds each for seconds; another server may answer at once. */
const MOST_WAITS = 60;
/** The time after which a request without parts asks whether the answer is still wanted. */
const POLL_MS = 5000;

export class HttpQuestions {
  readonly #in: HttpAnswering;
  readonly #seen = new Set<string>();
  /** What stops each answer that is not sent yet. */
  readonly #running = new Set<AbortController>();

  constructor(parts: HttpAnswering) {
    this.#in = parts;
  }

  /** Returns the names of the questions that are answered over HTTP, for the header of a report. */
  get names(): string {
    return [...this.#in.answering.on].filter((name) => !HTTP_NEVER.includes(name)).join(",");
  }

  /** Takes the questions of an answer to a report. Ignores what is none: another server may answer. */
  take(questions: unknown): void {
    const parsed = questionsSchema.safeParse(questions);
    for (const asked of parsed.success ? (parsed.data as HttpQuestion[]) : []) {
      if (this.#seen.has(asked.id) || this.#running.size >= QUESTION_LIMITS.atOnce) continue;
      if (HTTP_NEVER.includes(asked.question.name) || !this.#in.answering.isInRate()) continue;
      if (this.#seen.size >= REMEMBERED) this.#seen.clear();
      this.#seen.add(asked.id);
      void this.#answer(asked);
    }
  }

  /** Ends all answers, since the process ends. */
  stop(): void {
    for (const stop of this.#running) stop.abort();
  }

  async #answer({ id, ...asked }: HttpQuestion): Promise<void> {
    const stop = new AbortController();
    this.#running.add(stop);
    const { send, close } = this.#in.connect();
    const parts = partsOf(this.#in.answering.answer(asked, stop.signal));
    const sending = new Sending(this.#in.machine, id, send);
    try {
      await this.#sendAll(parts, sending, stop.signal);
    } catch (error) {
      const fault = faultOf(error).slice(0, ASKING_LIMITS.faultLength);
      if (!stop.signal.aborted) await sending.send([], { reason: "failed", fault });
    } finally {
      this.#running.delete(stop);
      stop.abort();
      void parts.return({ reason: "complete" }).catch(() => undefined);
      close();
    }
  }

  /** Sends the parts while they come. Asks every few seconds whether the answer is still wanted. */
  async #sendAll(
    parts: AsyncGenerator<Buffer, AnswerEnd>,
    sending: Sending,
    signal: AbortSignal,
  ): Promise<void> {
    let next = parts.next();
    while (!signal.aborted) {
      const come = await this.#within(next);
      if (come === null) {
        if (!(await sending.send([]))) return;
      } else if (come.done) {
        await sending.send([], come.value);
        return;
      } else {
        if (!(await sending.send([contentOf(come.value)]))) return;
        next = parts.next();
      }
    }
  }

  /** Resolves with null if the part has not come within POLL_MS. */
  async #within<Each>(next: Promise<Each>): Promise<Each | null> {
    let cancel = () => {};
    const late = new Promise<null>((resolve) => {
      cancel = this.#in.clock.timer(POLL_MS, () => resolve(null));
    });
    try {
      return await Promise.race([next, late]);
    } finally {
      cancel();
    }
  }
}

/** Sends the parts of one answer, within the bytes that the Worker has room for. */
class Sending {
  readonly #machine: EnrolledMachine;
  readonly #id: string;
  readonly #send: Transport;
  #n = 0;
  #bytes: number = ASKING_LIMITS.creditBytes;
  #waits = 0;

  constructor(machine: EnrolledMachine, id: string, send: Transport) {
    this.#machine = machine;
    this.#id = id;
    this.#send = send;
  }

  /** Sends parts. Returns false if the answer is not wanted any more, or the Worker does not answer. */
  async send(parts: Part[], end?: AnswerEnd): Promise<boolean> {
    const cost = parts.reduce((sum, part) => sum + costOf(Buffer.byteLength(JSON.stringify(part))), 0);
    // The Worker answers once its reader has room, or after some seconds.
    while (this.#bytes < cost) if (this.#waits++ >= MOST_WAITS || !(await this.#post([]))) return false;
    return this.#post(parts, end);
  }

  async #post(parts: Part[], end?: AnswerEnd): Promise<boolean> {
    const { name, origin, key, kid } = this.#machine;
    const path: PathOf<"POST"> = `/v1/nodes/${name}/answers`;
    const body = JSON.stringify({ protocol: PROTOCOL, parts, ...(end && { end }) });
    const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket: this.#id, n: ++this.#n };
    const authorization = `Bearer ${await signReport(key, kid, claims, JWT_TYPES.answer)}`;
    const headers = { "content-type": "application/json", authorization };
    const request = { method: "POST", path, headers, body } as const;
    const answered = await exchange(this.#send, request, readPartAnswer);
    if (!answered.ok) return false;
    this.#bytes = answered.value.bytes;
    return answered.value.isWanted;
  }
}

const partAnswerSchema = z.object({ isWanted: z.boolean(), bytes: z.number().check(z.minimum(0)) });
const readPartAnswer = (body: unknown): PartAnswer | null => {
  const read = partAnswerSchema.safeParse(body);
  return read.success ? read.data : null;
};

const questionsSchema = z
  .array(
    z.object({
      id: plainText(LIMITS.idLength).check(z.minLength(1)),
      question: z.object({ name: askSchema.shape.name, parameters: askSchema.shape.parameters }),
      asker: plainText(LIMITS.textLength),
      proof: askSchema.shape.proof,
    }),
  )
  .check(z.maxLength(QUESTION_LIMITS.atOnce));
