// Decides whether a machine is silent: by the time of its last report; after an eviction, by the last renewal of its lease;
// and where that tells nothing, by whether a report comes while a lease would last. An alarm asks every few minutes. Writes
// nothing to the apiserver.
import { isNotFound } from "../../shared/kubernetes/api-error.ts";
import { silenceText } from "../../shared/fleet/silence.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Stored } from "../storage/journal.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { lastPhase } from "../tick/phase.ts";

/** A silence is noticed within this time. Each check costs a row. */
export const SILENCE_CHECK_MS = 5 * 60_000;
/** The same where the cluster's object sees the Nodes that the node controller gives up. */
export const WATCHED_SILENCE_CHECK_MS = 3600_000;
/** The same where neither reports nor a lease tell: a check takes four rows. */
export const UNSEEN_SILENCE_CHECK_MS = 20 * 60_000;

type LastContact =
  | { kind: "in contact"; lastMs: number }
  | { kind: "silent"; sinceMs: number }
  /**
   * The apiserver was away, or still is, so that an old lease proves nothing; or there is no lease to ask for. Check again at
   * `askAgainMs`; `isWaiting`: nothing but a report is waited for.
   */
  | { kind: "unknown"; askAgainMs: number; isWaiting: boolean };

export interface SilenceCheck {
  name: string;
  leaseDurationMs: number;
  /** In memory; undefined after an eviction. */
  lastReportMs: number | undefined;
  /** When a machine that has never reported enrolled; null: it has. */
  unusedSinceMs: number | null;
  /** When a machine that is in contact is checked again; null: when it would be silent. */
  everyMs: number | null;
  /** null: no apiserver is configured. */
  client: KubeClient | null;
  nowMs: number;
}

/** In these phases the machine reports, and its lease is not renewed. */
const UNRENEWED = new Set<Phase | undefined>(["cloned", "setup failed"]);
const AWAY = new Set<Phase | undefined>([
  "apiserver unreachable",
  "apiserver refuses",
  "apiserver not configured",
]);

/** Is the machine's lease renewed with each report, so that it has the time of the last one? */
export function isLeaseRenewed(records: NodeRecordStore): boolean {
  return records.get("registration")?.phase === "registered" && !UNRENEWED.has(lastPhase(records));
}

/** Records silence. Returns when to check again, in milliseconds since 1970; null: no check is needed. */
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
    return check.everyMs === null ? contact.lastMs + check.leaseDurationMs + 1 : nowMs + check.everyMs;
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

/** While the apiserver is away nobody is silent: only a report could tell, and it would not say that it is back. */
async function lastContact(
  records: NodeRecordStore,
  check: SilenceCheck,
  backSinceMs: number | null, // as of the last report and of later alarms
): Promise<LastContact> {
  const { nowMs, lastReportMs, client, name } = check;
  const phase = lastPhase(records);
  const isAway = AWAY.has(phase);
  const byReport = lastReportMs === undefined ? null : contactSince(lastReportMs, check);
  if (byReport && (byReport.kind === "in contact" || !isAway)) return byReport;
  const isRenewed = isLeaseRenewed(records);
  if (!isRenewed && !isAway) return contactWithoutLease(check, backSinceMs);
  const found = await client?.getLease(NODE_LEASE_NAMESPACE, name);
  if (!found?.ok && !(found && isNotFound(found.error)))
    return { kind: "unknown", askAgainMs: nowMs + SILENCE_CHECK_MS, isWaiting: false };
  if (!found.ok || !isRenewed) return contactWithoutLease(check, backSinceMs);
  const wasAway = phase !== "registered";
  const { renewTime } = found.value.spec ?? {};
  const renewedMs = renewTime === undefined ? 0 : parseMicroTime(renewTime) / 1000;
  const contact = contactSince(Math.max(renewedMs, lastReportMs ?? 0), check);
  if (contact.kind === "in contact" || !wasAway) return contact;
  const waitUntilMs = (backSinceMs ?? nowMs) + check.leaseDurationMs;
  return nowMs >= waitUntilMs ? contact : { kind: "unknown", askAgainMs: waitUntilMs, isWaiting: true };
}

/**
 * The lease has gone with the Node, and with it the time of the last report; or it is not renewed. Where no report comes for
 * the duration of one, the machine is silent, and not only its Node deleted.
 */
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

/** What was decided last, quoted when the machine is silent: `Ready False: node is shutting down`. */
function lastConditions(decided: readonly DecidedCondition[]): string {
  const notable = decided.filter(({ type, status }) => type === "Ready" || status !== "False");
  if (notable.length === 0) return "it never said anything";
  return notable.map(({ type, status, message }) => `${type} ${status}: ${message ?? ""}`).join("; ");
}
