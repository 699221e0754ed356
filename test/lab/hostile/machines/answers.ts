// Answers the questions that a hostile machine gets with the answers to its reports, and plays tricks with the answers. Each
// text that may reach an asker begins with the machine's name and has a number; "forged" may never reach one.
import type { Transport } from "../../../../node-shim/worker-link/exchange.ts";
import { sha256Base64url, signReport } from "../../../../node-shim/worker-link/sign.ts";
import type { answerBodySchema, HttpQuestion, PartAnswer } from "../../../../shared/protocol/asking.ts";
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import { LIMITS } from "../../../../shared/protocol/limits.ts";
import { PROTOCOL } from "../../../../shared/protocol/report.ts";
import type * as z from "zod/mini";
import type { Random } from "../random.ts";
import type { Answer, Credentials } from "./sender.ts";

export const ANSWER_TRICKS = [
  "well",
  "the same again",
  "the same n, another body",
  "n far ahead",
  "an end, then more",
  "without an end",
  "more than its credit",
  "more parts than a request has",
  "a body over the limit",
  "a body of another form",
  "another name",
  "another machine's path",
  "a report's signature",
  "a digest of another body",
  "an end that a terminal obeys",
] as const;
export type AnswerTrick = (typeof ANSWER_TRICKS)[number];

/** The questions that a hostile machine names with each report. */
export const NAMED = "disks,logs,questions";
/** The text that no asker may get. */
export const FORGED = "forged";

type Body = z.infer<typeof answerBodySchema>;
type Taken = Answer & Partial<PartAnswer>;
const COMPLETE = { reason: "complete" } as const;

/** The most requests of an answer that never ends, and the bytes of each. */
const ENDLESS_REQUESTS = 20;
const PART_BYTES = 30 * 1024;
/** The most IDs that are remembered. */
const KEPT = 8;

export class HostileAnswers {
  readonly #credentials: Credentials;
  readonly #post: (path: string, body: string, authorization: string) => Promise<Taken>;
  #open: string[] = [];
  /** The IDs that the machine has answered, or refused to. */
  readonly #seen: string[] = [];
  /** The ID of the last answer that has ended. */
  #ended = "";
  #texts = 0;

  constructor(
    credentials: Credentials,
    send: Transport,
    answerOf: (sent: ReturnType<Transport>) => Promise<Taken>,
  ) {
    this.#credentials = credentials;
    this.#post = (path, body, authorization) =>
      answerOf(
        send({ method: "POST", path, headers: { "content-type": "application/json", authorization }, body }),
      );
  }

