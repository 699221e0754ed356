// Has the fleet index told who waits for an approval, for the feeds. All who wait are read for that: not with each
// enrolment, which machines that wait repeat, but where the list that was told is another one by now.
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { listPending } from "./pending.ts";

export interface PendingTellerSurroundings {
  sql: SqlStorage;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically the fleet index's setPending. */
  send: (pending: PendingMachine[]) => Promise<unknown>;
}

/** A machine that has asked for a name, and what came of it. */
export interface AskedEnrolment {
  name: string;
  thumbprint: string;
  token: string | undefined;
  outcome: "admitted" | "waits" | "refused";
}

export class PendingTeller {
  readonly #in: PendingTellerSurroundings;
  /** Of an object that is in memory: what the index was told last; null: that is not known. */
  #told: PendingMachine[] | null = null;

  constructor(surroundings: PendingTellerSurroundings) {
    this.#in = surroundings;
  }

  /** Tells where it is not what was told last. */
  async tell(): Promise<void> {
    const { sql, nowMs, send } = this.#in;
    const pending = listPending(sql, nowMs(), FEED_LIMITS.pending);
    if (JSON.stringify(pending) === JSON.stringify(this.#told)) return;
    this.#told = pending;
    await send(pending).catch(() => {
      this.#told = null;
    });
  }

  /** Tells where the enrolment may have changed who waits. */
  async enrolled(enrolment: AskedEnrolment): Promise<void> {
    if (this.#mayChange(enrolment)) await this.tell();
  }

  #mayChange({ name, thumbprint, token, outcome }: AskedEnrolment): boolean {
    if (outcome === "refused") return false;
    if (!this.#told) return true;
    const own = this.#told.filter((each) => each.name === name && each.thumbprint === thumbprint);
    if (outcome === "admitted") return own.length > 0;
    const [oldest] = this.#told;
    if (oldest && this.#in.nowMs() >= Date.parse(oldest.expiresAt)) return true;
    return this.#told.length < FEED_LIMITS.pending && !own.some((each) => each.token === token);
  }
}
