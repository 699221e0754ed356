// What an object notices about its machine beside the Node: what new facts change, a clock that is off, silence, and
// what it was told last. Each is a line of history when it changes, and no row when it does not.
import { factsChanges } from "../../shared/from-report/facts-changes.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Phase, Report } from "../../shared/protocol/report.ts";
import type { Journal } from "../storage/journal.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { hearingFromLease, hearingFromMemory, lastWords, SILENCE_CHECK_MS } from "./silence.ts";

export interface Witness {
  records: NodeRecordStore;
  journal: Journal;
  nowMs: number;
}

/** A clock that is further off than this is said. */
const MAX_SKEW_MS = 60_000;

/**
 * Accepted facts. The last good reading of the machine and of its disk stays, as in the caches of the kubelet and its
 * container manager: no failure changes a capacity, nor what is kept of it.
 */
export function storeFacts({ records, journal, nowMs }: Witness, digest: string, sent: Facts): void {
  const before = records.get("facts")?.facts;
  const machine = sent.machine ?? before?.machine;
  const storage = sent.storage ?? before?.storage;
  const inventory = sent.inventory === undefined ? before?.inventory : sent.inventory;
  const dropIns = sent.dropIns === undefined ? before?.dropIns : sent.dropIns;
  // Drop-ins say them: while none was looked at, what they last said stays.
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

/** A fresh report: whoever is heard of is not silent. */
export function hear({ records, journal, nowMs }: Witness, { machineTime }: Report): void {
  const skewMs = Date.parse(machineTime) - nowMs;
  const isSkewed = Math.abs(skewMs) > MAX_SKEW_MS;
  if (isSkewed !== (records.get("isSkewed") ?? false)) {
    records.put("isSkewed", isSkewed);
    const text = isSkewed ? `is ${Math.round(skewMs / 1000)} s off` : "is right again";
    journal.note("clock", `the machine's clock ${text}`, nowMs);
  }
  const silentSinceMs = records.get("silentSinceMs");
  if (!silentSinceMs) return;
  records.put("silentSinceMs", null);
  journal.note("silence", `heard of again after ${Math.round((nowMs - silentSinceMs) / 1000)} s`, nowMs);
}

/** The shim could not set up and ends: no heartbeat. As the kubelet says it (initializeModules failed). */
export function hearSetupFailed({ records, journal, nowMs }: Witness, setupError: string): void {
  if (records.get("registration")?.phase === "name taken") journal.note("registration", setupError, nowMs);
  else journal.warn("KubeletSetupFailed", setupError, nowMs);
}

const isAway = (phase: Phase | undefined) =>
  phase === "apiserver unreachable" || phase === "apiserver refuses";

/** What the machine is told. */
export function tell({ records, journal, nowMs }: Witness, phase: Phase): void {
  const before = records.get("phase");
  if (phase === before) return;
  records.put("phase", phase);
  records.remove("apiserverBackSinceMs");
  const kind = isAway(phase) || isAway(before) ? "apiserver" : "phase";
  journal.note(kind, before === undefined ? phase : `${before} → ${phase}`, nowMs);
}

export interface ListeningFor {
  name: string;
  leaseDurationMs: number;
  /** In memory; undefined after an eviction. */
  lastReportMs: number | undefined;
  client: KubeClient;
}

/** Is the machine silent? When to ask again, in milliseconds since 1970; null where nothing is expected any more. */
export async function listen(witness: Witness, listening: ListeningFor): Promise<number | null> {
  const { records, journal, nowMs } = witness;
  if (records.get("registration")?.phase !== "registered" || records.get("silentSinceMs")) return null;
  const backSinceMs = records.get("apiserverBackSinceMs") ?? null;
  const apiserver = { wasAway: records.get("phase") !== "registered", backSinceMs };
  const known = { nowMs, apiserver, ...listening };
  const hearing =
    hearingFromMemory(known) ?? (await hearingFromLease(known, listening.client, listening.name));
  if (hearing.kind === "heard") return nowMs + SILENCE_CHECK_MS;
  if (hearing.kind === "unknown") {
    if (hearing.apiserverAnswers) records.put("apiserverBackSinceMs", backSinceMs ?? nowMs);
    return hearing.askAgainMs;
  }
  records.put("silentSinceMs", hearing.sinceMs);
  const since = new Date(hearing.sinceMs).toISOString();
  journal.note(
    "silence",
    `silent since ${since}; last said: ${lastWords(records.get("decided") ?? [])}`,
    nowMs,
  );
  return null;
}