  /** Takes the questions of an answer to a report. The Worker repeats a question until a part of its answer comes. */
  take(questions: readonly HttpQuestion[] = []): void {
    for (const { id } of questions)
      if (!this.#open.includes(id) && !this.#seen.includes(id)) this.#open.push(id);
  }

  /** Answers the oldest question, or none: of an ended answer, or of no question. Returns null if it sends nothing. */
  async act(random: Random, otherName: string): Promise<{ kind: string; answers: Taken[] } | null> {
    const id = this.#open.shift();
    if (id !== undefined) {
      this.#seen.unshift(id);
      this.#seen.length = Math.min(this.#seen.length, KEPT);
      const trick = random.pick(ANSWER_TRICKS);
      const answers = await this.#play(trick, id, random, otherName);
      if (answers.at(-1)?.isWanted === false) this.#ended = id;
      return { kind: `answer, ${trick}`, answers };
    }
    if (random.chance(0.8)) return null;
    const isLate = this.#ended !== "" && random.chance(0.5);
    const stray = isLate ? this.#ended : Buffer.from(random.bytes(16)).toString("base64url");
    const kind = isLate ? "answer, after its end" : "answer, without a question";
    return { kind, answers: [await this.#send(stray, 1 + random.int(9), forged(true))] };
  }

  async #play(trick: AnswerTrick, id: string, random: Random, otherName: string): Promise<Taken[]> {
    const one = async (n: number, body: object, change: Change = {}) => [
      await this.#send(id, n, body, change),
    ];
    switch (trick) {
      case "well":
        return one(1, this.#own(true));
      case "the same again": {
        const body = this.#own(false);
        const answers = [await this.#send(id, 1, body), await this.#send(id, 1, body)];
        return [...answers, ...(await one(2, this.#own(true)))];
      }
      case "the same n, another body":
        return [await this.#send(id, 1, this.#own(false)), ...(await one(1, forged(true)))];
      case "n far ahead":
        return one(random.pick([2, 2 ** 31, Number.MAX_SAFE_INTEGER]), forged(true));
      case "an end, then more":
        return [await this.#send(id, 1, this.#own(true)), ...(await one(2, forged(false)))];
      case "without an end":
        return this.#endless(id);
      case "more than its credit":
        return Promise.all([1, 2, 3, 4, 5, 6].map((n) => this.#send(id, n, this.#own(false, PART_BYTES))));
      case "more parts than a request has":
        return one(1, { protocol: PROTOCOL, parts: Array.from({ length: 65 }, () => ({ text: FORGED })) });
      case "a body over the limit":
        return one(1, { protocol: PROTOCOL, parts: [{ text: FORGED.repeat(LIMITS.bodyBytes / 5) }] });
      case "a body of another form":
        return one(1, random.pick(OTHER_FORMS));
      case "an end that a terminal obeys":
        return one(1, { ...this.#own(false), end: { reason: "failed", fault: "\u001B[2J\n\u202E" } });
      case "another name":
        return one(1, forged(true), { sub: otherName });
      case "another machine's path":
        return one(1, forged(true), { path: otherName });
      case "a report's signature":
        return one(1, forged(true), { typ: JWT_TYPES.report });
      default:
        return one(1, forged(true), { digest: sha256Base64url("another") });
    }
  }

  /** Sends parts until the answer is not wanted any more. */
  async #endless(id: string): Promise<Taken[]> {
    const answers: Taken[] = [];
    for (let n = 1; n <= ENDLESS_REQUESTS; n++) {
      const answer = await this.#send(id, n, this.#own(false, PART_BYTES));
      answers.push(answer);
      if (answer.isWanted !== true) break;
    }
    return answers;
  }

  #own(isEnd: boolean, bytes = 0): Body {
    const text = `${this.#credentials.name} ${this.#texts++} ${"x".repeat(bytes)}\n`;
    return { protocol: PROTOCOL, parts: [{ text }], ...(isEnd && { end: COMPLETE }) };
  }

  async #send(id: string, n: number, said: object, change: Change = {}): Promise<Taken> {
    const { name, origin, key, kid } = this.#credentials;
    const { sub = name, path = name, typ = JWT_TYPES.answer } = change;
    const body = JSON.stringify(said);
    const claims = { sub, aud: origin, body: change.digest ?? sha256Base64url(body), ticket: id, n };
    const token = await signReport(key, kid, claims, typ);
    return this.#post(`/v1/nodes/${path}/answers`, body, `Bearer ${token}`);
  }
}

/** What a trick changes in a request. */
interface Change {
  sub?: string;
  path?: string;
  typ?: string;
  digest?: string;
}

const forged = (isEnd: boolean): Body => ({
  protocol: PROTOCOL,
  parts: [{ text: `${FORGED}\n` }],
  ...(isEnd && { end: COMPLETE }),
});

const OTHER_FORMS: readonly object[] = [
  { protocol: PROTOCOL, parts: FORGED },
  { protocol: PROTOCOL, parts: [{ text: FORGED, base64: "" }] },
  { protocol: PROTOCOL, parts: [{ base64: "*" }] },
  { protocol: PROTOCOL, parts: [{ text: FORGED }], end: { reason: "news" } },
  { protocol: PROTOCOL, parts: [{ text: FORGED }], more: 1 },
  { protocol: 9, parts: [{ text: FORGED }] },
];
