// Defines every metric of GET /metrics with its type, meaning and labels, from which a table of docs/metrics.md is
// generated. Also writes the text format, and measures requests to the apiserver.

type MetricType = "gauge" | "counter" | "histogram" | "info";

/** The labels of the metrics about one machine's use, which its usage frames report. */
const MACHINE = ["machine"] as const;

/** All metrics, in the order of the answer. A histogram has the label `le` in addition. */
export const METRICS = {
  rollcall_build_info: [
    "info",
    "1, with the Worker's version and its deployment as labels.",
    ["version", "deployment"],
  ],
  rollcall_source_up: [
    "gauge",
    "1: the source of metrics (the index, the registry, the cluster object, or all gateways) answered within five seconds.",
    ["source"],
  ],
  rollcall_machines: [
    "gauge",
    "The number of machines in each state. Machines with the state pending wait for an approval; a machine in maintenance has only the state maintenance.",
    ["state"],
  ],
  rollcall_machine_state: [
    "gauge",
    "1 for the machine's present state; maintenance during maintenance.",
    ["machine", "state"],
  ],
  rollcall_machine_state_since_timestamp_seconds: [
    "gauge",
    "The time when the machine's present state began; absent during maintenance.",
    ["machine"],
  ],
  node_cpu_usage_seconds_total: ["counter", "The CPU time of all CPUs of the machine together.", MACHINE],
  rollcall_machine_cpus: ["gauge", "The number of the machine's CPUs.", MACHINE],
  node_load1: ["gauge", "The machine's load average of a minute.", MACHINE],
  node_load5: ["gauge", "The machine's load average of five minutes.", MACHINE],
  node_load15: ["gauge", "The machine's load average of fifteen minutes.", MACHINE],
  node_memory_working_set_bytes: ["gauge", "The memory in use, without the inactive page cache.", MACHINE],
  rollcall_machine_memory_capacity_bytes: ["gauge", "The machine's memory, without huge pages.", MACHINE],
  rollcall_machine_disk_read_bytes_total: ["counter", "The bytes read from all disks.", MACHINE],
  rollcall_machine_disk_written_bytes_total: ["counter", "The bytes written to all disks.", MACHINE],
  rollcall_machine_network_receive_bytes_total: ["counter", "The bytes received by all devices.", MACHINE],
  rollcall_machine_network_transmit_bytes_total: ["counter", "The bytes sent by all devices.", MACHINE],
  node_pressure_cpu_waiting_seconds_total: ["counter", "The time in which a task waited for a CPU.", MACHINE],
  node_pressure_memory_waiting_seconds_total: [
    "counter",
    "The time in which a task waited for memory.",
    MACHINE,
  ],
  node_pressure_memory_stalled_seconds_total: [
    "counter",
    "The time in which all tasks waited for memory.",
    MACHINE,
  ],
  node_pressure_io_waiting_seconds_total: ["counter", "The time in which a task waited for a disk.", MACHINE],
  node_pressure_io_stalled_seconds_total: [
    "counter",
    "The time in which all tasks waited for a disk.",
    MACHINE,
  ],
  rollcall_machine_temperature_celsius: ["gauge", "The temperature of the hottest sensor.", MACHINE],
  rollcall_machine_usage_timestamp_seconds: ["gauge", "The time of the machine's last usage frame.", MACHINE],
  rollcall_outage_machines: [
    "gauge",
    "The number of silent machines in the open outages of a network.",
    ["network"],
  ],
  rollcall_clock_skew_seconds: [
    "gauge",
    "The lead of the machine's clock, negative if the clock is behind. Absent below one minute.",
    ["machine"],
  ],
  rollcall_condition_transitions_total: [
    "counter",
    "The number of changes of Nodes' conditions to this status.",
    ["condition", "status"],
  ],
  rollcall_rule_matches: [
    "gauge",
    "The number of machines that the feature rule (object/rule) matches. Absent if it matches none.",
    ["rule"],
  ],
  rollcall_notifications: [
    "gauge",
    "The number of deliveries to the receiver that wait (waiting) or have failed and are stored (dead).",
    ["receiver", "state"],
  ],
  rollcall_receiver_failing: ["gauge", "1: the last attempt to send to the receiver failed.", ["receiver"]],
  rollcall_index_changes_total: [
    "counter",
    "The number of changes of machines that the fleet index received.",
    [],
  ],
  rollcall_rollout_stopped: ["gauge", "1: the rollout of this version has stopped.", ["version"]],
  rollcall_rollout_machines: [
    "gauge",
    "The number of machines that got the version: underway, upgraded, silent, or accepted (silent when an operator continued).",
    ["version", "standing"],
  ],
  rollcall_limit_reached: [
    "gauge",
    "1: a limit that machines share was reached in the last 10 minutes, by machines of this join token, or by all.",
    ["limit", "subject"],
  ],
  rollcall_refusals_total: [
    "counter",
    "The number of refused enrolments, by the cause in the log of refusals.",
    ["reason"],
  ],
  rollcall_cluster_reachable: [
    "gauge",
    "1: the apiserver answers the cluster object, accepts its token, and lets it read Nodes.",
    [],
  ],
  rollcall_cluster_token_expiry_timestamp_seconds: [
    "gauge",
    "The time when the present token for the apiserver expires. Absent if it does not expire.",
    [],
  ],
  rollcall_cluster_token_renewal_failed: [
    "gauge",
    "1: the last renewal of the token failed. Absent if the Worker does not renew it.",
    [],
  ],
  rollcall_watch_state: [
    "gauge",
    "1 for the present state of the watch of Nodes: live, down, paused (no Node) or starting.",
    ["state"],
  ],
  rollcall_watch_nodes: ["gauge", "The number of watched Nodes.", []],
  rollcall_watch_waiting_changes: [
    "gauge",
    "The number of changes by other writers that have not reached the machines' objects yet.",
    [],
  ],
  rollcall_apiserver_request_duration_seconds: [
    "histogram",
    "The time until the apiserver began to answer a request of the cluster object. The code none means no answer.",
    ["verb", "code"],
  ],
  rollcall_gateway_machines: ["gauge", "The number of machines with a socket at the gateway.", ["gateway"]],
  rollcall_gateway_suspended: [
    "gauge",
    "1: the gateway renews no lease, because the apiserver fails.",
    ["gateway"],
  ],
  rollcall_gateway_waiting_renewals: [
    "gauge",
    "The number of lease renewals that wait until the gateway may send another request.",
    ["gateway"],
  ],
  rollcall_gateway_longest_wait_seconds: [
    "gauge",
    "The time for which the first of the waiting renewals has waited.",
    ["gateway"],
  ],
  rollcall_gateway_heartbeats_total: [
    "counter",
    "The number of heartbeats that the gateway received.",
    ["gateway"],
  ],
  rollcall_gateway_quiet_heartbeats_total: [
    "counter",
    "The number of quiet heartbeats, which wake no machine's object.",
    ["gateway"],
  ],
  rollcall_gateway_again_total: [
    "counter",
    "The number of heartbeats with the answer again, by its reason.",
    ["gateway", "reason"],
  ],
  rollcall_gateway_renewals_total: [
    "counter",
    "The number of the gateway's requests to renew a lease: renewed, lost (another writer changed or deleted the lease), failed, or late (not sent, after a wait of four seconds).",
    ["gateway", "outcome"],
  ],
  rollcall_gateway_closed_sockets_total: [
    "counter",
    "The number of sockets that the gateway closed, by the reason.",
    ["gateway", "reason"],
  ],
  rollcall_gateway_usage_samples_total: [
    "counter",
    "The number of samples of usage for USAGE_OTLP_URL: sent, refused by the receiver, dropped while it failed, or expired on a machine without a socket.",
    ["gateway", "outcome"],
  ],
  rollcall_gateway_request_duration_seconds: [
    "histogram",
    "The time until the apiserver began to answer a request of the gateway. The code none means no answer.",
    ["gateway", "verb", "code"],
  ],
} as const satisfies Record<string, readonly [MetricType, string, readonly string[]]>;
export type MetricName = keyof typeof METRICS;

