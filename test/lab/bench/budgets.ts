// Every budget, in one place. docs/bench.md has the same table. Measures nothing.

export type Unit =
  | "µs"
  | "ms"
  | "s"
  | "bytes"
  | "KiB"
  | "MiB"
  | "MB"
  | "dollars"
  | "ratio"
  | "rows"
  | "requests"
  | "messages"
  | "trips"
  | "Nodes"
  | "processes"
  | "/s"
  | "% of a core";

/** What each value is compared with, in turns, on the same computer in the same minutes. */
export const YARDSTICKS = {
  "node JSON": "`JSON.parse(JSON.stringify(node))` of the same Node",
  digits: "`Number()` of the digits of the same texts, found by a RegExp",
  "file reads": "100 asynchronous reads of `/proc/meminfo`",
  "JSON server":
    "a bare `node:http` server on loopback that answers with the same object after a JSON round trip",
  "bare Worker":
    "`test/lab/bench/bare-worker.ts` on the same workerd and apiserver: per heartbeat it verifies one JWT and PUTs one " +
    "lease, per enrolment it verifies one JWT, stores one row and POSTs Node and lease",
  HTTP:
    "the same over HTTP, in the same minutes: another workerd with the same Worker, or another shim with " +
    "`--transport http`",
  "bare gateway":
    "`test/lab/bench/bare-gateway.ts` on the same workerd and apiserver: per heartbeat over a hibernatable WebSocket a Durable " +
    "Object checks one HMAC and PUTs one lease",
  kubelet: "a kubelet without pods, with the same containerd, if `KUBEBUILDER_ASSETS` has one",
  "no levels":
    "the same flood without `infra/rbac/flow-control.yaml`: the accounts share the level of all accounts",
  "other tree": "the same of another tree",
} as const;

export type Yardstick = keyof typeof YARDSTICKS;

export interface Budget {
  /** Its name on the command line; the start of several names, up to a `-`, selects all of them. */
  name: string;
  what: string;
  /** Unit of the figures. */
  unit: Unit;
  /** The yardstick of a ratio; absent: the budget limits the figure itself. */
  against?: Yardstick;
  /** null: no budget. */
  budget: number | null;
  /** Larger is better: the budget is a minimum. */
  atLeast?: boolean;
}

const KILLED = "workerd killed under 1,000 machines";

/** Budgets for one steady heartbeat: while warm, while cold, and while warm with the Node on the watch's list. */
function heartbeat(name: string, what: string, unit: Unit, budgets: (number | null)[]) {
  return ["warm", "cold", "watched"].map((kind, index) => ({
    name: `heartbeat-${kind}-${name}`,
    what: `${kind} heartbeat: ${what}`,
    unit,
    budget: budgets[index] ?? null,
  }));
}

/** Budgets for one heartbeat that needs no report. */
function socketHeartbeat(rows: [name: string, what: string, unit: Unit, budget: number][]): Budget[] {
  return rows.map(([name, what, unit, budget]) => ({
    name: `socket-heartbeat-${name}`,
    what: `heartbeat over a socket: ${what}`,
    unit,
    budget,
  }));
}

/**
 * Costs with a heartbeat every 10 s, an apiserver that takes 50 ms, and public prices without a plan's included
 * amounts: docs/costs.md. `most`: the most dollars, for 10,000 machines.
 */
function costs(key: string, way: string, most: number | null): Budget[] {
  const fleets = [1, 100, 10_000].map((machines): Budget => {
    const what = `${way}, a fleet of ${machines.toLocaleString("en")}: each machine a month`;
    return { name: `cost-${key}-${machines}`, what, unit: "dollars", budget: machines > 100 ? most : null };
  });
  const traffic = `${way}: to and from a machine in a month`;
  const low = `${traffic}, with \`examples/low-traffic.yaml\``;
  return [
    ...fleets,
    { name: `cost-${key}-traffic`, what: traffic, unit: "MB", budget: null },
    { name: `cost-${key}-low-traffic`, what: low, unit: "MB", budget: null },
  ];
}

