// What a node object remembers, in SQLite: one row for each record, read once when the object wakes, written on change.
import type { FleetState } from "../../shared/fleet/state.ts";
import type { SeenSenders } from "../../shared/node/duplicate-senders.ts";
import type { DecidedCondition } from "../../shared/node/decided.ts";
import type { EventCorrelator } from "../../shared/events/correlator.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { OthersParts, WrittenParts } from "../../shared/node/parts.ts";
import type { SaidTaints } from "../../shared/node/taints.ts";
import type { HeartbeatState } from "../../shared/node/heartbeat.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import type { RuntimeMemory } from "../../shared/from-report/missing-runtime.ts";
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Allowance } from "./allowance.ts";
import type { Samples } from "./samples.ts";
import type { Tables } from "./tables.ts";

/** The pinned key, what came with it, and what its join token allows. */
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
  /** Of the registry's pin; absent: the enrolment is from before there were pins. */
  generation?: number;
  /** Its keys are refused: an operator has revoked them, or the registry has not confirmed them. */
  isRevoked?: true;
}

export interface PublicKey {
  /** `x` of its JWK. */
  key: string;
  thumbprint: string;
}

/** A Node for which nothing more is written. */
export type LostPhase = "node deleted" | "name taken";

/** A Node that somebody deleted, and how often that was so lately. */
export interface Deletion {
  /** When it was noticed, in milliseconds since 1970. */
  atMs: number;
  /** Was the Node Ready and its machine heard of, as far as is known? */
  wasReady: boolean;
  /** It is registered again so long after `atMs` at the earliest. */
  waitMs: number;
  /** How many deletions came soon after a creation, this one included. */
  soon: number;
  /** Present: nobody deleted it, the Worker removed it after so many days of silence. */
  silentDays?: number;
}

/** The outcome of the last registration, and the process of the shim that it was for. */
export interface LastRegistration extends Partial<SaidTaints> {
  startId: string;
  phase: "registered" | LostPhase | "waiting for Node";
  /** When the Worker created the Node, in milliseconds since 1970; absent: long ago, or it did not. */
  createdAtMs?: number;
  /** Whose Node it is. */
  enrolmentId?: string;
}

/** What is left of each share of a name's requests to the apiserver. */
export interface RequestsLeft {
  renewals: number;
  /** For the Node, and for events. */
  others: number;
  /** What was asked in the last minute, in parts of two seconds: of each its begin, and how often. */
  recent: readonly { sinceMs: number; renewals: number; others: number }[];
  /** When that was so, in milliseconds since 1970. */
  atMs: number;
}

interface KnownNode extends HeartbeatState {
  node: Node;
  /** The apiserver's may differ by now: read it before relying on this one. */
  readAgain: boolean;
  /** Its lease had run out since then: if somebody deleted it, it was not Ready any more. */
  hasLapsed?: true;
  /** What was sent since it was read, with an unknown outcome: the apiserver may have this as well. */
  sent?: DecidedCondition[];
}

