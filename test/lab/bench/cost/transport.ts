// What the bench of costs asks of a way by which machines report. Types only.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { After } from "../../../../infra/local/apiserver/timer.ts";

/** Where a machine is, and what it has at hand: enrolled, with a clock. */
export interface MachinePlace {
  name: string;
  key: MachineKey;
  kid: string;
  ticket: string;
  /** Where the Worker is: something stands before it that counts. */
  origin: string;
  /** PEM of the authority that vouches for it. */
  authority: string;
  facts: Facts;
  /** In milliseconds since 1970; and timers by that clock. */
  nowMs: () => number;
  after: After;
}

export interface CostMachine {
  /** Sends a report or a heartbeat, and resolves with the time until the next one. Rejects where it was not taken. */
  beat: (index: number) => Promise<number>;
  /** Calls back when it wants to beat before its time. Absent: it never does. */
  listen?: (wake: () => void) => void;
  /** Something else of it is under way than a heartbeat: time stands still meanwhile. */
  isBusy?: () => boolean;
  stop: () => void;
}

export interface CostTransport {
  /** Of its rows: `cost-http-100`. */
  key: string;
  /** As in the output: `HTTP`. */
  name: string;
  /** The class of the objects that hold the connections of many machines; absent: there are none. */
  gateway?: string;
  /** Sends nothing yet: time stands still. */
  start: (place: MachinePlace) => CostMachine;
}