/** Names that start with `shim-` are measured on each Node.js of the computer: `shim-24-cpu`. */
export const BUDGETS: readonly Budget[] = [
  {
    name: "decision-unchanged",
    what: "decision, unchanged node with 50 images",
    unit: "µs",
    against: "node JSON",
    budget: 0.29,
  },
  {
    name: "decision-changed",
    what: "decision and patch, changed condition",
    unit: "µs",
    against: "node JSON",
    budget: 0.8,
  },
  {
    name: "patch-creation",
    what: "only the patch, changed condition",
    unit: "µs",
    against: "node JSON",
    budget: 0.3,
  },
  { name: "quantity-parse", what: "reading 128 quantities", unit: "µs", against: "digits", budget: 0.7 },
  { name: "heartbeat-bytes", what: "heartbeat on the wire, body and token", unit: "bytes", budget: 1024 },
  { name: "bundle-size", what: "Worker bundle, gzip", unit: "bytes", budget: 188 * 1024 },
  {
    name: "page-first-load",
    what: "the page: bytes before its first display, gzip",
    unit: "KiB",
    budget: 60,
  },
  // The page's budgets are what its users notice, with room for a computer that has other work.
  {
    name: "page-interactive",
    what: "the page on a processor a quarter as fast, until its form accepts a secret",
    unit: "ms",
    budget: 1000,
  },
  {
    name: "page-10000-rows",
    what: "the page with 10,000 machines, until its first rows",
    unit: "ms",
    budget: 2500,
  },
  {
    name: "page-feed-message",
    what: "the page with 10,000 machines: its work for 200 changes",
    unit: "ms",
    budget: 16,
  },
  {
    name: "page-scroll",
    what: "the page with 10,000 machines: its work for a frame of scrolling",
    unit: "ms",
    budget: 16,
  },
  {
    name: "page-memory",
    what: "the page with 10,000 machines: its objects and its document in memory",
    unit: "MiB",
    budget: 120,
  },
  {
    name: "apiserver-leases",
    what: "embedded apiserver with 2,000 nodes: lease update",
    unit: "µs",
    against: "JSON server",
    budget: 2.1,
  },
  {
    name: "apiserver-status",
    what: "embedded apiserver with 2,000 nodes: status patch",
    unit: "µs",
    against: "JSON server",
    budget: 2.2,
  },
  ...heartbeat("rows", "rows written", "rows", [0, 0, 0]),
  ...heartbeat("rows-read", "rows read", "rows", []),
  ...heartbeat("requests", "apiserver requests", "requests", [1, 2, 1]),
  ...heartbeat("trips", "round trips", "trips", [1, 2, 1]),
  ...heartbeat("minute-rows", "rows written in all, a minute", "rows", [0.2, 0.2, 0.02]),
  ...heartbeat("minute-requests", "apiserver requests in all, a minute", "requests", [6.7, null, 6.3]),
  ...heartbeat("minute-bytes", "bytes to and from the apiserver, a minute", "bytes", []),
  ...heartbeat("cpu", "workerd's CPU", "µs", []),
  ...socketHeartbeat([
    ["rows", "rows written", "rows", 0],
    ["requests", "apiserver requests", "requests", 1],
    ["messages", "messages, both ways", "messages", 2],
    ["wakes", "requests to the machine's object", "requests", 0],
    ["bytes", "bytes on a plain connection, both ways, frames included", "bytes", 320],
  ]),
  {
    name: "socket-heartbeat-minute-rows",
    what: "machine on a socket, of 100 on a gateway: rows written in all, a minute",
    unit: "rows",
    budget: 0.05,
  },
  {
    name: "socket-silence",
    what: "machines on sockets whose network is cut, without a FIN: until the fleet index shows the last one as silent",
    unit: "s",
    budget: 45,
  },
  ...costs("http", "HTTP", null),
  ...costs("socket", "sockets", 0.016),
  {
    name: "watch-cpu",
    what: "watching 1,000 steady Nodes: workerd's CPU",
    unit: "% of a core",
    budget: 2,
  },
  {
    name: "watch-bytes",
    what: "watching steady Nodes: bytes of each in a minute",
    unit: "bytes",
    budget: null,
  },
  // A scrape may take 200 ms. On a computer with other work only the CPU time can be judged.
  { name: "metrics-cpu", what: "a scrape of 10,000 machines: workerd's CPU", unit: "ms", budget: 200 },
  { name: "metrics-scrape", what: "a scrape of 10,000 machines", unit: "ms", budget: null },
  { name: "metrics-bytes", what: "a scrape of 10,000 machines, in size", unit: "bytes", budget: 2_000_000 },
  {
    name: "heartbeat-rate",
    what: "heartbeats through workerd",
    unit: "/s",
    against: "bare Worker",
    budget: 0.6,
    atLeast: true,
  },
  {
    name: "heartbeat-cpu",
    what: "workerd's CPU per heartbeat",
    unit: "µs",
    against: "bare Worker",
    budget: 1.5,
  },
  {
    name: "socket-heartbeat-rate",
    what: "heartbeats over sockets through workerd",
    unit: "/s",
    against: "HTTP",
    budget: 2.2,
    atLeast: true,
  },
  {
    name: "socket-heartbeat-cpu",
    what: "workerd's CPU per heartbeat over a socket",
    unit: "µs",
    against: "HTTP",
    budget: 0.45,
  },
  {
    name: "socket-heartbeat-bare-cpu",
    what: "workerd's CPU per heartbeat over a socket, compared with the minimum",
    unit: "µs",
    against: "bare gateway",
    budget: 1.5,
  },
  {
    name: "socket-heartbeat-pace-cpu",
    what: "1,000 machines, a heartbeat each 9.6 s: workerd's CPU for one, with everything else",
    unit: "µs",
    against: "HTTP",
    budget: 0.35,
  },
  {
    name: "enrolment-rate",
    what: "machines enrolled and Ready",
    unit: "/s",
    against: "bare Worker",
    budget: 0.45,
    atLeast: true,
  },
  {
    name: "enrolment-cpu",
    what: "workerd's CPU per machine until Ready",
    unit: "ms",
    against: "bare Worker",
    budget: 3,
  },
  // A kubelet takes 0.86 s and 0.43 s; these are 0.5 s and 0.4 s. A kubelet's lease comes 10 s later; ours is already
  // there.
  {
    name: "start-new",
    what: "shim start → Ready and lease, new machine",
    unit: "s",
    against: "kubelet",
    budget: 0.58,
  },
  {
    name: "start-known",
    what: "shim start → Ready and lease, known machine",
    unit: "s",
    against: "kubelet",
    budget: 0.93,
  },
  {
    name: "shim-gathering",
    what: "100 gatherings of facts and vitals, CPU",
    unit: "ms",
    against: "file reads",
    budget: 20,
  },
  {
    name: "shim-gathering-processes",
    what: "processes started for 100 gatherings",
    unit: "processes",
    budget: 0,
  },
  // A kubelet takes 0.43 s until it has written its status; this is 0.3 s.
  {
    name: "shim-first-report",
    what: "shim: start → first report, known machine",
    unit: "s",
    against: "kubelet",
    budget: 0.7,
  },
  {
    name: "shim-first-report-cpu",
    what: "shim: CPU until its first report",
    unit: "s",
    against: "kubelet",
    budget: null,
  },
  { name: "shim-resident", what: "shim: resident memory", unit: "MiB", against: "kubelet", budget: 0.75 },
  { name: "shim-anonymous", what: "shim: anonymous memory", unit: "MiB", against: "kubelet", budget: 1 },
  { name: "shim-growth", what: "shim: growth of anonymous memory", unit: "MiB", budget: 1 },
  {
    name: "shim-socket-anonymous",
    what: "shim: anonymous memory with a socket, more than with `--transport http`",
    unit: "MiB",
    budget: 2,
  },
  {
    name: "shim-socket-cpu",
    what: "shim: CPU with a socket",
    unit: "% of a core",
    against: "HTTP",
    budget: 1,
  },
  { name: "shim-cpu", what: "shim: CPU", unit: "% of a core", against: "kubelet", budget: 0.2 },
  {
    name: "fleet-list",
    what: "100,000 machines: a page of the list, by the slowest filter or order: workerd's CPU",
    unit: "ms",
    budget: 100,
  },
  {
    name: "fleet-export",
    what: "100,000 machines: all of them as CSV: workerd's CPU",
    unit: "ms",
    budget: null,
  },
  { name: "fleet-transition", what: "100,000 machines: a transition: workerd's CPU", unit: "ms", budget: 2 },
  {
    name: "fleet-transition-rows",
    what: "100,000 machines: rows written for a transition, with a new line of history and the oldest deleted",
    unit: "rows",
    budget: 8,
  },
  {
    name: "feed-snapshot",
    what: "100,000 machines: a feed, until its client has all of them: workerd's CPU",
    unit: "s",
    budget: 3,
  },
  // 250 KiB for 10,000.
  {
    name: "feed-snapshot-time",
    what: "100,000 machines: a feed, until its client has all of them",
    unit: "s",
    budget: null,
  },
  { name: "feed-snapshot-size", what: "100,000 machines: a feed's snapshot, gzip", unit: "MiB", budget: 2.5 },
  { name: "feed-changes", what: "200 transitions over a feed, gzip", unit: "bytes", budget: 4096 },
  {
    name: "fleet-hour-rows",
    what: "a steady hour of 100 machines: rows written into the fleet index",
    unit: "rows",
    budget: 0,
  },
  {
    name: "fleet-hour-requests",
    what: "a steady hour of 100 machines: requests to the fleet index",
    unit: "requests",
    budget: 0,
  },
  {
    name: "fleet-enrol",
    what: "1,000 machines at once, until all are Ready",
    unit: "s",
    budget: null,
  },
  // The machines' own intervals take most of this time, not the work.
  { name: "fleet-restart-renewed", what: `${KILLED}: every lease renewed after`, unit: "s", budget: 10 },
  {
    name: "fleet-restart-lost",
    what: `${KILLED}: not Ready in the 8 minutes after`,
    unit: "Nodes",
    budget: 0,
  },
  {
    name: "fleet-restart-spread",
    what: `${KILLED}: status writes, peak over mean of 10 s`,
    unit: "ratio",
    budget: 3,
  },
];

/** Throws for an unknown name. */
export function budgetOf(name: string): Budget {
  const found = BUDGETS.find((budget) => budget.name === name);
  if (!found) throw new Error(`there is no budget ${name}`);
  return found;
}

/** Returns the shim's budget on this major version of Node.js. */
export function shimBudgetOf(name: string, major: string): Budget {
  const { name: general, what, ...budget } = budgetOf(name);
  const [shim, on] = [`shim-${major}`, `shim on Node.js ${major}`];
  return { ...budget, name: general.replace("shim", shim), what: what.replace("shim", on) };
}

/** Returns `24` for `v24.21.0`. */
export function majorOf(version: string): string {
  return /\d+/.exec(version)?.[0] ?? version;
}