/** A histogram, not cumulative: a count per bucket of DURATION_BUCKETS, and one for longer durations. */
interface Distribution {
  counts: number[];
  sum: number;
}

export interface Sample {
  labels: Record<string, string>;
  value: number | Distribution;
  /** When a counter or a histogram began to count, in milliseconds since 1970. */
  sinceMs?: number;
}

/** The metrics of one source. A metric with very many samples is already text. */
export type Measured = { [name in MetricName]?: Sample[] | string };

/** The upper bounds of the buckets, in seconds. The last bound is the longest deadline of a request. */
export const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20] as const;

export const CONTENT_TYPES = {
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  plain: "text/plain; version=0.0.4; charset=utf-8",
} as const;
type Format = keyof typeof CONTENT_TYPES;

/** Returns the format for a header Accept: `plain` if the client accepts only plain text. */
export function formatFor(accept = ""): Format {
  return /\btext\/(plain|\*)/.test(accept) && !accept.includes("openmetrics") ? "plain" : "openMetrics";
}

/** Returns the text of GET /metrics: OpenMetrics 1.0, or Prometheus's format 0.0.4. */
export function exposition(sources: readonly Measured[], format: Format): string {
  const isOpen = format === "openMetrics";
  const parts = Object.entries(METRICS).flatMap(([name, [type, help]]) => {
    const found = sources.flatMap((source) => {
      const samples = source[name as MetricName];
      return samples === undefined ? [] : [samples];
    });
    if (found.length === 0) return [];
    const family = isOpen ? name.replace(SUFFIXES, "") : name;
    const shownType = isOpen || type !== "info" ? type : "gauge";
    const lines = found.flatMap((samples) =>
      typeof samples === "string" ? samples : samples.map((each) => linesOf(name, family, each, isOpen)),
    );
    return [`# TYPE ${family} ${shownType}\n# HELP ${family} ${help}\n`, ...lines];
  });
  return `${parts.join("")}${isOpen ? "# EOF\n" : ""}`;
}

