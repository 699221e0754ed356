// The facts that a machine's object decides by: the last good ones, in SQLite as the machine sent them, and read within
// the deployment's bounds. Of refused ones the fault, in memory.
import { factsChanges } from "../../shared/from-report/facts-changes.ts";
import { runtimeSeen } from "../../shared/from-report/missing-runtime.ts";
import {
  type BoundedSettings,
  boundsMessage,
  type SettingsBounds,
  withinBounds,
} from "../../shared/from-report/within-bounds.ts";
import { hasReturned, isDisputed, type SeenSenders } from "../../shared/node/duplicate-senders.ts";
import type { ReportAnswer } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { RuntimeNeed } from "../../shared/protocol/operator-api.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import type { Stored } from "../storage/journal.ts";
import type { BodyFault } from "./answers.ts";
import type { ReportedFacts } from "./parse-body.ts";

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

// Keeps what an operator says of a machine's container runtime. Reports are decided by it from then on.

/** A line of history where it changes something; false: no machine is enrolled. */
export function setNeededRuntime({ records, journal }: Stored, need: RuntimeNeed, nowMs: number): boolean {
  if (!records.get("enrolment")) return false;
  const { isWaived: wasWaived = false, ...known } = records.get("runtime") ?? {};
  const isWaived = need === "none";
  if (isWaived === wasWaived) return true;
  records.put("runtime", isWaived ? { ...known, isWaived } : known);
  const text = isWaived
    ? "that the machine needs no container runtime"
    : "that a container runtime counts again";
  journal.note("runtime", `an operator said ${text}`, nowMs);
  return true;
}

/** What holds now. */
export function neededRuntime(records: Stored["records"]): RuntimeNeed {
  return records.get("runtime")?.isWaived ? "none" : "auto";
}

// Decides how long facts that would change the Node have to wait, where it is in doubt whose they are: a thief's facts
// must not be believed until its machine speaks again. Pure; what it remembers may be lost in an eviction.

/** The process of the shim whose report was applied last. */
export interface Incumbent {
  startId: string;
  lastMs: number;
  /** The facts that stood before the last ones, or before all that came within a moment. */
  replaced?: { digest: string; atMs: number };
}

interface ChangedFacts {
  startId: string;
  digest: string;
  senders: SeenSenders;
  incumbent: Incumbent | undefined;
  /** See confirmationMs. */
  confirmationMs: number;
  nowMs: number;
}

/** A machine that is alone has reported within this time again, with a tenth for the network. */
export function confirmationMs(timing: Parameters<typeof reportIntervalMs>[0]): number {
  return 1.1 * reportIntervalMs(timing);
}

/**
 * When these facts may be applied, in milliseconds since 1970; undefined: now. Those of a new process wait until the one
 * before it is silent: a machine that has restarted is not there twice. Where the senders are disputed, changed facts
 * wait until nothing has contradicted them for a while.
 */
export function waitsUntilMs(changed: ChangedFacts): number | undefined {
  const { startId, digest, senders, incumbent, nowMs } = changed;
  // It was there before the newcomer whose facts these replace.
  if (hasReturned(senders, nowMs)) return undefined;
  const ofNewcomer = incumbent && incumbent.startId !== startId ? incumbent.lastMs : -Infinity;
  const isInDoubt = isDisputed(senders, nowMs) && !isRestoration(digest, changed);
  const ofDisputed = isInDoubt ? (senders.waitingSinceMs ?? nowMs) : -Infinity;
  const untilMs = Math.max(ofNewcomer, ofDisputed) + changed.confirmationMs;
  return nowMs < untilMs ? untilMs : undefined;
}

/** The machine says again what stood before somebody else's facts. */
function isRestoration(digest: string, { incumbent, confirmationMs: ms, nowMs }: ChangedFacts): boolean {
  const replaced = incumbent?.replaced;
  return replaced?.digest === digest && nowMs - replaced.atMs <= 2 * ms;
}

/** After a report was applied that had other facts than `before` (a digest), or the same. */
export function incumbentAfter(
  known: Incumbent | undefined,
  report: { startId: string; factsDigest: string },
  before: string | undefined,
  { confirmationMs: ms, nowMs }: Pick<ChangedFacts, "confirmationMs" | "nowMs">,
): Incumbent {
  const { startId, factsDigest } = report;
  // A newcomer with the machine's own facts counts at once, and does not take its place before it is silent.
  const isHeld = known !== undefined && known.startId !== startId && nowMs < known.lastMs + ms;
  const now = isHeld ? { startId: known.startId, lastMs: known.lastMs } : { startId, lastMs: nowMs };
  const replaced = known?.replaced;
  const isRecent = replaced !== undefined && nowMs - replaced.atMs <= 2 * ms;
  if (before === undefined || before === factsDigest) return isRecent ? { ...now, replaced } : now;
  if (!isRecent) return { ...now, replaced: { digest: before, atMs: nowMs } };
  return replaced.digest === factsDigest ? now : { ...now, replaced };
}
