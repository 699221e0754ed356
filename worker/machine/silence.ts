// Decides whether a machine is silent, by its last report or the last renewal of its lease. If an eviction has lost
// both times, waits one lease duration for a report. The node object's alarm checks every few minutes.
import { isNotFound } from "../../shared/kubernetes/api-error.ts";
import { silenceText } from "../../shared/fleet/history-lines.ts";
import { isWell } from "../../shared/fleet/well-conditions.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { lastPhase } from "../tick/phase.ts";

/** The usual time between two checks for silence. Each check writes a row. */
export const SILENCE_CHECK_MS = 5 * 60_000;
/** The time between two checks for silence if the gateway, or the cluster object's watch, reports a silence anyway. */
export const WATCHED_SILENCE_CHECK_MS = 3600_000;
/** The time between two checks for silence if neither lease nor frequent reports show contact. One costs four rows. */
export const UNSEEN_SILENCE_CHECK_MS = 20 * 60_000;

const SECOND_MS = 1000;
/** The longest report interval that keeps a node object awake. */
const AWAKE_MS = 10_000;

type LastContact =
  | { kind: "in contact"; lastMs: number }
  | { kind: "silent"; sinceMs: number }
  /**
   * The machine has no lease, or an old lease because the apiserver was away. The next check is at `askAgainMs`.
   * `isWaiting`: true if only a report can show that the machine is not silent.
   */
  | { kind: "unknown"; askAgainMs: number; isWaiting: boolean };

export interface SilenceCheck {
  name: string;
  leaseDurationMs: number;
  /** The time of the last report; undefined after an eviction. */
  lastReportMs: number | undefined;
  /** The time at which the machine enrolled; null if the machine has reported since then. */
  unusedSinceMs: number | null;
  /** The time until the next check of a machine in contact; null to check when the machine would count as silent. */
  everyMs: number | null;
  /** The client for reading the lease; null if no apiserver is configured. */
  client: KubeClient | null;
  nowMs: number;
}

/** The phases in which the machine reports, but its lease is not renewed. */
const UNRENEWED = new Set<Phase | undefined>(["cloned", "setup failed"]);
const AWAY = new Set<Phase | undefined>([
  "apiserver unreachable",
  "apiserver refuses",
  "apiserver not configured",
]);

/** For how many lease durations a machine may be opening a socket after the Worker has offered one, and the least rest. */
const OPENING_LEASES = { whole: 2, rest: 1.5 } as const;

/**
 * Notes that a machine opens a socket, or that its socket has ended. Until a gateway watches the machine's next socket,
 * `isOpening` makes the checks frequent.
 */
export function noteOpening(records: NodeRecordStore, leaseMs: number, nowMs: number): void {
  const { whole, rest } = OPENING_LEASES;
  const leftMs = (records.get("opening")?.untilMs ?? 0) - nowMs;
  if (leftMs < rest * leaseMs || leftMs > whole * leaseMs)
    records.put("opening", { untilMs: nowMs + whole * leaseMs });
}

/** Returns true if the machine may be opening a socket, which no gateway watches yet. */
export function isOpening(records: NodeRecordStore, nowMs: number): boolean {
  return nowMs < (records.get("opening")?.untilMs ?? 0);
}

/**
 * A stored contact counts for this number of lease durations: an earlier version of the Worker, as after a rollback, does
 * not remove the record.
 */
const CONTACT_LEASES = 3;

/** Returns the stored time of the machine's last message; undefined if unknown, or long ago. */
export function storedContactMs(
  records: NodeRecordStore,
  leaseMs: number,
  nowMs: number,
): number | undefined {
  const { lastMs } = records.get("contact") ?? {};
  return lastMs !== undefined && nowMs - lastMs <= CONTACT_LEASES * leaseMs ? lastMs : undefined;
}

/** The time between two stored times of reports while the apiserver is away. Each costs a row. */
export const CONTACT_EVERY_MS = 30_000;

