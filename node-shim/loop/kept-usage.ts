// Keeps the usage of the last hour that no gateway has confirmed, in memory only. Such a sample had no socket, or was
// lost with one. A gateway that has room asks for the samples.
import { USAGE_LIMITS } from "../../shared/protocol/limits.ts";
import { amountsOf, type MissingUsage, type Usage, type UsageFrame } from "../../shared/protocol/usage.ts";

/** How a sample was sent: over which socket, and after how many reports and heartbeats. */
interface Sent {
  over: object;
  reports: number;
}

interface KeptSample {
  amounts: UsageFrame["amounts"];
  sent: Sent | null;
}

export class KeptUsage {
  #samples: KeptSample[] = [];
  /** The number of samples that later ones replaced, and how this number was last sent. */
  #lost: { count: number; sent: (Sent & { count: number }) | null } = { count: 0, sent: null };

  /** Keeps a sample. `sent`: null if it could not be sent. */
  add(usage: Usage, sent: Sent | null): void {
    this.#samples.push({ amounts: amountsOf(usage), sent });
    const surplus = Math.max(0, this.#samples.length - USAGE_LIMITS.kept);
    const gone = this.#samples.splice(0, surplus);
    this.#lost.count = Math.min(USAGE_LIMITS.lost, this.#lost.count + gone.length);
  }

  /** Forgets what was sent over this socket before its answered report or heartbeat: the gateway has it. */
  confirm({ over, reports }: Sent): void {
    const isConfirmed = (sent: Sent | null) => sent?.over === over && sent.reports < reports;
    this.#samples = this.#samples.filter(({ sent }) => !isConfirmed(sent));
    const { count, sent } = this.#lost;
    if (sent && isConfirmed(sent)) this.#lost = { count: count - sent.count, sent: null };
  }

  /** Returns the number of samples that were not sent over this socket. */
  missing(over: object): number {
    return this.#missing(over).length;
  }

  /** Returns the oldest samples that were not sent over this socket, and notes that they are sent now. */
  take(most: number, sent: Sent): MissingUsage {
    const taken = this.#missing(sent.over).slice(0, most);
    for (const each of taken) each.sent = sent;
    const lost = this.#lost.sent?.over === sent.over ? 0 : this.#lost.count;
    if (lost > 0) this.#lost.sent = { ...sent, count: lost };
    return { lost, samples: taken.map(({ amounts }) => amounts) };
  }

  #missing(over: object): KeptSample[] {
    return this.#samples.filter(({ sent }) => sent?.over !== over);
  }
}
