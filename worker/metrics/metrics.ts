// Defines every metric of GET /metrics with its type, meaning and labels, from which a table of docs/metrics.md is
// generated. Also writes the text format, and measures requests to the apiserver.

type MetricType = "gauge" | "counter" | "histogram" | "info";

/** All metrics, in the order of the answer. A histogram has the label `le` in addition. */
export const METRICS = {
  rollcall_build_info: ["info", "The Worker's version, and its deployment.", ["version", "deployment"]],
  rollcall_source_up: [
    "gauge",
    "Whether the object that these metrics come from answered in time.",
    ["source"],
  ],
  rollcall_machines: ["gauge", "Machines by state.", ["state"]],
  rollcall_machine_state: ["gauge", "The state of each machine.", ["machine", "state"]],
  rollcall_machine_state_since_timestamp_seconds: [
    "gauge",
    "When the state of the machine began.",
    ["machine"],
  ],
  rollcall_outage_machines: ["gauge", "Silent machines of outages that last.", ["network"]],
  rollcall_clock_skew_seconds: [
    "gauge",
    "How far the clock of a machine is ahead, if by more than a minute.",
    ["machine"],
  ],
  rollcall_condition_transitions_total: [
    "counter",
    "Transitions of conditions to this status.",
    ["condition", "status"],
  ],
  rollcall_notifications: [
    "gauge",
    "Messages that wait for a receiver, and that were given up.",
    ["receiver", "state"],
  ],
  rollcall_receiver_failing: ["gauge", "Whether messages do not arrive at a receiver.", ["receiver"]],
  rollcall_index_changes_total: ["counter", "Changes that machines told the fleet index.", []],
  rollcall_rollout_stopped: ["gauge", "Whether the rollout of this version has stopped.", ["version"]],
  rollcall_rollout_machines: [
    "gauge",
    "Machines that the rollout has given the version, by what became of them.",
    ["version", "standing"],
  ],
  rollcall_refusals_total: ["counter", "Enrolments that were refused.", ["reason"]],
  rollcall_cluster_reachable: ["gauge", "Whether the apiserver answers, and accepts the token.", []],
  rollcall_cluster_token_expiry_timestamp_seconds: ["gauge", "When the token for the apiserver ends.", []],
  rollcall_cluster_token_renewal_failed: ["gauge", "Whether the last renewal of the token failed.", []],
  rollcall_watch_state: ["gauge", "The state of the watch of Nodes.", ["state"]],
  rollcall_watch_nodes: ["gauge", "Nodes that are watched.", []],
  rollcall_watch_waiting_changes: [
    "gauge",
    "Changes of Nodes that their machines' objects do not know yet.",
    [],
  ],
  rollcall_apiserver_request_duration_seconds: [
    "histogram",
    "What the cluster object asked of the apiserver, until the answer began.",
    ["verb", "code"],
  ],
  rollcall_gateway_machines: ["gauge", "Machines with a socket at the gateway.", ["gateway"]],
  rollcall_gateway_suspended: [
    "gauge",
    "Whether the gateway renews no lease, since the apiserver fails.",
    ["gateway"],
  ],
  rollcall_gateway_heartbeats_total: ["counter", "Heartbeats that came by sockets.", ["gateway"]],
  rollcall_gateway_quiet_heartbeats_total: [
    "counter",
    "Those of them that no object had to see.",
    ["gateway"],
  ],
  rollcall_gateway_again_total: [
    "counter",
    "Heartbeats in whose place a report was asked for.",
    ["gateway", "reason"],
  ],
  rollcall_gateway_renewals_total: [
    "counter",
    "Renewals of leases that the gateway tried.",
    ["gateway", "outcome"],
  ],
  rollcall_gateway_closed_sockets_total: [
    "counter",
    "Sockets that the gateway closed.",
    ["gateway", "reason"],
  ],
  rollcall_gateway_request_duration_seconds: [
    "histogram",
    "What the gateway asked of the apiserver, until the answer began.",
    ["gateway", "verb", "code"],
  ],
} as const satisfies Record<string, readonly [MetricType, string, readonly string[]]>;
export type MetricName = keyof typeof METRICS;

/**
 * A histogram: a count for each bucket of DURATION_BUCKETS, and one for longer durations. The counts are not
 * cumulative.
 */
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

/**
 * Measures the durations of requests to the apiserver, by verb and code, while this object is in memory. The
 * durations are not stored.
 */
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
    // After a clock was put back, a duration would be negative.
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