/** Removes the stored time of a report, because another report came; not while the apiserver is away: keepContact does. */
export function forgetContact(records: NodeRecordStore): void {
  if (!AWAY.has(lastPhase(records))) records.remove("contact");
}

/**
 * Stores the time of an applied report that did not renew the lease, because an eviction would lose the time. While the
 * apiserver is away, no machine counts as silent, and an earlier time is enough.
 */
export function keepContact(
  records: NodeRecordStore,
  phase: Phase, // the phase of the answer to the report
  { reportMs, renewedMs = 0 }: { reportMs: number; renewedMs: number | undefined },
): void {
  if (renewedMs >= reportMs) return records.remove("contact");
  if (records.get("registration")?.phase !== "registered") return;
  const agoMs = Math.abs(reportMs - (records.get("contact")?.lastMs ?? -Infinity));
  if (!AWAY.has(phase) || agoMs >= CONTACT_EVERY_MS) records.put("contact", { lastMs: reportMs });
}

/** Returns true if each report renews the machine's lease, so that the lease shows the time of the last report. */
export function isLeaseRenewed(records: NodeRecordStore): boolean {
  return records.get("registration")?.phase === "registered" && !UNRENEWED.has(lastPhase(records));
}

/**
 * Returns the time between two checks for silence; null if the next check is due at the end of the lease.
 * `isSilenceSeen`: the watch of the Nodes reports a silence.
 */
export function checkEveryMs(
  records: NodeRecordStore,
  intervalMs: number, // the machine's report interval
  isSilenceSeen: boolean,
  nowMs: number,
): number | null {
  // During a loan the gateway reports a silence at once.
  const isLent = records.get("lent") !== undefined;
  if (!isLent && isOpening(records, nowMs)) return null;
  if (isLeaseRenewed(records)) return isLent || isSilenceSeen ? WATCHED_SILENCE_CHECK_MS : SILENCE_CHECK_MS;
  return intervalMs > AWAKE_MS ? UNSEEN_SILENCE_CHECK_MS : SILENCE_CHECK_MS;
}

/** Checks for silence and records a silence. Returns the next check's time in Unix milliseconds; null for no check. */
export async function checkSilence(
  { records, journal }: Stored,
  check: SilenceCheck,
): Promise<number | null> {
  if ((records.get("silentSinceMs") ?? null) !== null) return null;
  const { nowMs, unusedSinceMs } = check;
  const backSinceMs = records.get("apiserverBackSinceMs") ?? null;
  const contact =
    unusedSinceMs === null
      ? await lastContact(records, check, backSinceMs)
      : contactSince(Math.max(unusedSinceMs, check.lastReportMs ?? 0), check);
  if (contact.kind === "in contact") {
    records.remove("apiserverBackSinceMs");
    const { everyMs, leaseDurationMs } = check;
    // No gateway or cluster object watches the rest of a contact that is longer than the lease.
    const isLate = unusedSinceMs === null && nowMs - contact.lastMs > leaseDurationMs / 2;
    return everyMs === null || isLate ? contact.lastMs + leaseDurationMs + 1 : nowMs + everyMs;
  }
  if (contact.kind === "unknown") {
    if (contact.isWaiting) records.put("apiserverBackSinceMs", backSinceMs ?? nowMs);
    return contact.askAgainMs;
  }
  records.put("silentSinceMs", contact.sinceMs);
  const said = lastConditions(unusedSinceMs === null ? (records.get("decided") ?? []) : []);
  journal.note("silence", silenceText({ sinceMs: contact.sinceMs, said }), nowMs);
  return null;
}

