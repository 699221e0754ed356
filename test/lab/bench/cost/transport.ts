// What the cost benchmark needs of a transport of reports. Types only.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { After } from "../../../../infra/local/apiserver/timer.ts";

/** A machine's surroundings and its data: it is enrolled and has a clock. */
export interface MachinePlace {
  name: string;
  key: MachineKey;
  kid: string;
  ticket: string;
  /** The Worker's origin; a proxy that counts is in front of it. */
  origin: string;
  /** PEM of the authority that signed its certificate. */
  authority: string;
  facts: Facts;
  /** Milliseconds since 1970, and timers of that clock. */
  nowMs: () => number;
  after: After;
}

export interface CostMachine {
  /** Sends a report or a heartbeat; resolves with the time until the next one. Rejects if it was not accepted. */
  beat: (index: number) => Promise<number>;
  /** Calls `wake` when a machine wants to report before its time. Absent: it never does. */
  listen?: (wake: () => void) => void;
  /** True while it does other work than a heartbeat: time stands still meanwhile. */
  isBusy?: () => boolean;
  stop: () => void;
}

export interface CostTransport {
  /** Part of its rows' names: `cost-http-100`. */
  key: string;
  /** Its name in the output: `HTTP`. */
  name: string;
  /** The class of the objects that hold many machines' connections; absent: none. */
  gateway?: string;
  /** Makes the machines, without a request: time stands still. */
  start: (place: MachinePlace) => CostMachine;
}
