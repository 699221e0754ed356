// The fleet as a client of the feed knows it, made of the feed's messages. Knows no socket; the Worker does not use it.
import * as z from "zod/mini";
import { HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { FeedMessage } from "../protocol/feed.ts";
import type { PendingMachine } from "../protocol/operator-answers.ts";
import type { Outage } from "../protocol/outages.ts";
import { type CodedColumns, rowsOf } from "./columns.ts";

const moving = z.object({
  name: z.string(),
  /** One of FLEET_STATES; a newer Worker may have more. */
  state: z.string(),
  since: z.number(),
  /** By how much it is silent for longer than it is in this state; null: it is not. */
  silent: z.nullable(z.number()),
  phase: z.nullable(z.string()),
  why: z.string(),
  conditions: z.record(z.string(), z.string()),
  unschedulable: z.boolean(),
  skew: z.number(),
});
const lasting = z.object({
  name: z.string(),
  labels: z.record(z.string(), z.string()),
  /** true: the machine's name. */
  hostname: z.nullable(z.union([z.literal(true), z.string()])),
  versions: z.tuple([z.string(), z.string(), z.string(), z.string(), z.string()]),
  addresses: z.array(z.string()),
  address: z.string(),
  capacity: z.record(z.string(), z.string()),
  withheld: z.string(),
  token: z.string(),
  used: z.boolean(),
  // An earlier Worker tells neither.
  transport: z._default(z.string(), "http"),
  created: z._default(z.nullable(z.number()), null),
});

/** What transitions change. Times are milliseconds since 1970. */
interface MovingMachine {
  name: string;
  state: string;
  sinceMs: number;
  /** null: it is not silent. */
  silentSinceMs: number | null;
  /** null: it has had no answer. */
  phase: string | null;
  /** Why it is not ready, in one line; "": nothing is known, or it is. */
  why: string;
  /** The status of each. */
  conditions: Record<string, string>;
  isUnschedulable: boolean;
  skewMs: number;
}

/** A machine as the feed tells of it: what lists, filters and counts need. */
export interface FeedMachine extends MovingMachine {
  labels: Record<string, string>;
  versions: { shim: string; kernel: string; os: string; runtime: string; architecture: string };
  /** The Node's: `InternalIP=10.0.0.1`. */
  addresses: string[];
  /** From which it reports. */
  address: string;
  capacity: Record<string, string>;
  withheld: string;
  /** ID of the join token. */
  token: string;
  /** Has it ever reported with its key? */
  isUsed: boolean;
  /** How it reports. */
  transport: string;
  /** When its Node was created, rounded down to the hour; null: not known, or there is none. */
  createdMs: number | null;
}

/** What a message has changed. */
export interface FeedUpdate {
  /** All was told anew. */
  isWhole: boolean;
  /** Names of machines that are new or differ. */
  changed: string[];
  gone: string[];
}

export class FeedView {
  machines = new Map<string, FeedMachine>();
  outages = new Map<number, Outage>();
  pending: PendingMachine[] = [];
  /** By which the feed goes on; null: nothing is known. */
  cursor: string | null = null;
  /** Of a snapshot that is not complete. */
  #loading = new Map<string, FeedMachine>();

  /** Throws where a message is none of this protocol. */
  take(message: FeedMessage): FeedUpdate {
    const update: FeedUpdate = { isWhole: false, changed: [], gone: [] };
    if (message.type === "hello") {
      if (!message.resumed) this.#loading = new Map();
      return update;
    }
    this.cursor = message.cursor;
    if (message.type === "snapshot") {
      for (const row of rowsOf(message.machines, message.rows)) {
        const machine = { ...movingOf(row), ...lastingOf(row) };
        this.#loading.set(machine.name, machine);
      }
      if (!message.isLast) return update;
      const gone = [...this.machines.keys()].filter((name) => !this.#loading.has(name));
      this.machines = this.#loading;
      this.outages = new Map();
      Object.assign(update, { isWhole: true, changed: [...this.machines.keys()], gone });
    } else {
      update.changed = [...this.#takeWhole(message.machines), ...this.#takeMoved(message.moved)];
      update.gone = message.gone ?? [];
      for (const name of update.gone) this.machines.delete(name);
    }
    if (message.pending) this.pending = message.pending;
    for (const outage of message.outages ?? []) this.outages.set(outage.id, outage);
    return update;
  }

  #takeWhole(whole: Rows | undefined): string[] {
    return (whole ? rowsOf(whole.columns, whole.rows) : []).map((row) => {
      const machine = { ...movingOf(row), ...lastingOf(row) };
      this.machines.set(machine.name, machine);
      return machine.name;
    });
  }

  #takeMoved(moved: Rows | undefined): string[] {
    return (moved ? rowsOf(moved.columns, moved.rows) : []).map((row) => {
      const change = movingOf(row);
      const before = this.machines.get(change.name);
      if (!before) throw new Error(`the feed changes ${change.name}, of which it has not told`);
      this.machines.set(change.name, { ...before, ...change });
      return change.name;
    });
  }
}

type Rows = { rows: number; columns: CodedColumns };

function movingOf(row: unknown): MovingMachine {
  const { since, silent, unschedulable, skew, ...same } = moving.parse(row);
  return {
    ...same,
    sinceMs: since,
    silentSinceMs: silent === null ? null : since + silent,
    isUnschedulable: unschedulable,
    skewMs: skew,
  };
}

function lastingOf(row: unknown): Omit<FeedMachine, keyof MovingMachine> {
  const { name, labels, hostname, versions, used, created, ...same } = lasting.parse(row);
  const [shim, kernel, os, runtime, architecture] = versions;
  const host = hostname === true ? name : hostname;
  return {
    ...same,
    labels: host === null ? labels : { ...labels, [HOSTNAME_LABEL]: host },
    versions: { shim, kernel, os, runtime, architecture },
    isUsed: used,
    createdMs: created,
  };
}
