// Every metric of GET /metrics, once: name, type, meaning, labels. A table of docs/metrics.md is made from it. Types and a
// table alone.

type MetricType = "gauge" | "counter" | "histogram" | "info";

/** In the order of the answer. A histogram has the label `le` as well. */
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

/** Of a histogram, by the buckets of DURATION_BUCKETS and one more, not cumulated. */
interface Distribution {
  counts: number[];
  sum: number;
}

export interface Sample {
  labels: Record<string, string>;
  value: number | Distribution;
  /** Milliseconds since 1970: of a counter or a histogram, since when it counts. */
  sinceMs?: number;
}

/** What one source says. Lines of samples that are very many come as they are answered. */
export type Measured = { [name in MetricName]?: Sample[] | string };

/** Upper bounds in seconds: from an apiserver nearby to the deadlines of what is asked. */
export const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20] as const;

// Metrics as text: OpenMetrics 1.0, or Prometheus' own format 0.0.4. Asks nobody: what was measured is an argument.

export const CONTENT_TYPES = {
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  plain: "text/plain; version=0.0.4; charset=utf-8",
} as const;
type Format = keyof typeof CONTENT_TYPES;

/** OpenMetrics, unless whoever asks takes plain text alone. */
export function formatFor(accept = ""): Format {
  return /\btext\/(plain|\*)/.test(accept) && !accept.includes("openmetrics") ? "plain" : "openMetrics";
}

/** A metric that is absent from all of them has no line. */
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

/** What OpenMetrics has in the names of samples, and not in that of their family. */
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

// How long requests to the apiserver took, by verb and code, since this object is in memory: a row for each would cost
// more than it tells.

/** Requests as KubeConnection makes them. */
type Ask = (url: string, init: RequestInit) => Promise<Response>;

interface Taken {
  counts: number[];
  sum: number;
  sinceMs: number;
}

export class Durations {
  readonly #nowMs: () => number;
  /** By verb and code. */
  readonly #taken = new Map<string, Taken>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The same function, whose requests are counted when they are answered. */
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

  /** A request that began then is answered; `code` is `none` where it is not. */
  note(verb: string, code: string, startedMs: number): void {
    const nowMs = this.#nowMs();
    const key = `${verb} ${code}`;
    const taken = this.#taken.get(key) ?? this.#begin(key, nowMs);
    // A clock that was put back.
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

/** A watch is asked for with GET, and is no reading of one object. */
function verbOf(url: string, { method = "GET" }: RequestInit): string {
  return new URL(url).searchParams.has("watch") ? "WATCH" : method;
}
