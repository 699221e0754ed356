// The facts that a machine's object decides by: the last good ones, in SQLite. Of refused ones the fault, in memory.
import { factsChanges } from "../../shared/from-report/facts-changes.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";
import type { BodyFault } from "./answers.ts";
import type { ReportedFacts } from "./parse-report.ts";

/** The kubelet's nodeLeaseDurationSeconds, until there are facts. */
const DEFAULT_LEASE_SECONDS = 40;

export class KnownFacts {
  readonly #stored: Stored;
  #refused: { digest: string; fault: BodyFault } | undefined;

  constructor(stored: Stored) {
    this.#stored = stored;
  }

  /** Are they stored, or refused? Else they have to be sent. */
  has(digest: string): boolean {
    return this.#stored.records.get("facts")?.digest === digest || this.#refused?.digest === digest;
  }

  /** Takes the facts of a report that is applied; good ones are in SQLite before it returns. */
  take(digest: string, facts: ReportedFacts, nowMs: number): void {
    if (facts === undefined) return;
    this.#refused = facts.ok ? undefined : { digest, fault: facts.error };
    if (facts.ok) storeFacts(this.#stored, digest, facts.value, nowMs);
  }

  /** For the answer to a report with these facts. */
  refusal(digest: string): Pick<ReportAnswer, "factsRefused"> {
    return this.#refused?.digest === digest ? { factsRefused: this.#refused.fault } : {};
  }

  settings(): Settings | undefined {
    return this.#stored.records.get("facts")?.facts.settings;
  }

  leaseMs(): number {
    return (this.settings()?.nodeLeaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000;
  }

  /** Call it when another machine has the name. */
  forget(): void {
    this.#refused = undefined;
  }
}

/**
 * A missing group keeps its last good reading, as in the caches of the kubelet and its container manager: a failure to
 * read must change neither capacity nor reservations.
 */
function storeFacts({ records, journal }: Stored, digest: string, sent: Facts, nowMs: number): void {
  const before = records.get("facts")?.facts;
  const machine = sent.machine ?? before?.machine;
  const storage = sent.storage ?? before?.storage;
  const inventory = sent.inventory === undefined ? before?.inventory : sent.inventory;
  const dropIns = sent.dropIns === undefined ? before?.dropIns : sent.dropIns;
  // Drop-ins report the custom facts: until they ran, the last ones stay.
  const custom = sent.dropIns === undefined ? (sent.custom ?? before?.custom) : sent.custom;
  const facts = {
    ...sent,
    ...(machine && { machine }),
    ...(storage && { storage }),
    ...(inventory !== undefined && { inventory }),
    ...(dropIns !== undefined && { dropIns }),
    ...(custom && { custom }),
  };
  records.put("facts", { digest, facts });
  for (const { kind, text } of factsChanges(before, facts)) journal.note(kind, text, nowMs);
}
