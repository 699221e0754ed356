// Stores the records of a machine's object in SQLite, a row each: read once on waking, written on change.
import type { FleetState } from "../../shared/fleet/state.ts";
import type { SeenSenders } from "../../shared/node/duplicate-senders.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import type { Maintenance } from "../../shared/node/maintenance.ts";
import type { EventCorrelator } from "../../shared/events/correlator.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import type { OthersParts, WrittenParts } from "../../shared/node/parts.ts";
import type { RulesResult } from "../../shared/features/rules-result.ts";
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
  /** The `x` of the machine's public JWK. */
  key: string;
  thumbprint: string;
  machineID: string;
  systemUUID: string;
  /** The ID of the join token. */
  token: string;
  pinnedAtMs: number;
  /** The generation of the machine's pin in the registry; absent if an early Worker, without pins, enrolled the machine. */
  generation?: number;
  /** Present if the keys are refused: an operator has revoked them, or the registry has not confirmed them. */
  isRevoked?: true;
}

export interface PublicKey {
  /** The `x` of the key's public JWK. */
  key: string;
  thumbprint: string;
}

/** The phases of a lost Node. The Worker no longer writes such a Node. */
export type LostPhase = "node deleted" | "name taken";

/** The last deletion of the Node, by another writer or by the Worker. */
export interface Deletion {
  /** When the Worker noticed the deletion, in milliseconds since 1970. */
  atMs: number;
  /** true if the last known Node was Ready, and the machine was reporting. */
  wasReady: boolean;
  /** The least time between `atMs` and a new registration of the Node. */
  waitMs: number;
  /** The number of deletions in a row that came soon after a creation, including this deletion. */
  soon: number;
  /** The days of silence after which the Worker removed the Node; absent if another writer deleted the Node. */
  silentDays?: number;
}

/** The result of the last registration, and the process of the shim that was registered. */
export interface LastRegistration extends Partial<AskedTaints> {
  startId: string;
  phase: "registered" | LostPhase | "waiting for Node";
  /** When the Worker created the Node, in Unix milliseconds; absent for another writer's Node, or after a long time. */
  createdAtMs?: number;
  /** The ID of the enrolment that owns the Node. */
  enrolmentId?: string;
}

/** The requests to the apiserver that a name has left: for renewals of the lease, and for all others. */
export interface RequestsLeft {
  renewals: number;
  /** The number of requests for the Node and for events that are left. */
  others: number;
  /** The requests of the last minute, in slots of two seconds. `sinceMs`: when the slot began. */
  recent: readonly { sinceMs: number; renewals: number; others: number }[];
  /** The time at which these requests were left, in milliseconds since 1970. */
  atMs: number;
}

interface KnownNode extends HeartbeatState {
  node: Node;
  /** true if the apiserver's Node may differ from this stored Node: the next decision must read it first. */
  readAgain: boolean;
  /** Present if the lease has expired since the Node was last read: a Node deleted afterwards was no longer Ready. */
  hasLapsed?: true;
  /** The conditions of writes with an unknown result since the Node was read: the apiserver's Node may have them. */
  sent?: DecidedCondition[];
}

/** The load of a Node's write that needs a turn. */
export interface NodeLoad {
  /** 1 for a new Node; 0 otherwise. */
  nodes: number;
  bytes: number;
}

/** The answer to a machine. `isGranted`: false if the machine must ask again after the wait. */
export interface NodeTurn {
  waitMs: number;
  isGranted: boolean;
  /** The limit that causes the wait; "" without a wait. */
  limit: string;
}

/** The time at which a Node of this size may be written. `isGranted`: false if the machine must then ask again. */
interface AssignedTurn {
  bytes: number;
  /** The bytes of the write beyond the machine's own share. */
  extraBytes: number;
  atMs: number;
  isGranted: boolean;
  /** The message about the limit, for the machine's operator. */
  message: string;
}

