// Stores the records of a machine's object in SQLite: one row for each, read once when the object wakes, written on change.
import type { FleetState } from "../../shared/fleet/state.ts";
import type { SeenSenders } from "../../shared/node/duplicate-senders.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import type { EventCorrelator } from "../../shared/events/correlator.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { OthersParts, WrittenParts } from "../../shared/node/parts.ts";
import type { AskedTaints } from "../../shared/node/taints.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import type { RuntimeMemory } from "../../shared/from-report/missing-runtime.ts";
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";

import type { Samples } from "./samples.ts";
import type { Tables } from "./tables.ts";
import type { TokenBucket } from "./token-bucket.ts";

/** The pinned key, the claims of its enrolment, and the grant of its join token. */
export interface Enrolment extends Grant {
  id: string;
  /** The Node's name. */
  name: string;
  /** `x` of the machine's public JWK. */
  key: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
  /** ID of the join token. */
  token: string;
  pinnedAtMs: number;
  /** Generation of the registry's pin; absent if the enrolment is from before there were pins. */
  generation?: number;
  /** Present if an operator has revoked the keys, or the registry has not confirmed them: they are refused. */
  isRevoked?: true;
}

export interface PublicKey {
  /** `x` of its JWK. */
  key: string;
  thumbprint: string;
}

/** The Worker writes nothing more for such a Node. */
export type LostPhase = "node deleted" | "name taken";

/** The last deletion of the Node by another writer or the Worker. */
export interface Deletion {
  /** When it was noticed, in milliseconds since 1970. */
  atMs: number;
  /** The last known Node was Ready, and its machine was reporting. */
  wasReady: boolean;
  /** The Node is registered again this long after `atMs` at the earliest. */
  waitMs: number;
  /** Number of deletions in a row that came soon after a creation, including this one. */
  soon: number;
  /** Present if the Worker removed the Node, after this many days of silence. */
  silentDays?: number;
}

/** The outcome of the last registration, and the shim's process that it was for. */
export interface LastRegistration extends Partial<AskedTaints> {
  startId: string;
  phase: "registered" | LostPhase | "waiting for Node";
  /** When the Worker created the Node, in milliseconds since 1970; absent if it did not, or long ago. */
  createdAtMs?: number;
  /** The enrolment that owns the Node. */
  enrolmentId?: string;
}

/** The requests to the apiserver that a name has left, in two shares. */
export interface RequestsLeft {
  renewals: number;
  /** Requests for the Node and for events. */
  others: number;
  /** Requests of the last minute, counted in slots of two seconds. `sinceMs`: begin of the slot. */
  recent: readonly { sinceMs: number; renewals: number; others: number }[];
  /** Time of these numbers, in milliseconds since 1970. */
  atMs: number;
}

interface KnownNode extends HeartbeatState {
  node: Node;
  /** The apiserver's Node may differ: read it before relying on this one. */
  readAgain: boolean;
  /** The lease has expired since then: a Node that was deleted since was no longer Ready. */
  hasLapsed?: true;
  /** Conditions sent since the Node was read, with an unknown outcome: the apiserver may have them. */
  sent?: DecidedCondition[];
}

