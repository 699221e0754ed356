// Keeps the last valid facts of a machine, by which its node object decides. The facts are stored as sent, and
// their settings are bounded when read. Also decides how long changed facts wait if the node object doubts which
// sender they belong to.
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

/** The kubelet's default timing, for a machine without facts. */
const DEFAULT_TIMING: BoundedSettings = {
  nodeStatusUpdateFrequencyMs: 10_000,
  nodeStatusReportFrequencyMs: 300_000,
  nodeLeaseDurationSeconds: 40,
};

/** The deployment's limits of facts. */
interface FactsBounds extends SettingsBounds {
  /** Whether features count, which then become labels of the Node. */
  hasFeatureLabels?: boolean;
}

interface ActiveFacts {
  /** The facts as the machine sent them. */
  stored: Facts | undefined;
  facts: Facts | undefined;
  timing: BoundedSettings;
  message: string | undefined;
}

export class KnownFacts {
  readonly #stored: Stored;
  readonly #bounds: () => FactsBounds;
  #refused: { digest: string; fault: BodyFault } | undefined;
  #active: ActiveFacts | undefined;
  /** The shim's process whose report was applied last; undefined after an eviction, unless a lease loan restores it. */
  incumbent: Incumbent | undefined;

  /** `bounds` is typically settingsBounds, which throws if a variable of the Worker is invalid. */
  constructor(stored: Stored, bounds: () => FactsBounds) {
    this.#stored = stored;
    this.#bounds = bounds;
  }

  /** Returns true if the facts with this digest are stored, or were refused. Otherwise the machine must send them. */
  has(digest: string): boolean {
    return this.#stored.records.get("facts")?.digest === digest || this.#refused?.digest === digest;
  }

  /** Returns how long doubtful facts wait for a contradicting report: 0 for a machine's first facts. */
  confirmationMs(): number {
    return this.current() ? confirmationMs(this.timing()) : 0;
  }