/** The NodeFeature object of the machine, and the limits of its writes. */
export interface PublishedObject {
  /**
   * The object as last written; absent before the first success. `digest`: the SHA-256 of what was sent. `uid`: "" if the
   * first write had no answer, so that there may be an object.
   */
  object?: { namespace: string; uid: string; digest: string; bytes: number; startId: string };
  bucket?: TokenBucket;
  /** The time assigned to an object that grows by these bytes, in milliseconds since 1970. */
  turn?: { bytes: number; atMs: number };
  /** Why the last attempt wrote or removed nothing, and how many attempts in a row the apiserver has not accepted. */
  fault?: { text: string; failures: number };
  /** The earliest time of the next attempt, in milliseconds since 1970. */
  againAtMs?: number;
}

/** All records of a machine's object. Each field is a row. */
export interface NodeRecords {
  enrolment: Enrolment;
  /** Present if the machine leaves, or an operator forgets it (`forgotten`): the machine's reports are refused. */
  isLeaving: true | "forgotten";
  /** The phase of the removal's last failed attempt; absent before a failure. Earlier versions stored no such record. */
  notRemoved: Phase;
  /** The next key of a rotation, until the first report that it signs. */
  nextKey: PublicKey;
  /** The key before the last rotation. Requests that this key signs are refused as `key-revoked`. */
  formerKey: PublicKey;
  /** The generation up to which the registry's pins are out of date. */
  outdated: number;
  /**
   * The key that the registry has confirmed, and the time of the last confirmation for each origin. `gateway`: the
   * number of the machine's gateway, null without one. An earlier version stored no `gateway`.
   */
  settled: { key: string; toldAtMs: Record<string, number>; gateway?: number | null };
  facts: {
    digest: string;
    facts: Facts;
    /** The first value of the facts as sent that was limited, or whose group was left out. */
    fault?: { path: string; message: string };
  };
  /** Records whether this machine has had a container runtime, and whether an operator has stated that it needs none. */
  runtime: RuntimeMemory;
  /** The several senders that report with this machine's key. */
  sightings: SeenSenders;
  registration: LastRegistration;
  /** The Node's last deletion; absent without one since the shim's start, or since an operator's new registration. */
  deletion: Deletion;
  /** The requests that the name has left; absent if all are left. An earlier version stored no `recent`. */
  requestsLeft: Omit<RequestsLeft, "recent"> & Partial<RequestsLeft>;
  /** The parts that the machine's join token does not allow, and that its Node therefore lacks. */
  leftOut: { registration?: readonly string[]; status?: readonly string[]; features?: readonly string[] };
  /**
   * DNS names that one shim process reports. true: another Node has the name; null: the apiserver did not answer. `atMs`:
   * when all names were checked, which an earlier version did not store.
   */
  nodeNames: { startId: string; names: Readonly<Record<string, boolean | null>>; atMs?: number };
  /** Parts of the Node that the Worker would set, but other writers have set: the Node keeps their values. */
  others: OthersParts;
  /** Parts of the Node that the Worker has set and another writer has undone. */
  putBack: WrittenParts;
  /** The machine's settings that the deployment bounds, as last stated to the machine and in its history. */
  bounded: string;
  /** When the Node may change to its new form, in milliseconds since 1970; absent if no time is assigned. */
  formTurn: { atMs: number };
  /**
   * The size that the Node may have, in bytes, and the time assigned to a larger Node or a further write, if any. An
   * earlier version stored no such record.
   */
  nodeBytes: { granted: number; turn?: AssignedTurn };
  /** The last known Node, and the time of its last status write. */
  node: KnownNode;
  memory: ReportedMemory;
  /** Absent if the machine has no NodeFeature object. */
  nodeFeature: PublishedObject;
  /** The Node's last known podCIDRs, comma-separated; absent if the Node never had one. */
  podCIDRs: string;
  /** The shim's process in the history, with token buckets for new processes: registrations, fresh event counts. */
  process: { startId: string; registrations?: TokenBucket; freshEvents?: TokenBucket };
  /**
   * The result of the deployment's rules for the machine's features, and the revision of the rules. `isDue`: the
   * features or the rules have changed since. `bucket`: of evaluations, so that an eviction allows no more of them. Absent
   * as long as the machine knows of no rules.
   */
  ruled: { revision: number; result?: RulesResult; isDue?: true; bucket?: TokenBucket };
  /** The taints of rules that the Node was given; absent without one. */
  ruleTaints: readonly Taint[];
  /** The maintenance that an operator has ordered; absent without one, and once the Node shows its end. */
  maintenance: Maintenance;
  /** The conditions that operators end, with the marks of their problems; absent without an order. */
  clearings: Readonly<Record<string, string>>;
  /** The conditions that were decided last, whether or not the apiserver has them. */
  decided: DecidedCondition[];
  /** The memory of the events' correlation, which counts and combines repeated events. */
  correlator: EventCorrelator;
  /** The number of events that were dropped during an outage of the apiserver. */
  eventsDropped: number;
  /** The phase of the last answer to the machine, and when it began, if the apiserver does not answer. */
  phase: Phase | { phase: Phase; sinceMs: number };
  /** When the last outage that the machine reported began, and the token bucket of history lines about outages. */
  outage: TokenBucket & { sinceMs: number };
  /** The gateway that may hold a loan, and the loan's highest possible epoch, which earlier versions did not store. */
  lent: { gateway: number; epochsTo?: number };
  /** Until when an unanswering gateway may renew the name's lease, for any machine; absent if no gateway may. */
  untouched: { untilMs: number };
  /** Present if the machine reports by a socket, or reported by a socket a moment ago. */
  transport: "socket";
  /** Until when no gateway may watch a machine that opens a socket, so that this object checks for its silence. */
  opening: { untilMs: number };
  /** The time of the machine's last message when its socket ended; absent once another message has come. */
  contact: { lastMs: number };
  /** true if the machine's clock is further off than allowed. */
  isSkewed: boolean;
  /** The skew of the machine's clock, as stored when the skew began or last changed a lot. */
  skewMs: number;
  /**
   * When the apiserver began to answer again without a usable lease: the lease is missing, too old after the
   * outage, or another machine's. No alarm can then learn the time of the last report.
   */
  apiserverBackSinceMs: number;
  /** When the machine became silent, in milliseconds since 1970; null if the machine is not silent. */
  silentSinceMs: number | null;
  /** The last state in the machine's history, and when the state began. */
  state: { state: FleetState; sinceMs: number };
  /** The last update of the fleet index. */
  told: Told;
}

