// What a machine's object and its gateway hand to each other: the order by which the gateway renews a lease, and what it
// gives back. Types only.
import type { KeptSamples } from "../../shared/fleet/samples.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Report, Vitals } from "../../shared/protocol/report.ts";
import type { Quiet } from "../../shared/quiet/quiet.ts";
import type { WatchStatus } from "../cluster/node-watch.ts";
import type { Allowance } from "../storage/allowance.ts";
import type { RequestsLeft } from "../storage/records.ts";
import type { UnstoredSamples } from "../storage/samples.ts";
import type { TickMemory } from "../tick/memory.ts";
import type { MachineAnswer } from "./answers.ts";
import type { Tickets } from "./fresh-requests.ts";
import type { Incumbent } from "./known-facts.ts";
import type { SignedRequest } from "./pinned-keys.ts";

/** Lends a lease: while heartbeats are quiet the gateway renews it, and wakes the machine's object for nothing. */
export interface StandingOrder {
  /** Rises with each order of this machine. */
  epoch: number;
  /** The HMAC key of its heartbeats: 32 bytes. */
  sessionKey: Uint8Array<ArrayBuffer>;
  /** As it is to be written next, but for its renewTime; with uid and resourceVersion. */
  lease: Lease;
  leaseMs: number;
  /** How often the machine is to send a heartbeat. */
  intervalMs: number;
  /** From its receipt. */
  quietForMs: number;
  /** Of the report that it came with: what heartbeats are short for. */
  vitals: Vitals;
  quiet: Quiet;
  /** The object's memory, which it gets back. Opaque to the gateway. */
  baton: Baton;
}

/** What a gateway gives back. Times are durations until now, since two objects may have two clocks. */
export interface ReturnedOrder {
  epoch: number;
  /** As it was written last; null: a PUT has no answer, and it has to be read. */
  lease: Lease | null;
  /** Since the last renewal that succeeded under this order; null: none has. */
  renewedAgoMs: number | null;
  /** Since the last accepted heartbeat; null: none came. */
  heardAgoMs: number | null;
  /** Of that heartbeat, and its clock's skew. */
  vitals: Vitals;
  skewMs: number | null;
  /** Of the heartbeats, thinned. */
  samples: KeptSamples;
  /** PUTs that were made. */
  requests: number;
  baton: Baton;
}

/** A report that came over a socket. */
export interface SocketReport {
  request: SignedRequest;
  gateway: number;
  /** The socket's X25519 public key: the report has to be signed with it. */
  session: string;
  /** What the object had lent; null: nothing, or it is lost. */
  returned: ReturnedOrder | null;
  /** Orders up to this epoch are not taken any more. */
  floor: number;
}

export interface SocketAnswer {
  answer: MachineAnswer;
  /** `key`: the object's X25519 public key for the session. */
  lent: { order: StandingOrder; key: string } | null;
}

/** What a gateway asks of a machine's object. */
export interface LendingMachine {
  reportBySocket: (report: SocketReport) => Promise<SocketAnswer>;
  /** The socket has ended, or nothing was heard of it; `returned` is null where this gateway knows no order. */
  socketEnded: (gateway: number, returned: ReturnedOrder | null) => Promise<void>;
  /** A valid heartbeat came by a socket that another one has replaced: two processes have this machine's session. */
  noteReplacedBeat: () => Promise<void>;
}

/** What a machine's object asks of its gateway. */
export interface LeaseHolder {
  /** Call it before anything is lent for this machine: from now on its object is told that its socket is gone, come what may. */
  noteMember: (name: string, gateway: number) => Promise<true>;
  /**
   * Ends this machine's order, and drops all up to this epoch, also those that come later. Resolves once no PUT is under
   * way any more. null: there was none.
   */
  recall: (name: string, floor: number) => Promise<ReturnedOrder | null>;
  /** What it would give back, for whoever looks. */
  look: (name: string) => Promise<ReturnedOrder | null>;
  /** The machine is asked to report now, and nothing is renewed until it does; false: it has no socket here. */
  reportNow: (name: string) => Promise<boolean>;
  /** Ends the machine's sockets, after an order is recalled. */
  dismiss: (name: string, why: "left" | "moved" | "refused") => Promise<void>;
}

// What a machine's object has in memory, as it goes with a standing order and comes back with the next report: the object
// sleeps meanwhile, and wakes as if it had not. Plain values; of no meaning to whoever carries it.

/** Of its Upkeep. Times are milliseconds since 1970. */
export interface UpkeepMemory {
  /** Without the lease, which the order has. */
  tick: TickMemory;
  /** The last report, without its facts. */
  latest?: Report;
  latestMs: number;
  lastReportMs?: number;
  standing?: WatchStatus;
  between?: Allowance;
  /** To the apiserver, as the lease was lent. */
  requests: RequestsLeft;
}

export interface Baton {
  /** The enrolment that it is about. */
  enrolment: string;
  upkeep: UpkeepMemory;
  tickets: Tickets<never>;
  incumbent?: Incumbent;
  samples: UnstoredSamples;
}

/** They are stored, and long. */
export function withoutFacts(whole: Report): Report {
  const { facts: _, ...report } = whole;
  return report;
}