/** Each key is a row. */
export interface NodeRecords {
  enrolment: Enrolment;
  /** The machine leaves, or an operator forgets it: its reports are refused. */
  isLeaving: true | "forgotten";
  /** It takes over with its first report. */
  nextKey: PublicKey;
  /** Rotated out: what it signs is refused as `key-revoked`. */
  formerKey: PublicKey;
  /** Pins of the registry up to this generation are out of date. */
  outdated: number;
  /**
   * The pin and key that the registry has confirmed, when it last did so, by origin, and the number of the gateway that it
   * has given to the machine; null: there was none. An earlier version stored no `gateway`.
   */
  settled: { key: string; toldAtMs: Record<string, number>; gateway?: number | null };
  facts: { digest: string; facts: Facts };
  /** Whether this machine has had a container runtime, and whether an operator says that it needs none. */
  runtime: RuntimeMemory;
  /** Who reports with this machine's key. */
  sightings: SeenSenders;
  registration: LastRegistration;
  /** Absent: nobody has deleted the Node since the shim started, or since an operator had it registered. */
  deletion: Deletion;
  /** What is left of the name's requests to the apiserver; absent: all. An earlier version stored no `recent`. */
  requestsLeft: Omit<RequestsLeft, "recent"> & Partial<RequestsLeft>;
  /** What goes beyond the machine's join token, and was left out of its Node. */
  leftOut: { registration?: readonly string[]; status?: readonly string[] };
  /** Which parts of the Node that are ours others have set, and so stay. */
  others: OthersParts;
  /** The parts of ours that somebody has undone. */
  putBack: WrittenParts;
  /** Which settings the deployment bounds, as the machine and its history were told. */
  bounded: string;
  /** When the Node may change to the wanted form, in milliseconds since 1970; absent: no turn was given. */
  formTurn: { atMs: number };
  /** The last known Node, and when its status was written: one row for one write. */
  node: KnownNode;
  memory: ReportedMemory;
  /** The Node's ranges of pods, comma-separated, as they were seen last; absent: it never had one. */
  podCIDRs: string;
  /**
   * The process of the shim whose start is in the history; how many more of them may cause a registration, and have events
   * that begin afresh, and when that was so.
   */
  process: { startId: string; registrations?: Allowance; freshEvents?: Allowance };
  /** The conditions as they were decided last, whether or not the apiserver has them. */
  decided: DecidedCondition[];
  /** What the correlation of events remembers of those that were sent. */
  correlator: EventCorrelator;
  /** How many events were dropped because the apiserver was away for too long. */
  eventsDropped: number;
  /** The phase of the last answer to the machine; of an apiserver that is away, since when. */
  phase: Phase | { phase: Phase; sinceMs: number };
  /** When the last outage began that the machine told of, and how many more of them may be a line of history. */
  outage: Allowance & { sinceMs: number };
  /**
   * The gateway that may hold an order to renew this machine's lease, and what the order's epoch is not above; absent: none
   * does. An earlier version stored no `epochsTo`.
   */
  lent: { gateway: number; epochsTo?: number };
  /**
   * A gateway that did not answer may renew the name's lease until then at the latest, whoever has the name by now; absent:
   * none may.
   */
  untouched: { untilMs: number };
  /** Present: it reports by a socket, or did a moment ago. */
  transport: "socket";
  /** Is the machine's clock further off than it may be? */
  isSkewed: boolean;
  /** By how much it was when that was noticed, or had changed a lot. */
  skewMs: number;
  /**
   * Since when alarms find nothing that tells of the last report: the apiserver answers, and the lease is gone or too old
   * since that was away, or is none of this machine's.
   */
  apiserverBackSinceMs: number;
  /** Since when the machine is silent, in milliseconds since 1970; null: it is not. */
  silentSinceMs: number | null;
  /** As its history has it, and when that began. */
  state: { state: FleetState; sinceMs: number };
  /** What the fleet index was told last. */
  told: Told;
}

/** What the fleet index knows of the machine, and whether the last attempt to tell it more has failed. */
export interface Told {
  /** Of the registry's pin; -1: it knows nothing. */
  generation: number;
  version: number;
  /** The last line of history. */
  entryId: number;
  /** The summary, as JSON; "": none. */
  text: string;
  /** From which the machine reported, and when that was told. */
  address: string;
  addressAtMs: number;
  /** Absent: all is told, or under way. */
  again?: { failures: number; atMs: number };
}

export interface NodeRecordStore {
  get<Key extends keyof NodeRecords>(key: Key): NodeRecords[Key] | undefined;
  /** Is this equal to the stored value? */
  holds<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): boolean;
  /** In SQLite before it returns; a value that is equal to the stored one is not written. */
  put<Key extends keyof NodeRecords>(key: Key, value: NodeRecords[Key]): void;
  /** Removing an absent record costs nothing. */
  remove(key: keyof NodeRecords): void;
}

const UPSERT = `INSERT INTO records (key, value, samples) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`;

/** The store over a Durable Object's SQLite. Values are JSON and must not be changed by those who read them. */
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
  // Values are parsed when they are needed: not all of them are each time that an object wakes.
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
