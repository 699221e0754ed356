// What receivers are told of machines, before it has a format: alerts, and messages of them. Decides nothing.
import type { FleetState } from "./state.ts";

/** A state that receivers are told of. The registry lists the pending machines, and `ready` is what ends an alert. */
export type AlertState = Exclude<FleetState, "ready" | "pending">;

/** One thing that is told: a machine in a state, or all those that are in it for one cause. */
export interface SaidAlert {
  /** The same when it is over, and each time that it is repeated. */
  id: string;
  status: "firing" | "resolved";
  /** Was it told as firing before? */
  isRepeated: boolean;
  /** `cluster`: machines report, and the apiserver cannot be written. */
  kind: "machine" | "outage" | "cluster";
  /** The machine's name, the outage's ID, the deployment. */
  name: string;
  state: AlertState;
  /** `cluster` and outages are critical. */
  severity: "critical" | "warning";
  sinceMs: number;
  /** null: it is not over. */
  untilMs: number | null;
  /** How many machines it is about, as far as is known; when it is over, those that it was about in all. */
  machines: number;
  /** Of the first ones of them. */
  names: string[];
  /** From which they report; "": not known, or several. */
  address: string;
  /** Of a machine: why, for operators; when it is over, the state that it is in now; "": nothing is known. */
  why: string;
}

/** What goes to a receiver at once. */
export interface AlertMessage {
  /** The same in each attempt. */
  id: string;
  deployment: string;
  /** Where operators reach the Worker: https://rollcall.example.com; "": not configured. */
  origin: string;
  receiver: string;
  atMs: number;
  /** Messages to this receiver that were given up so far, and are no longer kept. */
  dropped: number;
  /** In order; one that is over comes before what follows it. */
  alerts: SaidAlert[];
}

/** `nothing is wrong`: what a test message is about. */
export function testAlert(nowMs: number, id: string): SaidAlert {
  return {
    id,
    status: "firing",
    isRepeated: false,
    kind: "machine",
    name: "test",
    state: "silent",
    severity: "warning",
    sinceMs: nowMs,
    untilMs: nowMs,
    machines: 0,
    names: [],
    address: "",
    why: "This is a test of the receiver: nothing is wrong.",
  };
}
