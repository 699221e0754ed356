// Decides whether a machine is silent: by the time of its last report or, after an eviction, by the last renewal of its
// lease. An alarm asks every few minutes. Writes nothing to the apiserver.
import { isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { Stored } from "../storage/journal.ts";

/** A silence is noticed within this time. Each check costs a row. */
export const SILENCE_CHECK_MS = 5 * 60_000;
/** The same where the cluster's object sees the Nodes that the node controller gives up. */
export const WATCHED_SILENCE_CHECK_MS = 3600_000;

type LastContact =
  | { kind: "in contact" }
  | { kind: "silent"; sinceMs: number }
  /** The apiserver was away, or still is, so that an old lease proves nothing: check again at `askAgainMs`. */
  | { kind: "unknown"; askAgainMs: number; apiserverAnswers: boolean };

export interface SilenceCheck {
  name: string;
  leaseDurationMs: number;
  /** In memory; undefined after an eviction. */
  lastReportMs: number | undefined;
  /** When a machine that is in contact is checked again. */
  everyMs: number;
  client: KubeClient;
  nowMs: number;
}

/** Records silence. Returns when to check again, in milliseconds since 1970; null: no check is needed. */
export async function checkSilence(
  { records, journal }: Stored,
  check: SilenceCheck,
): Promise<number | null> {
  if (records.get("registration")?.phase !== "registered" || records.get("silentSinceMs")) return null;
  const { nowMs } = check;
  const backSinceMs = records.get("apiserverBackSinceMs") ?? null;
  const wasAway = records.get("phase") !== "registered";
  const contact =
    check.lastReportMs === undefined
      ? await contactByLease(check, { wasAway, backSinceMs })
      : contactSince(check.lastReportMs, check);
  if (contact.kind === "in contact") return nowMs + check.everyMs;
  if (contact.kind === "unknown") {
    if (contact.apiserverAnswers) records.put("apiserverBackSinceMs", backSinceMs ?? nowMs);
    return contact.askAgainMs;
  }
  records.put("silentSinceMs", contact.sinceMs);
  const since = new Date(contact.sinceMs).toISOString();
  const text = `silent since ${since}; last said: ${lastConditions(records.get("decided") ?? [])}`;
  journal.note("silence", text, nowMs);
  return null;
}

/** For an object that was evicted: the lease has the time of the last report that reached the apiserver. */
async function contactByLease(
  check: SilenceCheck,
  apiserver: { wasAway: boolean; backSinceMs: number | null }, // as of the last report and of later alarms
): Promise<LastContact> {
  const { nowMs, leaseDurationMs } = check;
  const found = await check.client.getLease(NODE_LEASE_NAMESPACE, check.name);
  if (!found.ok && isNotFound(found.error)) return contactWithoutLease(check, apiserver.backSinceMs);
  if (!found.ok) return { kind: "unknown", askAgainMs: nowMs + SILENCE_CHECK_MS, apiserverAnswers: false };
  const renewTime = found.value.spec?.renewTime;
  const renewedMs = renewTime === undefined ? 0 : parseMicroTime(renewTime) / 1000;
  const contact = contactSince(renewedMs, check);
  if (contact.kind === "in contact" || !apiserver.wasAway) return contact;
  const waitUntilMs = (apiserver.backSinceMs ?? nowMs) + leaseDurationMs;
  if (nowMs >= waitUntilMs) return contact;
  return { kind: "unknown", askAgainMs: waitUntilMs, apiserverAnswers: true };
}

/**
 * The lease has gone with the Node, and with it the time of the last report. A report would have noticed that: where none
 * comes for the duration of a lease, the machine is silent, and not only its Node deleted.
 */
function contactWithoutLease(
  { nowMs, leaseDurationMs }: SilenceCheck,
  askedSinceMs: number | null,
): LastContact {
  const sinceMs = askedSinceMs ?? nowMs;
  const waitUntilMs = sinceMs + leaseDurationMs;
  if (nowMs >= waitUntilMs) return { kind: "silent", sinceMs };
  return { kind: "unknown", askAgainMs: waitUntilMs, apiserverAnswers: true };
}

function contactSince(
  lastMs: number,
  { nowMs, leaseDurationMs }: Pick<SilenceCheck, "nowMs" | "leaseDurationMs">,
): LastContact {
  return nowMs - lastMs <= leaseDurationMs ? { kind: "in contact" } : { kind: "silent", sinceMs: lastMs };
}

/** What was decided last, quoted when the machine is silent: `Ready False: node is shutting down`. */
function lastConditions(decided: readonly DecidedCondition[]): string {
  const notable = decided.filter(({ type, status }) => type === "Ready" || status !== "False");
  if (notable.length === 0) return "it never said anything";
  return notable.map(({ type, status, message }) => `${type} ${status}: ${message ?? ""}`).join("; ");
}
