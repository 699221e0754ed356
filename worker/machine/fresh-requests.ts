// Decides which requests of one machine are acted on: those with a fresh ticket, within the machine's rate. It is kept
// in memory: an object that was evicted challenges, and had few requests.
import { randomNonce } from "../identity/nonce.ts";
import { failure } from "../../shared/result.ts";
import type { MachineAnswer } from "./answers.ts";
import { requestRate, RETRY_AFTER_SECONDS } from "./request-rate.ts";
import {
  offerTicket,
  type TicketCheck,
  type Tickets,
  type TicketUse,
  usedUntil,
  useTicket,
  withoutAnswers,
} from "./tickets.ts";
import { currentMs } from "../clock.ts";

export type Freshness =
  | TicketCheck<Promise<MachineAnswer>>
  /** Fresh, but one too many: the refusal is remembered under the ticket like any answer. */
  | { kind: "too often"; isFork: boolean; remember: (answer: Promise<MachineAnswer>) => void };

export const RATE_LIMITED = failure({
  reason: "rate-limited" as const,
  retryAfterSeconds: RETRY_AFTER_SECONDS,
});

export class FreshRequests {
  readonly #leaseMs: () => number;
  readonly #mayAsk = requestRate();
  #tickets: Tickets<Promise<MachineAnswer>> = {};

  /** `leaseMs`: how long a ticket is valid. */
  constructor(leaseMs: () => number) {
    this.#leaseMs = leaseMs;
  }

  /** Uses the request's ticket up, in one synchronous step. */
  use(use: TicketUse): Freshness {
    const checked = useTicket(this.#tickets, use, currentMs(), this.#leaseMs());
    if (checked.kind !== "fresh" || this.#mayAsk(currentMs())) return checked;
    return { ...checked, kind: "too often" };
  }

  /** Acts on a fresh request, once; any other one gets the earlier answer, a challenge or a refusal. */
  answerOnce(use: TicketUse, act: () => Promise<MachineAnswer>): Promise<MachineAnswer> {
    const freshness = this.use(use);
    if (freshness.kind === "repeated") return freshness.answer;
    if (freshness.kind === "stale")
      return Promise.resolve(failure({ reason: "ticket-stale", ticket: this.offerTicket() }));
    const answer = freshness.kind === "fresh" ? act() : Promise.resolve(RATE_LIMITED);
    freshness.remember(answer);
    return answer;
  }

  /** `isLate`: for the answer to a late request. */
  offerTicket(isLate = false): string {
    return offerTicket(this.#tickets, currentMs(), this.#leaseMs(), randomNonce, isLate);
  }

  /** For the baton. Answers stay here: who has lost one is challenged. */
  handOver(): Tickets<never> {
    return withoutAnswers(this.#tickets);
  }

  /** `heardMs`: when the machine's last heartbeat came, by which it had read the last answer; undefined: none came. */
  takeBack(tickets: Tickets<never>, heardMs: number | undefined): void {
    this.#tickets = heardMs === undefined ? tickets : usedUntil(tickets, heardMs);
  }

  /** Call it when another machine has the name. */
  forget(): void {
    this.#tickets = {};
  }
}
