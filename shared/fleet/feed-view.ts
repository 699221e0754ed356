// The fleet as a client of the feed knows it, made of the feed's messages. Knows no socket; the Worker does not use it.
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { FeedMessage } from "../protocol/feed.ts";
import type { PendingMachine } from "../protocol/operator-answers.ts";
import type { Outage } from "../protocol/outages.ts";
import { type CodedColumns, rowsOf } from "./columns.ts";

/** What transitions change. Times are milliseconds since 1970. */
interface MovingMachine {
  name: string;
  /** One of FLEET_STATES; a newer Worker may have more. */
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
  /** When its Node was created, rounded down to the minute; null: not known, or there is none. */
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

/** A row of the feed's columns, by field. */
type FeedRow = ReturnType<typeof rowsOf>[number];

// Fields are checked by hand: a browser reads ten thousand rows before it shows any, and a schema library would be a fifth of
// what it loads first.
const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isFlag = (value: unknown): value is boolean => typeof value === "boolean";
const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isTextByKey = (value: unknown): value is Record<string, string> =>
  typeof value === "object" && value !== null && Object.values(value).every(isText);
const orNull =
  <T>(is: (value: unknown) => value is T) =>
  (value: unknown): value is T | null =>
    value === null || is(value);
/** true: the machine's name. */
const isHostname = (value: unknown): value is string | true | null =>
  value === true || value === null || isText(value);

/** Throws where it is missing, or something else. */
function read<T>(row: FeedRow, field: string, is: (value: unknown) => value is T, byDefault?: T): T {
  const value = row[field] === undefined ? byDefault : row[field];
  if (is(value)) return value;
  throw new Error(`a machine's ${field} in the feed is ${JSON.stringify(value)}`);
}

function movingOf(row: FeedRow): MovingMachine {
  const sinceMs = read(row, "since", isNumber);
  const silent = read(row, "silent", orNull(isNumber));
  return {
    name: read(row, "name", isText),
    state: read(row, "state", isText),
    sinceMs,
    silentSinceMs: silent === null ? null : sinceMs + silent,
    phase: read(row, "phase", orNull(isText)),
    why: read(row, "why", isText),
    conditions: read(row, "conditions", isTextByKey),
    isUnschedulable: read(row, "unschedulable", isFlag),
    skewMs: read(row, "skew", isNumber),
  };
}

function lastingOf(row: FeedRow): Omit<FeedMachine, keyof MovingMachine> {
  const labels = { ...read(row, "labels", isTextByKey) };
  const name = read(row, "name", isText);
  const hostnames = {
    [HOSTNAME_LABEL]: read(row, "hostname", isHostname),
    // An earlier Worker does not have it.
    [OWN_HOSTNAME_LABEL]: read(row, "ownHostname", isHostname, null),
  };
  for (const [key, value] of Object.entries(hostnames))
    if (value !== null) labels[key] = value === true ? name : value;
  const [shim = "", kernel = "", os = "", runtime = "", architecture = ""] = read(row, "versions", isTexts);
  return {
    labels,
    versions: { shim, kernel, os, runtime, architecture },
    addresses: read(row, "addresses", isTexts),
    address: read(row, "address", isText),
    capacity: read(row, "capacity", isTextByKey),
    withheld: read(row, "withheld", isText),
    token: read(row, "token", isText),
    isUsed: read(row, "used", isFlag),
    // An earlier Worker tells neither.
    transport: read(row, "transport", isText, "http"),
    createdMs: read(row, "created", orNull(isNumber), null),
  };
}