/** Matches the suffixes that OpenMetrics has in the names of samples, but not in the names of families. */
const SUFFIXES = /_(total|info)$/;

function linesOf(name: string, family: string, { labels, value, sinceMs }: Sample, isOpen: boolean): string {
  const created = isOpen && sinceMs !== undefined ? line(`${family}_created`, labels, sinceMs / 1000) : "";
  const lines = typeof value === "number" ? line(name, labels, value) : bucketLines(name, labels, value);
  return lines + created;
}

function bucketLines(name: string, labels: Sample["labels"], { counts, sum }: Distribution): string {
  let total = 0;
  const lines = counts.map((count, index) => {
    total += count;
    const bound = DURATION_BUCKETS[index];
    const le = bound === undefined ? "+Inf" : Number.isInteger(bound) ? `${bound}.0` : String(bound);
    return line(`${name}_bucket`, { ...labels, le }, total);
  });
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)].join("");
}

function line(name: string, labels: Sample["labels"], value: number): string {
  const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}\n`;
}

const escaped = (text: string) =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** The type of KubeConnection's fetch. */
type Ask = (url: string, init: RequestInit) => Promise<Response>;

interface Taken {
  counts: number[];
  sum: number;
  sinceMs: number;
}

/** Measures in memory the durations of requests to the apiserver, by verb and code. The durations are not stored. */
export class Durations {
  readonly #nowMs: () => number;
  /** The durations by verb and code. */
  readonly #taken = new Map<string, Taken>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns a fetch that measures each request of `ask`. */
  timed(ask: Ask): Ask {
    return async (url, init) => {
      const startedMs = this.#nowMs();
      const note = (code: string) => {
        this.note(verbOf(url, init), code, startedMs);
      };
      try {
        const response = await ask(url, init);
        note(String(response.status));
        return response;
      } catch (error) {
        note("none");
        throw error;
      }
    };
  }

  samples(): Sample[] {
    return [...this.#taken].map(([key, { counts, sum, sinceMs }]) => {
      const [verb = "", code = ""] = key.split(" ");
      return { labels: { verb, code }, value: { counts: [...counts], sum }, sinceMs };
    });
  }

  /** Counts a request that began at `startedMs`. `code`: `none` if the request has no answer. */
  note(verb: string, code: string, startedMs: number): void {
    const nowMs = this.#nowMs();
    const key = `${verb} ${code}`;
    const taken = this.#taken.get(key) ?? this.#begin(key, nowMs);
    // If the clock was put back during the request, the duration would be negative.
    const seconds = Math.max(0, nowMs - startedMs) / 1000;
    const index = DURATION_BUCKETS.findIndex((bound) => seconds <= bound);
    const at = index === -1 ? DURATION_BUCKETS.length : index;
    taken.counts[at] = (taken.counts[at] ?? 0) + 1;
    taken.sum += seconds;
  }

  #begin(key: string, sinceMs: number): Taken {
    const taken = { counts: [...DURATION_BUCKETS, 0].map(() => 0), sum: 0, sinceMs };
    this.#taken.set(key, taken);
    return taken;
  }
}

/** Returns the verb of a request: `WATCH` for a watch, whose HTTP method is GET, otherwise the method. */
function verbOf(url: string, { method = "GET" }: RequestInit): string {
  return new URL(url).searchParams.has("watch") ? "WATCH" : method;
}
