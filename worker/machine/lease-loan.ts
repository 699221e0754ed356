// Defines the lease loan that a node object hands to a gateway, and the calls between these two objects. Types
// only. Fields and methods keep their names on the wire (`order`, `baton`, `standing`, `recall`, `look`), because
// two versions of the Worker run during a deploy.
import type { KeptSamples } from "../../shared/fleet/samples.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Report, Vitals } from "../../shared/protocol/report.ts";
import type { Quiet } from "../../shared/quiet/quiet.ts";
import type { WatchStatus } from "../cluster/node-watch.ts";
import type { TokenBucket } from "../storage/token-bucket.ts";
import type { RequestsLeft } from "../storage/records.ts";
import type { UnstoredSamples } from "../storage/samples.ts";
import type { TickMemory } from "../tick/memory.ts";
import type { MachineAnswer } from "./answers.ts";
import type { Tickets } from "./fresh-requests.ts";
import type { Incumbent } from "./known-facts.ts";
import type { SignedRequest } from "./pinned-keys.ts";

/** The permission to renew a lease. On quiet heartbeats the gateway renews it without waking the node object. */
export interface LeaseLoan {
  /** The number of the loan, which rises with each loan of the machine. */
  epoch: number;
  /** The HMAC key of the heartbeats, 32 bytes. */
  sessionKey: Uint8Array<ArrayBuffer>;
  /** The lease that the gateway writes next, with uid and resourceVersion. The gateway sets only the renewTime. */
  lease: Lease;
  leaseMs: number;
  /** Milliseconds between two heartbeats. */
  intervalMs: number;
  /** The longest duration of the loan, in milliseconds after the gateway has received it. */
  quietForMs: number;
  /** The vitals of the report before the loan. A heartbeat contains only the differences from them. */
  vitals: Vitals;
  quiet: Quiet;
  /** The node object's state, which the gateway stores and returns without reading it. */
  baton: HandoffState;
}

/** A loan that the gateway returns. Times are durations before now, because the clocks of two objects may differ. */
export interface ReturnedLoan {
  epoch: number;
  /** The lease as the gateway last wrote it; null after an unanswered PUT: the node object must read the lease. */
  lease: Lease | null;
  /** Milliseconds since the last successful renewal under this loan; null if no renewal succeeded. */
  renewedAgoMs: number | null;
  /** Milliseconds since the last accepted heartbeat; null if no heartbeat came. */
  heardAgoMs: number | null;
  /** The vitals of the last accepted heartbeat. */
  vitals: Vitals;
  skewMs: number | null;
  /** The thinned samples from the heartbeats. */
  samples: KeptSamples;
  /** The number of PUTs that the gateway sent under this loan. */
  requests: number;
  baton: HandoffState;
}

/** A node object's memory at a loan, in plain values. The gateway returns it, so that the object may be evicted. */
export interface HandoffState {
  /** The ID of the enrolment that this state belongs to. */
  enrolment: string;
  upkeep: UpkeepMemory;
  tickets: Tickets<never>;
  incumbent?: Incumbent;
  samples: UnstoredSamples;
}

/** The memory of an Upkeep. Times are milliseconds since 1970. */
export interface UpkeepMemory {
  /** The memory of the ticks, without the lease, which is in the loan. */
  tick: TickMemory;
  /** The last report without its facts, which are stored in SQLite. */
  latest?: Report;
  latestMs: number;
  lastReportMs?: number;
  standing?: WatchStatus;
  between?: TokenBucket;
  /** The machine's remaining requests to the apiserver when the lease was lent. */
  requests: RequestsLeft;
}

/** A report that came over a socket. */
export interface SocketReport {
  request: SignedRequest;
  gateway: number;
  /** The socket's X25519 public key, for which the machine must have signed the report. */
  session: string;
  /** The loan that ended with this report; null if there was no loan, or the gateway has lost it. */
  returned: ReturnedLoan | null;
  /** The lower bound of the next loan's epoch. The gateway drops a loan with this epoch or a smaller one. */
  floor: number;
}

export interface SocketAnswer {
  answer: MachineAnswer;
  /** `order`: the loan. `key`: the node object's X25519 public key for the session. */
  lent: { order: LeaseLoan; key: string } | null;
}

/** The methods that a gateway calls on a node object. */
export interface LeaseLender {
  reportBySocket: (report: SocketReport) => Promise<SocketAnswer>;
  /**
   * Reports that the socket has closed, or has missed its heartbeats. `returned`: null if this gateway has no loan.
   * `heardAgoMs`: milliseconds since the last heartbeat or report; absent if the gateway has lost the socket as well.
   */
  socketEnded: (gateway: number, returned: ReturnedLoan | null, heardAgoMs?: number) => Promise<void>;
  /** Reports a valid heartbeat over a replaced socket: two processes use the machine's session. */
  noteReplacedBeat: () => Promise<void>;
}

/** The methods that a node object calls on its gateway. */
export interface LeaseHolder {
  /** Makes the machine a member of the gateway, which reports the end of a member's socket. Precedes the first loan. */
  noteMember: (name: string, gateway: number) => Promise<true>;
  /** Ends the loan up to epoch `floor`; drops such loans on arrival. Resolves after the last PUT; null if not lent. */
  recall: (name: string, floor: number) => Promise<ReturnedLoan | null>;
  /** Reads the loan for an operator's view, without ending it; null if there is no loan. */
  look: (name: string) => Promise<ReturnedLoan | null>;
  /** Asks the machine to report; the gateway renews nothing until then. false if the machine has no socket there. */
  reportNow: (name: string) => Promise<boolean>;
  /** Closes the machine's sockets. Call `dismiss` after the loan was withdrawn. */
  dismiss: (name: string, why: "left" | "moved" | "refused") => Promise<void>;
}
