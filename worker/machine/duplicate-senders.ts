// Keeps the list of senders that report with the machine's key: in memory with each report, in SQLite after a
// change. Records a changed phase as an event and a line of history. shared/node/duplicate-senders.ts decides the
// phase.
import type { WarningReason } from "../../shared/kubernetes/event-reasons.ts";
import {
  cloneEndsMs,
  currentSenders,
  type DuplicatePhase,
  isTrusted,
  isWorthStoring,
  NO_SENDERS,
  type SeenSenders,
  type Sender,
} from "../../shared/node/duplicate-senders.ts";
import type { ListedSenders } from "../../shared/protocol/operator-answers.ts";
import { machineIDsSchema } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { Stored } from "../storage/journal.ts";
import { lastPhase, recordPhase } from "../tick/phase.ts";

/** The phase of duplicate senders, and the message about it for the machine's operator. */
export interface DuplicateNotice {
  phase: DuplicatePhase;
  message: string;
}

type IDs = Omit<Sender, "startId" | "address">;
const UNKNOWN: IDs = { machineID: "", bootID: "" };

/** The most facts digests whose IDs are kept: enough for several machines with changing facts. */
const MAX_DIGESTS = 256;

/** The shown characters of a process's digest: enough to distinguish processes. A digest gives no access. */
const SHOWN_OF_DIGEST = 8;

const EVENTS: Record<DuplicatePhase, WarningReason> = { cloned: "MachineCloned", "two shims": "TwoShims" };
const MESSAGES: Record<DuplicatePhase, string> = {
  cloned:
    "Several machines report with one key (a copied disk or image?), and none of them is believed. " +
    "Give each copy an empty state folder and a join token; an operator can end it then.",
  "two shims":
    "Several processes of the shim report for this machine, and one of them is believed. Stop the others.",
};

export function duplicateNotice(phase: DuplicatePhase): DuplicateNotice {
  return { phase, message: MESSAGES[phase] };
}

export class DuplicateSenders {
  readonly #stored: Stored;
  #seen: SeenSenders;
  /** The machine ID and boot ID, by the digest of their facts. After an eviction, a challenge requests the facts. */
  readonly #idsByDigest = new Map<string, IDs>();

  constructor(stored: Stored) {
    this.#stored = stored;
    this.#seen = stored.records.get("sightings") ?? NO_SENDERS;
  }

  /** The senders so far, as an input of decideReport. */
  get seen(): SeenSenders {
    return this.#seen;
  }

  /** Returns the sender of a report; undefined if the report's facts, which contain the IDs, are unknown. */
  senderOf({ facts, factsDigest, startId }: Report, address: string): Sender | undefined {
    const isStored = this.#stored.records.get("facts")?.digest === factsDigest;
    const known = isStored ? this.#lastIDs() : this.#idsByDigest.get(factsDigest);
    const ids = facts === undefined ? known : this.#idsIn(facts);
    return ids && { machineID: ids.machineID, bootID: ids.bootID, startId, address };
  }

  /** Remembers the machine ID and boot ID in the facts of a report. */
  learnFrom({ facts, factsDigest }: Report): void {
    if (facts === undefined) return;
    const { machineID, bootID } = this.#idsIn(facts);
    this.#idsByDigest.set(factsDigest, { machineID, bootID });
    if (this.#idsByDigest.size > MAX_DIGESTS)
      this.#idsByDigest.delete(this.#idsByDigest.keys().next().value ?? "");
  }

  /** Returns the machine ID and boot ID in the facts, or the last sender's IDs if the facts have no valid IDs. */
  #idsIn(facts: unknown): IDs {
    return machineIDsSchema.safeParse(facts).data?.machine ?? this.#lastIDs();
  }