/** The data of the last update that the fleet index has received, and the failures since. */
export interface Told {
  /** The generation of the registry's pin; -1 if the index has no data. */
  generation: number;
  version: number;
  /** The ID of the last history entry that the index has. */
  entryId: number;
  /** The summary as JSON; "" if the index has no summary. */
  text: string;
  /** The address from which the machine reported, and when the index received it. */
  address: string;
  addressAtMs: number;
  /** The next attempt to update the index after failures; absent if the last update succeeded. */
  again?: { failures: number; atMs: number };
}

export interface NodeRecordStore {
  get<Key extends keyof NodeRecords>(key: Key): NodeRecords[Key] | undefined;
  /** Reports whether the value equals the stored value. */
  holds<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): boolean;
  /** Stores the value before returning. A value that equals the stored value is not written. */
  put<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): void;
  /** Removes a record. The removal of an absent record costs nothing. */
  remove(key: keyof NodeRecords): void;
}

const UPSERT = `INSERT INTO records (key, value, samples) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** Returns the records of a Durable Object, stored in its SQLite. Values are JSON; callers must not change them. */
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
  // A value is parsed at its first read, since an object needs few values each time it wakes.
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
      if (!texts.has(key)) return;
      tables.make();
      sql.exec("DELETE FROM records WHERE key = ?", key);
      texts.delete(key);
      values.delete(key);
    },
  };
}
