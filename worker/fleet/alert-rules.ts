// Decides which states of a machine concern a receiver, when the receiver is notified, and what the alert contains.
import type { AlertState, Alert } from "../../shared/fleet/alert.ts";
import { isInMaintenance } from "../../shared/kubernetes/lifecycle-conditions.ts";
import type { FleetState } from "../../shared/fleet/state.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import { ALERT_STATES } from "../../shared/protocol/receiver-api.ts";
import { filterMatches } from "./mutes.ts";
import type { KeptReceiver } from "./receivers.ts";

/** The state of one machine for one receiver: the last notified state, and the next state to notify of. */
export interface Watched {
  /** The state of which the receiver is or will be notified; null if the machine is well or the filter excludes it. */
  state: AlertState | null;
  /** When `state` began. */
  sinceMs: number;
  /** The last state that the receiver was notified of; null before the first message, and after a resolution. */
  notified: AlertState | null;
  /** When the receiver is notified of `state`; null after the notification, or if no message follows. */
  dueMs: number | null;
}

/** The delay of a resolution, so that one message has all machines that recover together. */
const SETTLE_MS = 5000;

/**
 * Returns a machine's row after its state has changed; null if the stored row stays. A change before the first
 * message does not postpone the message. `notified` stays until the next message, or until the machine is well.
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

/** Returns the alert's word for a state; null if no receiver is notified of the state. */
function alertState(state: FleetState): AlertState | null {
  return ALERT_STATES.find((each) => each === state) ?? null;
}

/** An outage: machines that fell silent together. */
export interface KnownOutage {
  id: string;
  /** The address from which the outage's machines report. */
  address: string;
  sinceMs: number;
}

/** Returns the machine's state if the state concerns the receiver; null otherwise, and during maintenance. */
export function concernOf(
  { settings }: KeptReceiver,
  name: string,
  summary: MachineSummary | null,
): AlertState | null {
  const state = summary && alertState(summary.state);
  if (!summary || !state || isInMaintenance(summary.conditions)) return null;
  return filterMatches(settings, name, state, summary) ? state : null;
}

/** The evidence for deciding whether the whole cluster cannot be written, or only single Nodes. */
export interface ClusterEvidence {
  /** The fault that the Worker's own probe of the apiserver found; null if the apiserver serves the Worker. */
  fault: string | null;
  /** The number of machines in the state cluster-unreachable. */
  unreachable: number;
  /** The number of machines in the fleet. */
  machines: number;
}

/** The share of `cluster-unreachable` machines from which the cluster counts as failed, even if the probe succeeded. */
const UNREACHABLE_SHARE = 0.1;
/** The least number of machines for UNREACHABLE_SHARE: one machine's refused Node must not raise a cluster alert. */
const LEAST_UNREACHABLE = 2;

/** Returns why the cluster cannot be written; null if at most single Nodes fail. `isOpen`: a cluster alert is open. */
export function clusterCause(
  { fault, unreachable, machines }: ClusterEvidence,
  isOpen: boolean,
): string | null {
  if (fault !== null) return fault;
  // An open alert ends at half the share, so that a machine at the limit does not end and begin alerts.
  const share = isOpen ? UNREACHABLE_SHARE / 2 : UNREACHABLE_SHARE;
  const isMany = unreachable >= Math.max(LEAST_UNREACHABLE, share * machines);
  return isMany ? "the apiserver answers the Worker, and refuses these Nodes" : null;
}

/** Reports whether the machine's state shows that the Worker has written its Node. */
export const isWritten = (summary: MachineSummary | null): boolean =>
  summary?.phase === "registered" && (summary.state === "ready" || summary.state === "not-ready");

/** An open alert is sent again once its number of machines has grown by this factor since its last message. */
export const GROWTH = 2;

/** A machine in an alert. */
interface AlertMember {
  machine: string;
  state: AlertState | null;
  sinceMs: number;
}

interface AlertCause {
  kind: Alert["kind"];
  outage: KnownOutage | null;
  /** The summary of the alert's first machine. */
  summary: MachineSummary;
  /** Why the cluster cannot be written, for the kind `cluster`; "" otherwise. */
  why: string;
  deployment: string;
  id: string;
}

export function alertOf(
  members: readonly AlertMember[],
  { kind, outage, summary, why, deployment, id }: AlertCause,
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
    why: isAlone ? summary.why : why,
  };
}

/** Returns the resolution of an alert. `now`: the summary of the alert's last machine; null if the machine is gone. */
export function overAlert(firing: Alert, untilMs: number, now: MachineSummary | null): Alert {
  return {
    ...firing,
    status: "resolved",
    isRepeated: false,
    untilMs: Math.max(untilMs, firing.sinceMs),
    why: firing.kind === "machine" ? stateNow(now) : "",
  };
}

function stateNow(now: MachineSummary | null): string {
  if (!now) return "gone";
  return isInMaintenance(now.conditions) ? "in maintenance" : now.state;
}
