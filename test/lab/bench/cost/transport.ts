// Defines the types of a transport of reports, as the cost benchmark needs it.
import type { Facts } from "../../../../shared/protocol/facts.ts";
import type { MachineKey } from "../../../../node-shim/identity/identity.ts";
import type { QuestionAnswering } from "../../../../node-shim/worker-link/questions.ts";
import type { After } from "../../../../infra/local/apiserver/timer.ts";

/** The data of an enrolled machine, its clock, and its connection to the Worker. */
export interface MachinePlace {
  name: string;
  key: MachineKey;
  kid: string;
  ticket: string;
  /** The origin that the machine connects to: a proxy that counts, in front of the Worker. */
  origin: string;
  /** The certificate, as PEM, of the authority that signed the origin's certificate. */
  authority: string;
  facts: Facts;
  /** The current time in milliseconds since 1970; `after` sets timers of the same clock. */
  nowMs: () => number;
  after: After;
  /** How the machine answers questions. Absent: it answers none. */
  answering?: QuestionAnswering | undefined;
}

export interface CostMachine {
  /**
   * Sends a report or a heartbeat; resolves with the milliseconds until the next one. Rejects if the Worker did not
   * accept it.
   */
  beat: (index: number) => Promise<number>;
  /** Calls `wake` when the machine wants to report before its time. Absent if it never does. */
  listen?: (wake: () => void) => void;
  /**
   * Returns true while the machine does other work than a heartbeat. The clock stands still until that work ends.
   */
  isBusy?: () => boolean;
  stop: () => void;
}

export interface CostTransport {
  /** The transport's part of a row's name, such as `http` in `cost-http-100`. */
  key: string;
  /** The transport's name in the output, such as `HTTP`. */
  name: string;
  /** The class of the objects that hold many machines' connections. Absent if the transport has none. */
  gateway?: string;
  /** Makes the machine without sending a request: the clock stands still. */
  start: (place: MachinePlace) => CostMachine;
}
