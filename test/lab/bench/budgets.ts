// Lists every budget. docs/bench.md has the same table. Measures nothing.

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
  | "% of a core"
  | "% of Nodes";

/**
 * The yardsticks: a measured value and its yardstick are measured in turns, on the same computer in the same
 * minutes.
 */
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
    "the same measurement over HTTP, at the same time, with another workerd that runs the same Worker, or with another " +
    "shim with `--transport http`",
  "bare gateway":
    "`test/lab/bench/bare-gateway.ts` on the same workerd and apiserver: per heartbeat over a hibernatable WebSocket a Durable " +
    "Object checks one HMAC and PUTs one lease",
  kubelet: "a kubelet without pods, with the same containerd, if `KUBEBUILDER_ASSETS` has one",
  "no levels":
    "the same flood without `infra/rbac/flow-control.yaml`, so that the Worker's accounts share a level with " +
    "all other accounts",
  "other tree": "the same of another tree",
} as const;

export type Yardstick = keyof typeof YARDSTICKS;

export interface Budget {
  /** The benchmark's name on the command line. The start of several names, up to a `-`, selects all of them. */
  name: string;
  /** The measured quantity, then "per" and its unit, then a comma and the circumstances. */
  what: string;
  /** The unit of the measured values. */
  unit: Unit;
  /** The yardstick of a ratio. Absent: the budget limits the measured value itself. */
  against?: Yardstick;
  /** The limit of the measured value or, with a yardstick, of the ratio. null if there is no budget. */
  budget: number | null;
  /** true if the budget is a minimum, because larger values are better. */
  atLeast?: boolean;
}

const ANNOTATED = "4,000 annotated Nodes";
const KILLED = "after workerd was killed under 1,000 machines";

/**
 * Returns the budgets for one steady heartbeat: while its objects are warm, while they are cold, and while they are
 * warm with the Node on the watch's list.
 */
function heartbeat(name: string, what: string, unit: Unit, budgets: (number | null)[]) {
  return ["warm", "cold", "watched"].map((kind, index) => ({
    name: `heartbeat-${kind}-${name}`,
    what: `${what}, ${kind}`,
    unit,
    budget: budgets[index] ?? null,
  }));
}

/** Returns the budgets for one heartbeat over a socket that needs no report. */
function socketHeartbeat(rows: [name: string, what: string, unit: Unit, budget: number][]): Budget[] {
  return rows.map(([name, what, unit, budget]) => ({
    name: `socket-heartbeat-${name}`,
    what: `${what} per heartbeat over a socket`,
    unit,
    budget,
  }));
}

/**
 * Returns the budgets of costs, as docs/costs.md computes them: a heartbeat every 10 s, an apiserver that takes 50
 * ms, and public prices without a plan's included amounts. `most` is the maximum in dollars for 10,000 machines.
 */
function costs(key: string, way: string, most: number | null): Budget[] {
  const fleets = [1, 100, 10_000].map((machines): Budget => {
    const fleet = machines === 1 ? "1 machine" : `${machines.toLocaleString("en")} machines`;
    const what = `cost per machine and month, ${way}, a fleet of ${fleet}`;
    return { name: `cost-${key}-${machines}`, what, unit: "dollars", budget: machines > 100 ? most : null };
  });
  const traffic = `data to and from a machine per month, ${way}`;
  const low = `${traffic}, with \`examples/low-traffic.yaml\``;
  return [
    ...fleets,
    { name: `cost-${key}-traffic`, what: traffic, unit: "MB", budget: null },
    { name: `cost-${key}-low-traffic`, what: low, unit: "MB", budget: null },
    {
      name: `cost-${key}-question`,
      what: `cost per 1,000 questions \`disks\`, ${way}`,
      unit: "dollars",
      budget: null,
    },
  ];
}

/**
 * The budgets. A benchmark whose name starts with `shim-` is measured on each Node.js of the computer, as
 * `shim-24-cpu`.
 */
