// Every metric of GET /metrics, once: name, type, meaning, labels. A table of docs/metrics.md is made from it. Types and a
// table alone.

export type MetricType = "gauge" | "counter" | "histogram" | "info";

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
export interface Distribution {
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