  #lastIDs(): IDs {
    return this.#stored.records.get("facts")?.facts.machine ?? this.#seen.turns.at(-1) ?? UNKNOWN;
  }

  /** Returns true if the IDs in the facts with this digest are known. */
  knowsFacts(digest: string): boolean {
    return this.#idsByDigest.has(digest) || this.#stored.records.get("facts")?.digest === digest;
  }

  /** Replaces the senders with the result of decideReport. Stores and records a changed phase at once. */
  update(next: SeenSenders, nowMs: number, why = "nobody has taken turns for long"): void {
    const { double, forks, waitingSinceMs } = this.#seen;
    const before = double?.phase;
    this.#seen = next;
    const phase = next.double?.phase;
    // A new fork or wait is stored here: the node object stores nothing else of a report with such a sign.
    const isSign = next.forks !== forks || next.waitingSinceMs !== waitingSinceMs;
    if (phase !== before || isSign) this.keep(nowMs);
    if (phase === before) return;
    const { records, journal } = this.#stored;
    if (phase) journal.warn(EVENTS[phase], description(next), nowMs, "identity");
    else journal.note("identity", `no longer ${before}: ${why}`, nowMs);
    if (!phase && lastPhase(records) === "cloned")
      recordPhase(this.#stored, records.get("registration")?.phase ?? "registering", nowMs);
  }

  /** Stores the senders, in the report's transaction, if the difference from the stored senders is worth a row. */
  keep(nowMs: number): void {
    const { records } = this.#stored;
    if (isWorthStoring(records.get("sightings"), this.#seen, nowMs)) records.put("sightings", this.#seen);
  }

  /** Returns the notice about duplicate senders; undefined if there is only one sender. */
  notice(nowMs: number): DuplicateNotice | undefined {
    const current = currentSenders(this.#seen, nowMs);
    if (current !== this.#seen) this.update(current, nowMs);
    return this.#seen.double && duplicateNotice(this.#seen.double.phase);
  }

  /** Returns the time at which the phase `cloned` ends without a further turn; null if there is no such phase. */
  get cloneEndsMs(): number | null {
    return cloneEndsMs(this.#seen);
  }

  /** Returns the notice about duplicate senders if this process is not trusted; undefined if its reports count. */
  suspension(startId: string, nowMs: number): DuplicateNotice | undefined {
    const notice = this.notice(nowMs);
    return isTrusted(this.#seen, startId) ? undefined : notice;
  }

  /** Ends the phase of duplicate senders at an operator's request; returns false if the machine has no such phase. */
  end(nowMs: number): boolean {
    if (!currentSenders(this.#seen, nowMs).double) return false;
    this.update(NO_SENDERS, nowMs, "an operator has ended it");
    return true;
  }

  /** Forgets all senders. Call it when another machine gets the name. */
  forget(): void {
    this.#seen = NO_SENDERS;
    this.#idsByDigest.clear();
    this.#stored.records.remove("sightings");
  }

  list(nowMs: number): ListedSenders {
    const seen = currentSenders(this.#seen, nowMs);
    const { double, turns } = seen;
    const at = (ms: number) => new Date(ms).toISOString();
    const senders = new Map<string, ListedSenders["senders"][number]>();
    for (const { sinceMs, machineID, bootID, startId, address = "" } of turns.toReversed()) {
      const key = JSON.stringify([machineID, bootID, startId]);
      const last = senders.get(key);
      const process = startId.slice(0, SHOWN_OF_DIGEST);
      const isBelieved = isTrusted(seen, startId);
      const sender = { machineID, bootID, process, address, since: at(sinceMs), isBelieved };
      senders.set(key, { ...(last ?? sender), firstAt: at(sinceMs) });
    }
    return {
      double: double
        ? {
            phase: double.phase,
            since: at(double.sinceMs),
            lastTurn: at(double.lastTurnMs),
            turns: double.turns,
          }
        : null,
      senders: [...senders.values()],
    };
  }
}

function description({ double, turns }: SeenSenders): string {
  if (double?.phase === "two shims") return MESSAGES["two shims"];
  const machines = [...new Set(turns.map(({ machineID, bootID }) => `machine ${machineID}, boot ${bootID}`))];
  // The message names the last two machines: two are enough to show the operator that there are duplicates.
  return `${machines.slice(-2).join("; ")}: several machines report with one key, and none is believed`;
}
