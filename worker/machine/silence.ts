// When is a machine silent? An alarm asks every few minutes; it decides by when the machine was last heard of, and
// where nobody remembers, by when its lease was last renewed. Writes nothing to the apiserver.
import type { DecidedCondition } from "../../shared/node/decided.ts";
import { parseMicroTime } from "../../shared/kubernetes/micro-time.ts";
import { NODE_LEASE_NAMESPACE } from "../../shared/node/lease.ts";
import type { KubeClient } from "../kube/kube-client.ts";

/** A machine that goes silent is noticed within this time. One row each. */
export const SILENCE_CHECK_MS = 5 * 60_000;

export type Hearing =
  | { kind: "heard" }
  | { kind: "silent"; sinceMs: number }
  /** The apiserver was away, or still is: who could not be renewed is not silent for that. Ask again then. */
  | { kind: "unknown"; askAgainMs: number; apiserverAnswers: boolean };

export interface Listening {
  nowMs: number;
  leaseDurationMs: number;
  /** In memory; undefined after an eviction. */
  lastReportMs: number | undefined;
  /** Was the apiserver away when the machine was last heard of, and until when, as far as is known? */
  apiserver: { wasAway: boolean; backSinceMs: number | null };
}

/** For an object that remembers; undefined: read the lease. */
export function hearingFromMemory({ nowMs, leaseDurationMs, lastReportMs }: Listening): Hearing | undefined {
  if (lastReportMs === undefined) return undefined;
  return hearing(lastReportMs, nowMs, leaseDurationMs);
}

/** For an object that was evicted: the lease says when the last report was that reached the apiserver. */
export async function hearingFromLease(
  listening: Listening,
  client: KubeClient,
  name: string,
): Promise<Hearing> {
  const { nowMs, leaseDurationMs, apiserver } = listening;
  const found = await client.getLease(NODE_LEASE_NAMESPACE, name);
  if (!found.ok) return { kind: "unknown", askAgainMs: nowMs + SILENCE_CHECK_MS, apiserverAnswers: false };
  const renewTime = found.value.spec?.renewTime;
  const renewedMs = renewTime === undefined ? 0 : parseMicroTime(renewTime) / 1000;
  const heard = hearing(renewedMs, nowMs, leaseDurationMs);
  if (heard.kind === "heard" || !apiserver.wasAway) return heard;
  const waitUntilMs = (apiserver.backSinceMs ?? nowMs) + leaseDurationMs;
  return nowMs >= waitUntilMs ? heard : { kind: "unknown", askAgainMs: waitUntilMs, apiserverAnswers: true };
}

function hearing(lastMs: number, nowMs: number, leaseDurationMs: number): Hearing {
  return nowMs - lastMs <= leaseDurationMs ? { kind: "heard" } : { kind: "silent", sinceMs: lastMs };
}

/** What the machine last said of itself, quoted when it is silent: `Ready False: node is shutting down`. */
export function lastWords(decided: readonly DecidedCondition[]): string {
  const notable = decided.filter(({ type, status }) => type === "Ready" || status !== "False");
  if (notable.length === 0) return "it never said anything";
  return notable.map(({ type, status, message }) => `${type} ${status}: ${message ?? ""}`).join("; ");
}
