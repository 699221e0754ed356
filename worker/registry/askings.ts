// Limits how often operators ask machines, and keeps each question in the audit log: before the question is sent, and
// with the size and end of its answer.
import { failure, type Result, success } from "../../shared/result.ts";
import { type RateLimit, RATE_LIMITS, take, type TokenBucket, tokensAt } from "../storage/token-bucket.ts";
import { cell } from "../storage/query.ts";
import { audit } from "./audit.ts";
import { findPin } from "./pins.ts";

/** A question as the audit log has it. `target`: the machine's name. */
export interface Asking {
  who: string;
  target: string;
  detail: string;
}

/** How an answer has ended. `entry`: the ID of its question's entry. */
export interface AnswerNote {
  entry: number;
  text: string;
}

/** Why a question is not allowed now: whose rate it would exceed, or null if no machine has the name. */
export interface NotYet {
  whose: "operator" | "machine" | null;
  waitSeconds: number;
}

/** The most machines and operators whose rates are in memory. Beyond, the full buckets are forgotten. */
const REMEMBERED = 10_000;

export class Askings {
  readonly #sql: SqlStorage;
  /** The token buckets, by operator and by machine. An eviction loses them: a question needs an awake registry. */
  readonly #operators = new Map<string, TokenBucket>();
  readonly #machines = new Map<string, TokenBucket>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Records a question, or the end of its answer. Returns the entry's ID. */
  note(noted: Asking | AnswerNote, nowMs: number): Result<number, NotYet> {
    return "entry" in noted ? this.#end(noted) : this.#begin(noted, nowMs);
  }

  #begin(asking: Asking, nowMs: number): Result<number, NotYet> {
    const { who, target } = asking;
    if (findPin(this.#sql, target) === undefined) return failure({ whose: null, waitSeconds: 0 });
    const { questionsOfOperator: ofOperator, questionsOfMachine: ofMachine } = RATE_LIMITS;
    const operatorMs = waitMs(this.#operators.get(who), ofOperator, nowMs);
    if (operatorMs > 0) return failure({ waitSeconds: Math.ceil(operatorMs / 1000), whose: "operator" });
    const machineMs = waitMs(this.#machines.get(target), ofMachine, nowMs);
    if (machineMs > 0) return failure({ waitSeconds: Math.ceil(machineMs / 1000), whose: "machine" });
    spend(this.#operators, who, ofOperator, nowMs);
    spend(this.#machines, target, ofMachine, nowMs);
    audit(this.#sql, { ...asking, what: "machine.ask" }, nowMs);
    return success(cell<number>(this.#sql, "SELECT last_insert_rowid()"));
  }

  #end({ entry, text }: AnswerNote): Result<number, NotYet> {
    const update = "UPDATE audit SET detail = detail || ? WHERE id = ? AND what = 'machine.ask'";
    this.#sql.exec(update, `: ${text}`, entry);
    return success(entry);
  }
}

function waitMs(bucket: TokenBucket | undefined, limit: RateLimit, nowMs: number): number {
  return Math.max(0, 1 - tokensAt(bucket, limit, nowMs)) * limit.everyMs;
}

function spend(buckets: Map<string, TokenBucket>, key: string, limit: RateLimit, nowMs: number): void {
  if (buckets.size >= REMEMBERED)
    for (const [each, bucket] of buckets)
      if (tokensAt(bucket, limit, nowMs) >= limit.atOnce) buckets.delete(each);
  buckets.set(key, take(buckets.get(key), limit, nowMs).bucket);
}