/** Determines the machine's last contact. While the apiserver is away, no machine counts as silent. */
async function lastContact(
  records: NodeRecordStore,
  check: SilenceCheck,
  backSinceMs: number | null, // the time since when the apiserver answers again; null if unknown
): Promise<LastContact> {
  const { nowMs, lastReportMs, client, name } = check;
  const phase = lastPhase(records);
  const isAway = AWAY.has(phase);
  const byReport = lastReportMs === undefined ? null : contactSince(lastReportMs, check);
  if (byReport && (byReport.kind === "in contact" || !isAway)) return byReport;
  const isRenewed = isLeaseRenewed(records);
  if (!isRenewed && !isAway) return contactWithoutLease(check, backSinceMs);
  const found = await client?.getLease(NODE_LEASE_NAMESPACE, name);
  if (!found?.ok && !(found && isNotFound(found.error))) return unreadable(check);
  if (!found.ok || !isRenewed) return contactWithoutLease(check, backSinceMs);
  const { renewTime } = found.value.spec ?? {};
  const renewedMs = renewTime === undefined ? 0 : parseMicroTime(renewTime) / 1000;
  const keptMs = records.get("contact")?.lastMs ?? 0;
  const knownMs = Math.max(renewedMs, lastReportMs ?? 0, keptMs);
  const byLease = contactSince(knownMs, check);
  const beatMs = byLease.kind === "silent" ? await heartbeatMs(check) : 0;
  if (beatMs === null) return unreadable(check);
  const contact = contactSince(Math.max(knownMs, beatMs), check);
  if (contact.kind === "in contact" || !isAway) return contact;
  const waitUntilMs = (backSinceMs ?? nowMs) + check.leaseDurationMs;
  return nowMs >= waitUntilMs ? contact : { kind: "unknown", askAgainMs: waitUntilMs, isWaiting: true };
}

/**
 * Reads the time of the last heartbeat on the Node: a report that writes the whole status does not renew the lease.
 * Returns the end of the stored second; 0 if the Node has no heartbeat; null if the Node cannot be read.
 */
async function heartbeatMs({ client, name }: SilenceCheck): Promise<number | null> {
  const found = await client?.getNode(name);
  if (!found?.ok) return found && isNotFound(found.error) ? 0 : null;
  const beatMs = Date.parse(readyConditionOf(found.value)?.lastHeartbeatTime ?? "");
  return beatMs ? beatMs + SECOND_MS - 1 : 0;
}

/**
 * Returns that the last contact is unknown, with a time soon for the next check: when the apiserver answers again, a
 * machine that has stopped must not count as ready for minutes.
 */
function unreadable({ nowMs, leaseDurationMs }: SilenceCheck): LastContact {
  const askAgainMs = nowMs + Math.min(leaseDurationMs, SILENCE_CHECK_MS);
  return { kind: "unknown", askAgainMs, isWaiting: false };
}

/** Determines the last contact without a lease: the machine is silent after one lease duration without a report. */
function contactWithoutLease(
  { nowMs, leaseDurationMs, lastReportMs }: SilenceCheck,
  askedSinceMs: number | null,
): LastContact {
  const sinceMs = askedSinceMs ?? nowMs;
  const waitUntilMs = sinceMs + leaseDurationMs;
  if (nowMs >= waitUntilMs) return { kind: "silent", sinceMs: lastReportMs ?? sinceMs };
  return { kind: "unknown", askAgainMs: waitUntilMs, isWaiting: true };
}

function contactSince(
  lastMs: number,
  { nowMs, leaseDurationMs }: Pick<SilenceCheck, "nowMs" | "leaseDurationMs">,
): LastContact {
  return nowMs - lastMs <= leaseDurationMs
    ? { kind: "in contact", lastMs }
    : { kind: "silent", sinceMs: lastMs };
}

/** Returns the last conditions as a text for the history, for example `Ready False: node is shutting down`. */
function lastConditions(decided: readonly DecidedCondition[]): string {
  const notable = decided.filter((condition) => condition.type === "Ready" || !isWell(condition));
  if (notable.length === 0) return "it never said anything";
  return notable.map(({ type, status, message }) => `${type} ${status}: ${message ?? ""}`).join("; ");
}
