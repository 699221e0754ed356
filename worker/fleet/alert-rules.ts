// Decides which state of a machine concerns a receiver, when the receiver is notified of it, and what the alert contains.
import type { AlertState, Alert } from "../../shared/fleet/alert.ts";
import type { FleetState } from "../../shared/fleet/state.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";
import { filterMatches } from "./mutes.ts";
import type { KeptReceiver } from "./receivers.ts";

/** What a receiver was notified of about a machine, and what it is to be notified of. */
export interface Watched {
  /** The next state to notify of; null if the machine is well or does not concern the receiver. */
  state: AlertState | null;
  /** Start of `state`. */
  sinceMs: number;
  /** The last state that the receiver was notified of; null if none, or if it was notified of the end. */
  notified: AlertState | null;
  /** When the receiver is notified of `state`; null if it was, or if no message follows. */
  dueMs: number | null;
}

/** Delay of a resolution, so that machines that recover together are in one message. */
const SETTLE_MS = 5000;

/**
 * Returns the row after a machine has changed its state; null if nothing has to be stored. A change of state before the
 * first message does not postpone it. The notified state stays until the next message, or until the machine is well.
 */
export function watchedAfter(
  known: Watched | null,
  { state, sinceMs }: { state: AlertState | null; sinceMs: number },
  { delayMs, nowMs }: { delayMs: number; nowMs: number },
): Watched | null {
  const notified = known?.notified ?? null;
  if (state === notified) return notified === null ? null : { state, sinceMs, notified, dueMs: null };
  if (state === null) return { state, sinceMs, notified, dueMs: nowMs + SETTLE_MS };
  if (known?.state === state) return known;
  const dueMs = Math.max(sinceMs + delayMs, nowMs);
  const isWaiting = notified === null && known !== null && known.dueMs !== null;
  return { state, sinceMs, notified, dueMs: isWaiting ? Math.min(known.dueMs!, dueMs) : dueMs };
}

/** Returns the state as an alert's; null if no receiver is notified of it. */
function alertState(state: FleetState): AlertState | null {
  return ALERT_STATES.find((each) => each === state) ?? null;
}

/** Machines that fell silent together. */
export interface KnownOutage {
  id: string;
  /** The address they report from. */
  address: string;
  sinceMs: number;
}

/** Returns the state of the machine if it concerns the receiver; null otherwise. */
export function concernOf(
  { settings }: KeptReceiver,
  name: string,
  summary: MachineSummary | null,
): AlertState | null {
  const state = summary && alertState(summary.state);
  return summary && state && filterMatches(settings, name, state, summary) ? state : null;
}

/** A machine in an alert. */
interface AlertMember {
  machine: string;
  state: AlertState | null;
  sinceMs: number;
}

interface AlertCause {
  kind: Alert["kind"];
  outage: KnownOutage | null;
  /** Summary of the first machine. */
  summary: MachineSummary;
  deployment: string;
  id: string;
}

export function alertOf(
  members: readonly AlertMember[],
  { kind, outage, summary, deployment, id }: AlertCause,
): Alert {
  const machines = members.map(({ machine }) => machine);
  const isAlone = kind === "machine";
  return {
    id,
    status: "firing",
    isRepeated: false,
    kind,
    name: isAlone ? machines.join() : (outage?.id ?? deployment),
    state: members[0]!.state!,
    severity: isAlone ? "warning" : "critical",
    sinceMs: outage?.sinceMs ?? Math.min(...members.map(({ sinceMs }) => sinceMs)),
    untilMs: null,
    machines: members.length,
    names: machines.slice(0, LIMIT.namesInAlert),
    address: outage?.address ?? (isAlone ? summary.address : ""),
    why: isAlone ? summary.why : "",
  };
}

/** Returns the resolution of an alert. `now`: the last machine's summary; null if the machine is gone. */
export function overAlert(firing: Alert, untilMs: number, now: MachineSummary | null): Alert {
  return {
    ...firing,
    status: "resolved",
    isRepeated: false,
    untilMs: Math.max(untilMs, firing.sinceMs),
    why: firing.kind === "machine" ? (now?.state ?? "gone") : "",
  };
}
