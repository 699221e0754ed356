// Asks a machine the same question again and again, and answers for the machine, by a clock that moves only on request.
import type { WorkerConnection } from "../../../../infra/operator/client.ts";
import type { QuestionAnswering } from "../../../../node-shim/worker-link/questions.ts";
import { answeringBytes, ask, operatorBy, readAnswer } from "../asking.ts";
import type { SteppedTime } from "./stepped-time.ts";

export interface AskedWish {
  question: string;
  /** Milliseconds between two questions. */
  everyMs: number;
  /** Milliseconds that the machine works before the first byte of its answer. */
  worksMs: number;
}

/** Asks one machine, and answers for it. The clock stands still while bytes are on their way. */
export class Asked {
  readonly answering: QuestionAnswering;
  /** true while a question or a part of its answer is on its way. */
  isOnItsWay = false;
  /** The number of complete answers. */
  answers = 0;
  readonly #wish: AskedWish;
  #operator: WorkerConnection | undefined;
  #nextMs = Number.POSITIVE_INFINITY;

  constructor(wish: AskedWish, time: SteppedTime) {
    this.#wish = wish;
    this.answering = answeringBytes(async () => {
      this.isOnItsWay = false;
      await new Promise<void>((resolve) => void time.after(wish.worksMs, resolve));
      this.isOnItsWay = true;
    });
  }

  /** The time of the next question, in milliseconds since 1970. */
  get nextMs(): number {
    return this.#nextMs;
  }

  /** Begins to ask as an operator with a credential of its own, soon, and not together with a heartbeat. */
  async begin(admin: WorkerConnection, nowMs: number): Promise<void> {
    this.#operator = await operatorBy(admin);
    this.#nextMs = nowMs + this.#wish.everyMs / 8;
  }

  /** Asks the machine. `isAtOnce`: the machine gets the question without a report. Throws if the answer is not complete. */
  async ask(machine: string, isAtOnce: boolean): Promise<void> {
    this.#nextMs += this.#wish.everyMs;
    if (!this.#operator) return;
    this.isOnItsWay = true;
    const body = await ask(this.#operator, machine, this.#wish.question);
    if (typeof body === "number") throw new Error(`the Worker wants ${body} s between questions`);
    if (!isAtOnce) this.isOnItsWay = false;
    await readAnswer(body);
    this.answers++;
    this.isOnItsWay = false;
  }
}
