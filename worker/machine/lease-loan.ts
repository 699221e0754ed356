// The lease loan that a machine's object hands to its gateway, and the calls between the two. Types only. Fields and methods
// keep their names on the wire (`order`, `baton`, `standing`, `recall`, `look`): two versions run during a deploy.
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

/**
 * The permission to renew a machine's lease. While heartbeats are quiet, the gateway renews the lease without waking the
 * machine's object.
 */
export interface LeaseLoan {
  /** The number of the loan. It rises with each loan of this machine. */
  epoch: number;
  /** The HMAC key of the heartbeats: 32 bytes. */
  sessionKey: Uint8Array<ArrayBuffer>;
  /** The lease to write next, with uid and resourceVersion. The gateway sets its renewTime. */
  lease: Lease;
  leaseMs: number;
  /** The time between two heartbeats. */
  intervalMs: number;
  /** How long the loan lasts at most after the gateway has received it. */
  quietForMs: number;
  /** The vitals of the report that the loan followed. A heartbeat contains only what differs from them. */
  vitals: Vitals;
  quiet: Quiet;
  /** Opaque to the gateway. */
  baton: HandoffState;
}

/** A loan that the gateway returns. Times are durations until now, because two objects may have two clocks. */
export interface ReturnedLoan {
  epoch: number;
  /** The lease as last written; null if a PUT got no answer, so that the object must read the lease. */
  lease: Lease | null;
  /** Since the last renewal that succeeded under this loan; null if none did. */
  renewedAgoMs: number | null;
  /** Since the last accepted heartbeat; null if none came. */
  heardAgoMs: number | null;
  /** Of that heartbeat, with the skew of the machine's clock. */
  vitals: Vitals;
  skewMs: number | null;
  /** The thinned samples of the heartbeats. */
  samples: KeptSamples;
  /** The number of PUTs. */
  requests: number;
  baton: HandoffState;
}

/**
 * What a machine's object had in memory when it lent the lease. The gateway returns it with the loan, so that the object may
 * be evicted meanwhile. All of it is plain values.
 */
export interface HandoffState {
  /** The ID of the enrolment that the state belongs to. */
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
  /** The last report, without its facts, which are stored. */
  latest?: Report;
  latestMs: number;
  lastReportMs?: number;
  standing?: WatchStatus;
  between?: TokenBucket;
  /** The requests to the apiserver that were left when the lease was lent. */
  requests: RequestsLeft;
}

/** A report that came over a socket. */
export interface SocketReport {
  request: SignedRequest;
  gateway: number;
  /** The socket's X25519 public key. The report must be signed for it. */
  session: string;
  /** The loan that ended with this report; null if there was none, or the gateway has lost it. */
  returned: ReturnedLoan | null;
  /** The gateway drops a loan whose epoch is not above this one. */
  floor: number;
}

export interface SocketAnswer {
  answer: MachineAnswer;
  /** `key`: the object's X25519 public key for the session. */
  lent: { order: LeaseLoan; key: string } | null;
}

/** What a gateway calls on a machine's object. */
export interface LeaseLender {
  reportBySocket: (report: SocketReport) => Promise<SocketAnswer>;
  /** The socket has closed, or has missed its heartbeats. `returned`: null if this gateway has no loan. */
  socketEnded: (gateway: number, returned: ReturnedLoan | null) => Promise<void>;
  /** A valid heartbeat came over a socket that a later one has replaced: two processes use this machine's session. */
  noteReplacedBeat: () => Promise<void>;
}

/** What a machine's object calls on its gateway. */
export interface LeaseHolder {
  /** Call it before the first loan of this machine. From then on the gateway reports the end of the machine's socket. */
  noteMember: (name: string, gateway: number) => Promise<true>;
  /**
   * Ends this machine's loan, and drops each loan up to the epoch `floor`, also one that arrives later. Resolves once no PUT
   * is in progress; null if the gateway had no loan.
   */
  recall: (name: string, floor: number) => Promise<ReturnedLoan | null>;
  /** Reads the loan without ending it, for operators; null if there is none. */
  look: (name: string) => Promise<ReturnedLoan | null>;
  /** Sends the machine a request to report now, and renews nothing until it does; false if the machine has no socket here. */
  reportNow: (name: string) => Promise<boolean>;
  /** Closes the machine's sockets, after its loan was withdrawn. */
  dismiss: (name: string, why: "left" | "moved" | "refused") => Promise<void>;
}