export const BUDGETS: readonly Budget[] = [
  {
    name: "decision-unchanged",
    what: "time per decision, unchanged Node with 50 images",
    unit: "µs",
    against: "node JSON",
    budget: 0.29,
  },
  {
    name: "decision-changed",
    what: "time per decision and its patch, changed condition",
    unit: "µs",
    against: "node JSON",
    budget: 0.8,
  },
  {
    name: "patch-creation",
    what: "time per patch without its decision, changed condition",
    unit: "µs",
    against: "node JSON",
    budget: 0.3,
  },
  {
    name: "quantity-parse",
    what: "time to parse 128 quantities",
    unit: "µs",
    against: "digits",
    budget: 0.7,
  },
  {
    name: "heartbeat-bytes",
    what: "size of a heartbeat on the wire, body and token",
    unit: "bytes",
    budget: 1024,
  },
  {
    name: "bundle-size",
    what: "size of the Worker's bundle that each isolate loads, gzip",
    unit: "bytes",
    budget: 224 * 1024,
  },
  {
    name: "page-first-load",
    what: "size of the page's files before its first display, gzip",
    unit: "KiB",
    budget: 60,
  },
  // The page's budgets are times that a user would notice, with room for a computer that has other work.
  {
    name: "page-interactive",
    what: "time until the page's form accepts a secret, processor slowed to a quarter",
    unit: "ms",
    budget: 1000,
  },
  {
    name: "page-20000-rows",
    what: "time until the page shows its first rows, 20,000 machines",
    unit: "ms",
    budget: 2500,
  },
  {
    name: "page-feed-message",
    what: "time of the page's work per message of 200 changes, 10,000 machines",
    unit: "ms",
    budget: 16,
  },
  {
    name: "page-scroll",
    what: "time of the page's work per frame of scrolling, 10,000 machines",
    unit: "ms",
    budget: 16,
  },
  {
    name: "page-memory",
    what: "memory of the page's objects and document, 10,000 machines",
    unit: "MiB",
    budget: 120,
  },
  {
    name: "apiserver-leases",
    what: "time per lease update, embedded apiserver with 2,000 Nodes",
    unit: "µs",
    against: "JSON server",
    budget: 2.1,
  },
  {
    name: "apiserver-status",
    what: "time per status patch, embedded apiserver with 2,000 Nodes",
    unit: "µs",
    against: "JSON server",
    budget: 2.2,
  },
  ...heartbeat("rows", "rows written per heartbeat", "rows", [0, 0, 0]),
  ...heartbeat("rows-read", "rows read per heartbeat", "rows", []),
  ...heartbeat("requests", "requests to the apiserver per heartbeat", "requests", [1, 2, 1]),
  ...heartbeat("trips", "round trips between machine and Worker per heartbeat", "trips", [1, 2, 1]),
  ...heartbeat(
    "minute-rows",
    "rows written per machine and minute, heartbeats and everything else",
    "rows",
    [0.2, 0.2, 0.02],
  ),
  ...heartbeat(
    "minute-requests",
    "requests to the apiserver per machine and minute, heartbeats and everything else",
    "requests",
    [6.7, null, 6.3],
  ),
  ...heartbeat("minute-bytes", "bytes to and from the apiserver per machine and minute", "bytes", []),
  ...heartbeat("cpu", "workerd's CPU time per heartbeat", "µs", []),
  ...socketHeartbeat([
    ["rows", "rows written", "rows", 0],
    ["requests", "requests to the apiserver", "requests", 1],
    ["messages", "messages in both directions", "messages", 2],
    ["wakes", "requests to the machine's object", "requests", 0],
    ["bytes", "bytes in both directions, without TLS, with frame headers,", "bytes", 320],
  ]),
  {
    name: "socket-heartbeat-minute-rows",
    what: "rows written per machine and minute, 100 machines on sockets of one gateway",
    unit: "rows",
    budget: 0.05,
  },
  {
    name: "socket-silence",
    what: "time until the fleet index shows all machines as silent, network of their sockets cut without a FIN",
    unit: "s",
    budget: 45,
  },
  {
    name: "question-beats-quiet",
    what: "99th percentile of a heartbeat's time over a socket, 100 machines of a gateway",
    unit: "ms",
    budget: null,
  },
  {
    name: "question-beats-p99",
    what: "the same while two other machines of the gateway answer bundles of 8 MiB",
    unit: "ms",
    budget: 1000,
  },
  {
    name: "question-beats-asked",
    what: "the same of the two machines that answer",
    unit: "ms",
    budget: 1000,
  },
  ...costs("http", "over HTTP", null),
  ...costs("socket", "over sockets", 0.016),
  {
    name: "cost-socket-bundle",
    what: "cost per 1,000 questions `bundle` with answers of 8 MiB, over sockets",
    unit: "dollars",
    budget: null,
  },
  {
    name: "watch-cpu",
    what: "workerd's CPU load by the watch of 1,000 unchanged Nodes",
    unit: "% of a core",
    budget: 2,
  },
  {
    name: "watch-bytes",
    what: "bytes of the watch per unchanged Node and minute",
    unit: "bytes",
    budget: null,
  },
  {
    name: "watch-annotated-unwatched",
    what: `share of Nodes that do not count as watched, ${ANNOTATED}`,
    unit: "% of Nodes",
    budget: 1,
  },
  {
    name: "watch-annotated-rows",
    what: `rows that the cluster object writes per Node and minute, ${ANNOTATED}`,
    unit: "rows",
    budget: 0,
  },
  {
    name: "watch-annotated-requests",
    what: `requests from the cluster object to other objects per Node and minute, ${ANNOTATED}`,
    unit: "requests",
    budget: 0,
  },
  // A scrape may take 200 ms. The budget limits its CPU time, because a computer with other work also slows the
  // scrape.
  {
    name: "metrics-cpu",
    what: "workerd's CPU time per scrape of the metrics, 10,000 machines",
    unit: "ms",
    budget: 200,
  },
  {
    name: "metrics-scrape",
    what: "time per scrape of the metrics, 10,000 machines",
    unit: "ms",
    budget: null,
  },
  {
    name: "metrics-bytes",
    what: "size of a scrape of the metrics, 10,000 machines",
    unit: "bytes",
    budget: 2_000_000,
  },
  {
    name: "heartbeat-rate",
    what: "heartbeats per second through workerd, over HTTP",
    unit: "/s",
    against: "bare Worker",
    budget: 0.6,
    atLeast: true,
  },
  {
    name: "heartbeat-cpu",
    what: "workerd's CPU time per heartbeat, over HTTP",
    unit: "µs",
    against: "bare Worker",
    budget: 1.5,
  },
  {
    name: "socket-heartbeat-rate",
    what: "heartbeats per second through workerd, over sockets",
    unit: "/s",
    against: "HTTP",
    budget: 2.2,
    atLeast: true,
  },
  {
    name: "socket-heartbeat-cpu",
    what: "workerd's CPU time per heartbeat, over a socket",
    unit: "µs",
    against: "HTTP",
    budget: 0.45,
  },
  {
    name: "socket-heartbeat-bare-cpu",
    what: "workerd's CPU time per heartbeat, over a socket, compared with the minimum",
    unit: "µs",
    against: "bare gateway",
    budget: 1.5,
  },
  {
    name: "socket-heartbeat-pace-cpu",
    what: "workerd's CPU time per heartbeat and all other work, 1,000 machines with a heartbeat every 9.6 s",
    unit: "µs",
    against: "HTTP",
    budget: 0.35,
  },
  {
    name: "enrolment-rate",
    what: "machines per second that enrol and become Ready",
    unit: "/s",
    against: "bare Worker",
    budget: 0.45,
    atLeast: true,
  },
  {
    name: "enrolment-cpu",
    what: "workerd's CPU time per machine, from its enrolment until Ready",
    unit: "ms",
    against: "bare Worker",
    budget: 3,
  },
  // A kubelet takes 0.86 s until Ready on a new machine and 0.43 s on a known one. The shim takes 0.5 s and 0.4 s. A
  // kubelet's lease comes 10 s later; the shim's lease already exists by then.
  {
    name: "start-new",
    what: "time from the shim's start until Ready and a lease, new machine",
    unit: "s",
    against: "kubelet",
    budget: 0.58,
  },
  {
    name: "start-known",
    what: "time from the shim's start until Ready and a lease, known machine",
    unit: "s",
    against: "kubelet",
    budget: 0.93,
  },
  {
    name: "shim-gathering",
    what: "CPU time of the shim per 100 gatherings of facts and vitals",
    unit: "ms",
    against: "file reads",
    budget: 20,
  },
  {
    name: "shim-gathering-processes",
    what: "processes that the shim starts per 100 gatherings",
    unit: "processes",
    budget: 0,
  },
  // A kubelet takes 0.43 s until its first status is written; the shim takes 0.3 s until its first report.
  {
    name: "shim-first-report",
    what: "time from the start of the shim until its first report, known machine",
    unit: "s",
    against: "kubelet",
    budget: 0.7,
  },
  {
    name: "shim-first-report-cpu",
    what: "CPU time of the shim until its first report",
    unit: "s",
    against: "kubelet",
    budget: null,
  },
  {
    name: "shim-resident",
    what: "resident memory of the shim",
    unit: "MiB",
    against: "kubelet",
    budget: 0.75,
  },
  {
    name: "shim-anonymous",
    what: "anonymous memory of the shim",
    unit: "MiB",
    against: "kubelet",
    budget: 1,
  },
  { name: "shim-growth", what: "growth of the anonymous memory of the shim", unit: "MiB", budget: 1 },
  {
    name: "shim-socket-anonymous",
    what: "additional anonymous memory of the shim with a socket, compared with `--transport http`",
    unit: "MiB",
    budget: 2,
  },
  {
    name: "shim-socket-cpu",
    what: "CPU load of the shim with a socket",
    unit: "% of a core",
    against: "HTTP",
    budget: 1,
  },
  {
    name: "shim-questions-anonymous",
    what: "additional anonymous memory of the shim with all questions on, while no operator asks",
    unit: "MiB",
    budget: 1,
  },
  {
    name: "shim-questions-cpu",
    what: "additional CPU load of the shim with all questions on, while no operator asks",
    unit: "% of a core",
    budget: 0.1,
  },
  {
    name: "shim-noise-anonymous",
    what: "difference in anonymous memory of the shim and an equal one",
    unit: "MiB",
    budget: null,
  },
  {
    name: "shim-noise-cpu",
    what: "difference in CPU load of the shim and an equal one",
    unit: "% of a core",
    budget: null,
  },
  { name: "shim-cpu", what: "CPU load of the shim", unit: "% of a core", against: "kubelet", budget: 0.2 },
  {
    name: "fleet-list",
    what: "workerd's CPU time per page of the list, slowest filter or order, 100,000 machines",
    unit: "ms",
    budget: 100,
  },
  {
    name: "fleet-export",
    what: "workerd's CPU time per CSV of the whole fleet, 100,000 machines",
    unit: "ms",
    budget: null,
  },
  {
    name: "fleet-transition",
    what: "workerd's CPU time per transition, 100,000 machines",
    unit: "ms",
    budget: 2,
  },
  {
    name: "fleet-transition-rows",
    what: "rows written per transition, with a new line of history and the oldest deleted, 100,000 machines",
    unit: "rows",
    budget: 8,
  },
  {
    name: "feed-snapshot",
    what: "workerd's CPU time per feed until its client has all machines, 100,000 machines",
    unit: "s",
    budget: 3,
  },
  // The feed's snapshot of 10,000 machines has 250 KiB.
  {
    name: "feed-snapshot-time",
    what: "time per feed until its client has all machines, 100,000 machines",
    unit: "s",
    budget: null,
  },
  {
    name: "feed-snapshot-size",
    what: "size of a feed's snapshot, gzip, 100,000 machines",
    unit: "MiB",
    budget: 2.5,
  },
  {
    name: "feed-changes",
    what: "size of a feed's message with 200 transitions, gzip",
    unit: "bytes",
    budget: 4096,
  },
  {
    name: "fleet-hour-rows",
    what: "rows written into the fleet index per hour without transitions, 100 machines",
    unit: "rows",
    budget: 0,
  },
  {
    name: "fleet-hour-requests",
    what: "requests to the fleet index per hour without transitions, 100 machines",
    unit: "requests",
    budget: 0,
  },
  {
    name: "fleet-enrol",
    what: "time until all machines are Ready, 1,000 enrolments at once",
    unit: "s",
    budget: null,
  },
  // The machines' own report intervals take most of this time, not the Worker's work.
  {
    name: "fleet-restart-renewed",
    what: `time until every lease is renewed, ${KILLED}`,
    unit: "s",
    budget: 10,
  },
  {
    name: "fleet-restart-lost",
    what: `Nodes that are not Ready at some time in 8 minutes, ${KILLED}`,
    unit: "Nodes",
    budget: 0,
  },
  {
    name: "fleet-restart-spread",
    what: `status writes per 10 s, highest divided by mean, ${KILLED}`,
    unit: "ratio",
    budget: 3,
  },
];

/** Returns the budget of this name. Throws if the name is unknown. */
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

/** Returns the major version, such as `24` for `v24.21.0`. */
export function majorOf(version: string): string {
  return /\d+/.exec(version)?.[0] ?? version;
}