  /** Applies the facts of a report. Valid facts are in SQLite before this function returns. */
  take({ startId, factsDigest: digest }: Report, facts: ReportedFacts, nowMs: number): void {
    const before = this.#stored.records.get("facts")?.digest;
    const moment = { confirmationMs: this.confirmationMs(), nowMs };
    this.incumbent = incumbentAfter(this.incumbent, { startId, factsDigest: digest }, before, moment);
    if (facts !== undefined) this.#refused = facts.ok ? undefined : { digest, fault: facts.error };
    if (facts?.ok) storeFacts(this.#stored, digest, facts, nowMs);
    this.#recordBounds(nowMs);
  }

  /** The first fault of the last reported facts; undefined if they were valid. An eviction forgets facts refused whole. */
  get refused(): ReportAnswer["factsRefused"] {
    return this.#refused?.fault ?? this.#stored.records.get("facts")?.fault;
  }

  /** Returns `factsRefused` for the answer to a report with this digest of facts; {} if they were not refused. */
  refusal(digest: string): Pick<ReportAnswer, "factsRefused"> {
    const known = this.#stored.records.get("facts");
    const fault = [this.#refused, known].find((each) => each?.digest === digest)?.fault;
    return fault ? { factsRefused: fault } : {};
  }

  /** Returns the stored facts within the bounds; undefined if the machine has sent no valid facts yet. */
  current(): Facts | undefined {
    return this.#withinBounds().facts;
  }

  /** Returns the machine's features as stored, for the deployment's rules; undefined if it sends none. */
  features(): Facts["features"] {
    return this.#stored.records.get("facts")?.facts.features;
  }

  timing(): BoundedSettings {
    return this.#withinBounds().timing;
  }

  /** Returns a message to the machine's operator that names the bounded settings; undefined if there are none. */
  boundsMessage(): string | undefined {
    return this.#withinBounds().message;
  }

  leaseMs(): number {
    return this.timing().nodeLeaseDurationSeconds * 1000;
  }

  /** Forgets the refused facts and the incumbent. Call it when another machine gets the name. */
  forget(): void {
    this.#refused = undefined;
    this.incumbent = undefined;
  }

  /**
   * Returns the stored facts with bounded settings, and without features if the deployment sets no labels of them.
   * Changed bounds therefore apply from the next deployment on. Returns the same object until the stored facts change, so
   * that thresholds are parsed once.
   */
  #withinBounds(): ActiveFacts {
    const stored = this.#stored.records.get("facts")?.facts;
    if (this.#active && this.#active.stored === stored) return this.#active;
    const bounds = this.#bounds();
    if (!stored) {
      const timing = withinBounds(DEFAULT_TIMING, bounds).settings;
      return (this.#active = { stored, facts: undefined, timing, message: undefined });
    }
    const { settings, bounded } = withinBounds(stored.settings, bounds);
    const { features, ...others } = stored;
    const counted = features && bounds.hasFeatureLabels !== true ? others : stored;
    const facts = settings === stored.settings ? counted : { ...counted, settings };
    return (this.#active = { stored, facts, timing: settings, message: boundsMessage(bounded) });
  }

  /** Stores the bounded settings, with a line of history, if they differ from the stored settings. */
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

/** Stores facts. A missing group keeps its last values, as in the kubelet's caches: a failed reading changes none. */
function storeFacts(
  { records, journal }: Stored,
  digest: string,
  { value: sent, fault }: Extract<ReportedFacts, { ok: true }>,
  nowMs: number,
): void {
  const before = records.get("facts")?.facts;
  const machine = sent.machine ?? before?.machine;
  const storage = sent.storage ?? before?.storage;
  const inventory = sent.inventory === undefined ? before?.inventory : sent.inventory;
  const dropIns = sent.dropIns === undefined ? before?.dropIns : sent.dropIns;
  // Drop-ins report the custom facts. Until the drop-ins have run, the last custom facts stay.
  const custom = sent.dropIns === undefined ? (sent.custom ?? before?.custom) : sent.custom;
  const facts = {
    ...sent,
    ...(machine && { machine }),
    ...(storage && { storage }),
    ...(inventory !== undefined && { inventory }),
    ...(dropIns !== undefined && { dropIns }),
    ...(custom && { custom }),
  };
  records.put("facts", { digest, facts, ...(fault && { fault }) });
  const ruled = records.get("ruled");
  if (ruled && JSON.stringify(before?.features) !== JSON.stringify(facts.features))
    records.put("ruled", { ...ruled, isDue: true });
  // The runtime in the facts before this report counts too: earlier Workers stored no record `runtime`.
  const known = records.get("runtime") ?? {};
  const runtime = runtimeSeen(known, before, facts);
  if (runtime !== known) records.put("runtime", runtime);
  for (const { kind, text } of factsChanges(before, facts)) journal.note(kind, text, nowMs);
}

/** Stores whether the operator requires a container runtime; returns false if no machine is enrolled. */
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

/** Returns whether the operator has set that the machine needs a container runtime. */
export function neededRuntime(records: Stored["records"]): RuntimeNeed {
  return records.get("runtime")?.isWaived ? "none" : "auto";
}

/** The shim's process whose report was applied last. */
export interface Incumbent {
  startId: string;
  lastMs: number;
  /** The facts before the last change. Of several changes within two confirmation times: the facts before the first. */
  replaced?: { digest: string; atMs: number };
}

interface ChangedFacts {
  startId: string;
  digest: string;
  senders: SeenSenders;
  incumbent: Incumbent | undefined;
  /** The result of `confirmationMs`. */
  confirmationMs: number;
  nowMs: number;
}

/** Returns the time within which a machine's only sender reports again: an interval, and a tenth for the network. */
export function confirmationMs(timing: Parameters<typeof reportIntervalMs>[0]): number {
  return 1.1 * reportIntervalMs(timing);
}

/**
 * Returns when these facts may be applied, in milliseconds since 1970; undefined if now. Facts of a new process
 * wait until the process before it is silent. Changed facts of disputed senders wait until no sender has
 * contradicted them for `confirmationMs`, so that a thief's facts do not count before the machine reports again.
 */
export function waitsUntilMs(changed: ChangedFacts): number | undefined {
  const { startId, digest, senders, incumbent, nowMs } = changed;
  // This sender already reported before the process whose facts its report replaces, so its facts need not wait.
  if (hasReturned(senders, nowMs)) return undefined;
  const ofNewcomer = incumbent && incumbent.startId !== startId ? incumbent.lastMs : -Infinity;
  const isInDoubt = isDisputed(senders, nowMs) && !isRestoration(digest, changed);
  const ofDisputed = isInDoubt ? (senders.waitingSinceMs ?? nowMs) : -Infinity;
  const untilMs = Math.max(ofNewcomer, ofDisputed) + changed.confirmationMs;
  return nowMs < untilMs ? untilMs : undefined;
}

/** Returns true if the report restores the facts that another sender has just replaced. */
function isRestoration(digest: string, { incumbent, confirmationMs: ms, nowMs }: ChangedFacts): boolean {
  const replaced = incumbent?.replaced;
  return replaced?.digest === digest && nowMs - replaced.atMs <= 2 * ms;
}

/** Returns the incumbent after an applied report. `before`: the digest of the facts before that report. */
export function incumbentAfter(
  known: Incumbent | undefined,
  report: { startId: string; factsDigest: string },
  before: string | undefined,
  { confirmationMs: ms, nowMs }: Pick<ChangedFacts, "confirmationMs" | "nowMs">,
): Incumbent {
  const { startId, factsDigest } = report;
  // Unchanged facts of a new process count at once. The new process is the incumbent once the earlier one is silent.
  const isHeld = known !== undefined && known.startId !== startId && nowMs < known.lastMs + ms;
  const now = isHeld ? { startId: known.startId, lastMs: known.lastMs } : { startId, lastMs: nowMs };
  const replaced = known?.replaced;
  const isRecent = replaced !== undefined && nowMs - replaced.atMs <= 2 * ms;
  if (before === undefined || before === factsDigest) return isRecent ? { ...now, replaced } : now;
  if (!isRecent) return { ...now, replaced: { digest: before, atMs: nowMs } };
  return replaced.digest === factsDigest ? now : { ...now, replaced };
}