/** Each key is a row. */
export interface NodeRecords {
  enrolment: Enrolment;
  /** The machine leaves, or an operator forgets it: its reports are refused. */
  isLeaving: true | "forgotten";
  /** The key of a rotation, until the first report that it signs. */
  nextKey: PublicKey;
  /** The key before the last rotation: its requests are refused as `key-revoked`. */
  formerKey: PublicKey;
  /** Pins of the registry up to this generation are out of date. */
  outdated: number;
  /**
   * The key that the registry has confirmed, and the times of its last confirmations by origin. `gateway`: the number of the
   * machine's gateway; null if it has none; an earlier version stored no `gateway`.
   */
  settled: { key: string; toldAtMs: Record<string, number>; gateway?: number | null };
  facts: { digest: string; facts: Facts };
  /** Whether this machine has had a container runtime, and whether an operator says that it needs none. */
  runtime: RuntimeMemory;
  /** The senders that report with this machine's key. */
  sightings: SeenSenders;
  registration: LastRegistration;
  /** Absent: the Node was not deleted since the shim started, or since an operator had it registered. */
  deletion: Deletion;
  /** Absent: all requests are left. An earlier version stored no `recent`. */
  requestsLeft: Omit<RequestsLeft, "recent"> & Partial<RequestsLeft>;
  /** Parts that the machine's join token does not allow, and that its Node therefore lacks. */
  leftOut: { registration?: readonly string[]; status?: readonly string[] };
  /** Our parts of the Node that other writers have set, and that we therefore keep. */
  others: OthersParts;
  /** Our parts of the Node that another writer has undone. */
  putBack: WrittenParts;
  /** The settings that the deployment bounds, as last reported to the machine and its history. */
  bounded: string;
  /** When the Node may change to the wanted form, in milliseconds since 1970; absent if it has no turn. */
  formTurn: { atMs: number };
  /** The last known Node, and the time of its last status write. */
  node: KnownNode;
  memory: ReportedMemory;
  /** The Node's last known podCIDRs, comma-separated; absent if it never had one. */
  podCIDRs: string;
  /**
   * The shim's process whose start is in the history, and the token buckets of new processes: for registrations, and for
   * events that start again.
   */
  process: { startId: string; registrations?: TokenBucket; freshEvents?: TokenBucket };
  /** The last decided conditions, whether or not the apiserver has them. */
  decided: DecidedCondition[];
  /** The memory of the events' correlation. */
  correlator: EventCorrelator;
  /** Number of events that were dropped because the apiserver did not answer for too long. */
  eventsDropped: number;
  /** The phase of the last answer to the machine; with its begin if the apiserver does not answer. */
  phase: Phase | { phase: Phase; sinceMs: number };
  /** Begin of the last outage that the machine reported, and the token bucket of outages' lines of history. */
  outage: TokenBucket & { sinceMs: number };
  /**
   * The gateway that may hold a loan of this machine's lease, and the highest epoch that the loan can have; absent if none
   * does. An earlier version stored no `epochsTo`.
   */
  lent: { gateway: number; epochsTo?: number };
  /**
   * A gateway that did not answer may renew the name's lease until this time, even if another machine has the name now;
   * absent if none may.
   */
  untouched: { untilMs: number };
  /** Present if the machine reports by a socket, or did a moment ago. */
  transport: "socket";
  /** The machine's clock is further off than allowed. */
  isSkewed: boolean;
  /** The clock's skew when that was noticed, or when it had changed a lot. */
  skewMs: number;
  /**
   * Since when the apiserver answers without a usable lease: it is gone, too old because the apiserver did not answer, or
   * not this machine's. Then no alarm can learn the time of the last report.
   */
  apiserverBackSinceMs: number;
  /** Since when the machine is silent, in milliseconds since 1970; null if it is not. */
  silentSinceMs: number | null;
  /** The state in the machine's history, and its begin. */
  state: { state: FleetState; sinceMs: number };
  /** The last update of the fleet index. */
  told: Told;
}

/** What the fleet index has of the machine, and whether the last update has failed. */
export interface Told {
  /** Generation of the registry's pin; -1 if the index has nothing. */
  generation: number;
  version: number;
  /** The last line of history. */
  entryId: number;
  /** The summary as JSON; "" if there is none. */
  text: string;
  /** The address that the machine reported from, and the time of that update. */
  address: string;
  addressAtMs: number;
  /** The next attempt after a failure; absent if none has failed. */
  again?: { failures: number; atMs: number };
}

export interface NodeRecordStore {
  get<Key extends keyof NodeRecords>(key: Key): NodeRecords[Key] | undefined;
  /** Returns whether the value equals the stored one. */
  holds<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): boolean;
  /** Stores the value before it returns; does not write one that equals the stored one. */
  put<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): void;
  /** Removing an absent record costs nothing. */
  remove(key: keyof NodeRecords): void;
}

const UPSERT = `INSERT INTO records (key, value, samples) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** The store over a Durable Object's SQLite. Values are JSON; callers must not change them. */
export function nodeRecordStore(
  sql: SqlStorage,
  tables: Tables,
  samples: Pick<Samples, "take">,
): NodeRecordStore {
  const texts = new Map<string, string>();
  const values = new Map<string, unknown>();
  if (tables.exist()) {
    for (const row of sql.exec<{ key: string; value: string }>("SELECT key, value FROM records"))
      texts.set(row.key, row.value);
  }
  // Values are parsed at their first read: an object needs few of them each time it wakes.
  const valueOf = (key: string) => {
    const text = texts.get(key);
    if (text !== undefined && !values.has(key)) values.set(key, JSON.parse(text));
    return values.get(key);
  };
  return {
    get: (key) => valueOf(key) as never,
    holds: (key, value) => values.get(key) === value || texts.get(key) === JSON.stringify(value),
    put(key, value) {
      if (values.get(key) === value) return;
      const text = JSON.stringify(value);
      if (texts.get(key) === text) return;
      tables.make();
      const { pinnedAtMs = 0 } = (valueOf("enrolment") ?? {}) as Partial<Enrolment>;
      const taken = samples.take(key, pinnedAtMs);
      if (taken) sql.exec(`${UPSERT}, samples = excluded.samples`, key, text, taken);
      else sql.exec(UPSERT, key, text, null);
      texts.set(key, text);
      values.set(key, value);
    },
    remove(key) {
      if (!texts.delete(key)) return;
      tables.make();
      values.delete(key);
      sql.exec("DELETE FROM records WHERE key = ?", key);
    },
  };
}
