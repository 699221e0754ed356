// What an alert says: which machines concern a receiver, that something began with them, that it is over. Stores nothing.
import type { AlertState, SaidAlert } from "../../shared/fleet/alert.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { NOTIFICATION_LIMITS as LIMIT } from "../../shared/protocol/limits.ts";
import { alertState } from "./alert-rules.ts";
import { filterMatches } from "./mutes.ts";
import type { KeptReceiver } from "./receivers.ts";

/** Machines that fell silent together. */
export interface KnownOutage {
  id: string;
  /** From which they report. */
  address: string;
  sinceMs: number;
}

/** The state that this receiver is told of the machine; null: none. */
export function concernOf(
  { settings }: KeptReceiver,
  name: string,
  summary: MachineSummary | null,
): AlertState | null {
  const state = summary && alertState(summary.state);
  return summary && state && filterMatches(settings, name, state, summary) ? state : null;
}

/** A machine that is told of. */
interface AlertMember {
  machine: string;
  state: AlertState | null;
  since_ms: number;
}

interface AlertCause {
  kind: SaidAlert["kind"];
  outage: KnownOutage | null;
  /** Of the first of them. */
  summary: MachineSummary;
  deployment: string;
  id: string;
}

export function alertOf(
  members: readonly AlertMember[],
  { kind, outage, summary, deployment, id }: AlertCause,
): SaidAlert {
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
    sinceMs: outage?.sinceMs ?? Math.min(...members.map(({ since_ms }) => since_ms)),
    untilMs: null,
    machines: members.length,
    names: machines.slice(0, LIMIT.namesInAlert),
    address: outage?.address ?? (isAlone ? summary.address : ""),
    why: isAlone ? summary.why : "",
  };
}

/** `now`: the last machine's summary; null: it is gone. */
export function overAlert(firing: SaidAlert, untilMs: number, now: MachineSummary | null): SaidAlert {
  return {
    ...firing,
    status: "resolved",
    isRepeated: false,
    untilMs: Math.max(untilMs, firing.sinceMs),
    why: firing.kind === "machine" ? (now?.state ?? "gone") : "",
  };
}
