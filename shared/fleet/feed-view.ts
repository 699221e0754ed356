// Encodes machines for the feed, with the fields that lists, filters and counts need. A client builds its view of
// the fleet from the messages. New versions add fields, but never change the meaning of a field.
import type { Json } from "../kubernetes/json.ts";
import { HOSTNAME_LABEL, OWN_HOSTNAME_LABEL } from "../kubernetes/labels.ts";
import type { FeedMessage } from "../protocol/feed.ts";
import type { PendingMachine } from "../protocol/operator-answers.ts";
import type { Outage } from "../protocol/outages.ts";
import { type CodedColumns, rowsOf } from "./columns.ts";
import type { MachineSummary } from "./summary.ts";

const MINUTE_MS = 60_000;

type Fields = Record<string, (summary: MachineSummary, name: string) => Json>;

/** The fields that transitions change. `silent` is a difference from `since`, so that most values are equal. */
const MOVING: Fields = {
  name: (_, name) => name,
  state: ({ state }) => state,
  since: ({ sinceMs }) => sinceMs,
  silent: ({ silentSinceMs, sinceMs }) => (silentSinceMs === null ? null : silentSinceMs - sinceMs),
  phase: ({ phase }) => phase,
  why: ({ why }) => why,
  conditions: ({ conditions }) => Object.fromEntries(conditions.map(({ type, status }) => [type, status])),
  unschedulable: ({ isUnschedulable }) => isUnschedulable,
  skew: ({ skewMs }) => skewMs,
};

/** Encodes a hostname label: true if it is the machine's name, null if the Node lacks it. */
const hostname =
  (key: string): Fields[string] =>
  ({ labels }, name) =>
    labels[key] === name ? true : (labels[key] ?? null);

/** The fields that rarely change. Hostname labels are fields of their own, so that many machines share `labels`. */
const LASTING: Fields = {
  labels: ({ labels }) => {
    const { [HOSTNAME_LABEL]: _, [OWN_HOSTNAME_LABEL]: _own, ...others } = labels;
    return others;
  },
  hostname: hostname(HOSTNAME_LABEL),
  ownHostname: hostname(OWN_HOSTNAME_LABEL),
  versions: ({ versions: { shim, kernel, os, runtime, architecture } }) => [
    shim,
    kernel,
    os,
    runtime,
    architecture,
  ],
  addresses: ({ addresses }) =>
    addresses.flatMap(({ type, address }) => (type === "Hostname" ? [] : `${type}=${address}`)),
  address: ({ address }) => address,
  capacity: ({ capacity }) => capacity,
  withheld: ({ withheld }) => withheld,
  token: ({ key }) => key.token,
  used: ({ key }) => key.isUsed,
  transport: ({ transport }) => transport,
  // The time is rounded to the minute, so that Nodes that join at the same time have an equal value.
  created: ({ createdMs = 0 }) => (createdMs === 0 ? null : createdMs - (createdMs % MINUTE_MS)),
};

/** The columns in a message about changes (MOVING_FIELDS), and about whole machines (ALL_FIELDS). */
export const MOVING_FIELDS: readonly string[] = Object.keys(MOVING);
export const ALL_FIELDS: readonly string[] = [...MOVING_FIELDS, ...Object.keys(LASTING)];

const valuesOf = (fields: Fields) => {
  const readers = Object.values(fields);
  return (name: string, summary: MachineSummary): Json[] => readers.map((read) => read(summary, name));
};

/** Returns a machine's values, in the order of MOVING_FIELDS. */
export const movingValues = valuesOf(MOVING);
/** Returns a machine's values, in the order of ALL_FIELDS. */
export const allValues = valuesOf({ ...MOVING, ...LASTING });

/** Returns true if a field has changed that is not one of MOVING_FIELDS. */
export function hasLastingChange(before: MachineSummary, after: MachineSummary): boolean {
  return Object.values(LASTING).some(
    (read) => JSON.stringify(read(before, "")) !== JSON.stringify(read(after, "")),
  );
}

/** A machine's fields that transitions change. Times are milliseconds since 1970. */
interface MovingMachine {
  name: string;
  /** One of FLEET_STATES, or a state that only a newer Worker knows. */
  state: string;
  sinceMs: number;
  /** The start of the silence; null if the machine is not silent. */
  silentSinceMs: number | null;
  /** The phase of the last answer to the machine; null until the first answer. */
  phase: string | null;
  /** The reason why the machine is not ready, in one line; "" if it is ready, or no reason is known. */
  why: string;
  /** The status of each condition, by the condition's type. */
  conditions: Record<string, string>;
  isUnschedulable: boolean;
  skewMs: number;
}

/** A machine as a client of the feed knows it. */
export interface FeedMachine extends MovingMachine {
  labels: Record<string, string>;
  versions: { shim: string; kernel: string; os: string; runtime: string; architecture: string };
  /** The Node's addresses, each as type and address: `InternalIP=10.0.0.1`. */
  addresses: string[];
  /** The address that the machine reports from. */
  address: string;
  capacity: Record<string, string>;
  withheld: string;
  /** The ID of the join token that the machine enrolled with. */
  token: string;
  /** true if the machine has ever reported with its key. */
  isUsed: boolean;
  /** `http`, or `socket` if the machine reports over a socket. */
  transport: string;
  /** The Node's time of creation, rounded down to the minute; null if unknown, or if the machine has no Node. */
  createdMs: number | null;
}

/** The changes that a message has made in the view. */
export interface FeedUpdate {
  /** true if the message completed a new snapshot. */
  isWhole: boolean;
  /** The names of machines that are new or changed. */
  changed: string[];
  gone: string[];
}

/** The most machines, and the most outages, in a view: an endless snapshot must not fill the client's memory. */
export const MOST_IN_VIEW = 100_000;

export class FeedView {
  machines = new Map<string, FeedMachine>();
  outages = new Map<number, Outage>();
  pending: PendingMachine[] = [];
  /** The cursor with which the client resumes the feed; null until the first message. */
  cursor: string | null = null;
  /** The machines of a snapshot that is not complete yet. */
  #loading = new Map<string, FeedMachine>();

  /** Applies a message to the view. Throws if the message does not follow the protocol. */
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
      this.#bound();
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
    this.#bound();
    return update;
  }

  /** Throws if the view has more than the Worker's feed can have: another server could fill the memory. */
  #bound(): void {
    const most = Math.max(this.machines.size, this.#loading.size, this.outages.size);
    if (most > MOST_IN_VIEW) throw new Error(`the feed has more than ${MOST_IN_VIEW} machines or outages`);
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

/** A row of the feed: its values by field. */
type FeedRow = ReturnType<typeof rowsOf>[number];

// The fields are checked by hand, because a schema library would add a fifth to the page's first load.
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
/** Accepts a hostname label as the feed encodes it: a text, true for the machine's own name, or null. */
const isHostname = (value: unknown): value is string | true | null =>
  value === true || value === null || isText(value);

/** Returns the field's value, or `byDefault` if absent. Throws if a required field is absent or the type is wrong. */
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
    // An earlier Worker does not send `ownHostname`.
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
    // An earlier Worker sends neither `transport` nor `created`.
    transport: read(row, "transport", isText, "http"),
    createdMs: read(row, "created", orNull(isNumber), null),
  };
}
