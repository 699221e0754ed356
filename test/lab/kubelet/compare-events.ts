// Compares the events of a kubelet with those of a shim, process by process. Pure: two lists in, rows out.

/** An event about a Node. Its message has NODE in place of the Node's name. */
export interface ToldEvent {
  /** The object of the event, like `v1 Node`. */
  about: string;
  type: string;
  reason: string;
  message: string;
  count: number;
}

export interface EventRow {
  /** The kubelet's event. null if it has no such event. */
  kubelet: ToldEvent | null;
  ours: ToldEvent | null;
  /** "same", or the reason of an allowed difference. null if the difference is forbidden. */
  why: "same" | (string & {}) | null;
}

const OPPOSITES: Readonly<Record<string, string>> = {
  NodeHasSufficientMemory: "NodeHasInsufficientMemory",
  NodeHasNoDiskPressure: "NodeHasDiskPressure",
  NodeHasSufficientPID: "NodeHasInsufficientPID",
};

/** The events of a kubelet that a shim may omit, with the reason. `process` are the events of the same process. */
const LEFT_OUT: readonly [isIt: (event: ToldEvent, process: readonly ToldEvent[]) => boolean, why: string][] =
  [
    [
      ({ reason }) => reason === "InvalidDiskCapacity",
      "a kubelet collects garbage before it has looked at the disk",
    ],
    [
      ({ reason }, process) => process.some((other) => other.reason === OPPOSITES[reason]),
      "a kubelet says so before it has looked at the signals",
    ],
  ];

/** The events whose counts may differ, with the reason. */
const COUNTED: readonly [reasons: readonly string[], why: string][] = [
  [Object.keys(OPPOSITES), "a kubelet decides several times until its Node is registered"],
  [["EvictionThresholdMet"], "a kubelet repeats it while it would evict"],
];

/** The reasons of events that may come earlier, because a shim reads the signals before its first report. */
const IN_ANY_ORDER = new Set(["EvictionThresholdMet", ...Object.values(OPPOSITES)]);

const STARTING: readonly [kubelet: string, ours: string] = ["Starting kubelet.", "Starting node-shim."];

/** Returns the rows in the kubelet's order. Both given lists are in the order of the events' first times. */
export function compareEvents(kubelet: readonly ToldEvent[], ours: readonly ToldEvent[]): EventRow[] {
  const [theirs, own] = [processesOf(kubelet), processesOf(ours)];
  return Array.from({ length: Math.max(theirs.length, own.length) }, (_, at) =>
    compareProcess(theirs[at] ?? [], own[at] ?? []),
  ).flat();
}

/**
 * Splits events into processes. Each process starts with a Starting event; earlier events count as a process as
 * well.
 */
function processesOf(events: readonly ToldEvent[]): ToldEvent[][] {
  const processes: ToldEvent[][] = [];
  for (const event of events) {
    if (event.reason === "Starting" || processes.length === 0) processes.push([]);
    processes.at(-1)?.push(event);
  }
  return processes;
}

function compareProcess(kubelet: readonly ToldEvent[], ours: readonly ToldEvent[]): EventRow[] {
  const isFree = ({ reason }: ToldEvent) => IN_ANY_ORDER.has(reason);
  const rows = aligned(
    kubelet.filter((event) => !isFree(event)),
    ours.filter((event) => !isFree(event)),
  );
  const free = aligned(sorted(kubelet.filter(isFree)), sorted(ours.filter(isFree)));
  return [...rows, ...free].map(([theirs, own]) => ({
    kubelet: theirs,
    ours: own,
    why: theirs && own ? whyDiffers(theirs, own) : leftOut(theirs, kubelet),
  }));
}

function sorted(events: readonly ToldEvent[]): ToldEvent[] {
  return events.toSorted((a, b) => (wordsOf(a) < wordsOf(b) ? -1 : 1));
}

function leftOut(theirs: ToldEvent | null, process: readonly ToldEvent[]): string | null {
  return theirs && (LEFT_OUT.find(([isIt]) => isIt(theirs, process))?.[1] ?? null);
}

function whyDiffers(theirs: ToldEvent, own: ToldEvent): string | null {
  if (theirs.count !== own.count)
    return COUNTED.find(([reasons]) => reasons.includes(theirs.reason))?.[1] ?? null;
  return theirs.message === own.message ? "same" : "no kubelet is there to speak of";
}

/** Returns the parts of an event that have to be equal. */
function wordsOf({ about, type, reason, message }: ToldEvent): string {
  const words = message === STARTING[1] ? STARTING[0] : message;
  return `${about} ${type} ${reason}: ${words}`;
}

type Pair = [theirs: ToldEvent | null, own: ToldEvent | null];

/** Pairs equal events in the same order (the longest common subsequence). All other events stay alone. */
function aligned(theirs: readonly ToldEvent[], own: readonly ToldEvent[]): Pair[] {
  const isSame = (at: number, ownAt: number) => wordsOf(theirs[at]!) === wordsOf(own[ownAt]!);
  // common[at][ownAt] is the largest number of pairs from these two positions to the ends of both lists.
  const common = Array.from({ length: theirs.length + 1 }, () => own.map(() => 0).concat(0));
  for (let at = theirs.length - 1; at >= 0; at--)
    for (let ownAt = own.length - 1; ownAt >= 0; ownAt--)
      common[at]![ownAt] = isSame(at, ownAt)
        ? common[at + 1]![ownAt + 1]! + 1
        : Math.max(common[at + 1]![ownAt]!, common[at]![ownAt + 1]!);
  const pairs: Pair[] = [];
  for (let [at, ownAt] = [0, 0]; at < theirs.length || ownAt < own.length;) {
    const [one, ownOne] = [theirs[at] ?? null, own[ownAt] ?? null];
    if (one && ownOne && isSame(at, ownAt)) {
      pairs.push([one, ownOne]);
      at++;
      ownAt++;
    } else if (one && (!ownOne || common[at + 1]![ownAt]! >= common[at]![ownAt + 1]!)) {
      pairs.push([one, null]);
      at++;
    } else {
      pairs.push([null, ownOne]);
      ownAt++;
    }
  }
  return pairs;
}

/** Returns both lists as text in two columns, and the words of forbidden differences. */
export function eventsText(rows: readonly EventRow[]): string {
  const width = Math.max(...rows.map(({ kubelet }) => shown(kubelet).length), 0);
  return rows
    .map(({ kubelet, ours, why }) => {
      const sign = why === null ? "!" : why === "same" ? " " : "~";
      const line = `${sign} ${shown(kubelet).padEnd(width)}  ${shown(ours)}`;
      if (why === "same") return line.trimEnd();
      if (why !== null) return `${line}   (${why})`;
      const words = [kubelet, ours].flatMap((event) => (event ? [`    ${wordsOf(event)}`] : []));
      return [line.trimEnd(), ...new Set(words)].join("\n");
    })
    .map((line) => `${line}\n`)
    .join("");
}

function shown(event: ToldEvent | null): string {
  if (!event) return "-";
  return `${event.type} ${event.reason}${event.count > 1 ? ` ×${event.count}` : ""}`;
}
