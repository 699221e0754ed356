// The facts that a machine's object decides by: the last good ones, in SQLite as the machine sent them, and read within
// the deployment's bounds. Of refused ones the fault, in memory.
import { factsChanges } from "../../shared/from-report/facts-changes.ts";
import {
  type BoundedSettings,
  boundsMessage,
  type SettingsBounds,
  withinBounds,
} from "../../shared/from-report/within-bounds.ts";
import { runtimeSeen } from "../../shared/from-report/missing-runtime.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";
import type { Report } from "../../shared/protocol/report.ts";
import type { BodyFault } from "./answers.ts";
import { confirmationMs, type Incumbent, incumbentAfter } from "./changed-facts.ts";
import type { ReportedFacts } from "./parse-report.ts";

/** The kubelet's, until there are facts. */
const DEFAULT_TIMING: BoundedSettings = {
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
};

interface InForce {
  /** As they are stored. */
  stored: Facts | undefined;
  facts: Facts | undefined;
  timing: BoundedSettings;
  message: string | undefined;
}

export class KnownFacts {
  readonly #stored: Stored;
  readonly #bounds: () => SettingsBounds;
  #refused: { digest: string; fault: BodyFault } | undefined;
  #inForce: InForce | undefined;
  #incumbent: Incumbent | undefined;

  /** `bounds`: typically settingsBounds, which throws where a variable is invalid. */
  constructor(stored: Stored, bounds: () => SettingsBounds) {
    this.#stored = stored;
    this.#bounds = bounds;
  }

  /** Are they stored, or refused? Else they have to be sent. */
  has(digest: string): boolean {
    return this.#stored.records.get("facts")?.digest === digest || this.#refused?.digest === digest;
  }

  /** Whose report was applied last; undefined after an eviction. */
  get incumbent(): Incumbent | undefined {
    return this.#incumbent;
  }

  /** For the baton, and back. */
  set incumbent(known: Incumbent | undefined) {
    this.#incumbent = known;
  }

  /** How long facts that are in doubt wait for a contradiction. Where there are none yet, nothing is in doubt. */
  confirmationMs(): number {
    return this.current() ? confirmationMs(this.timing()) : 0;
  }

  /** Takes the facts of a report that is applied; good ones are in SQLite before it returns. */
  take({ startId, factsDigest: digest }: Report, facts: ReportedFacts, nowMs: number): void {
    const before = this.#stored.records.get("facts")?.digest;
    const moment = { confirmationMs: this.confirmationMs(), nowMs };
    this.#incumbent = incumbentAfter(this.#incumbent, { startId, factsDigest: digest }, before, moment);
    if (facts !== undefined) this.#refused = facts.ok ? undefined : { digest, fault: facts.error };
    if (facts?.ok) storeFacts(this.#stored, digest, facts.value, nowMs);
    this.#recordBounds(nowMs);
  }

  /** The first fault of the last facts, where these were refused; undefined after an eviction as well. */
  get refused(): ReportAnswer["factsRefused"] {
    return this.#refused?.fault;
  }

  /** For the answer to a report with these facts. */
  refusal(digest: string): Pick<ReportAnswer, "factsRefused"> {
    return this.#refused?.digest === digest ? { factsRefused: this.#refused.fault } : {};
  }

  /** undefined: there are none yet. */
  current(): Facts | undefined {
    return this.#withinBounds().facts;
  }

  timing(): BoundedSettings {
    return this.#withinBounds().timing;
  }

  /** Which settings are bounded, for the machine's operator; undefined: none. */
  boundsMessage(): string | undefined {
    return this.#withinBounds().message;
  }

  leaseMs(): number {
    return this.timing().nodeLeaseDurationSeconds * 1000;
  }

  /** Call it when another machine has the name. */
  forget(): void {
    this.#refused = undefined;
    this.#incumbent = undefined;
  }

  /**
   * Bounded when they are read, so that other bounds count from the next deployment on. They stay the same object as long
   * as the stored ones do: thresholds are parsed once for each.
   */
  #withinBounds(): InForce {
    const stored = this.#stored.records.get("facts")?.facts;
    if (this.#inForce && this.#inForce.stored === stored) return this.#inForce;
    const bounds = this.#bounds();
    if (!stored) {
      const timing = withinBounds(DEFAULT_TIMING, bounds).settings;
      return (this.#inForce = { stored, facts: undefined, timing, message: undefined });
    }
    const { settings, bounded } = withinBounds(stored.settings, bounds);
    const facts = settings === stored.settings ? stored : { ...stored, settings };
    return (this.#inForce = { stored, facts, timing: settings, message: boundsMessage(bounded) });
  }

  /** A line of history for each change. */
  #recordBounds(nowMs: number): void {
    const { records, journal } = this.#stored;
    const message = this.boundsMessage();
    if (message === records.get("bounded")) return;
    if (message === undefined) records.remove("bounded");
    else {
      records.put("bounded", message);
      journal.note("registration", message, nowMs);
    }
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
  // Facts that an earlier version stored count as well.
  const known = records.get("runtime") ?? {};
  const runtime = runtimeSeen(known, before, facts);
  if (runtime !== known) records.put("runtime", runtime);
  for (const { kind, text } of factsChanges(before, facts)) journal.note(kind, text, nowMs);
}
