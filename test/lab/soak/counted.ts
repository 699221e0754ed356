// Reads the gateways' counters from the text of GET /metrics, such as the reasons why heartbeats renewed nothing.
// Pure.

/** The counts by name, such as `renewals failed`. */
export type Counted = ReadonlyMap<string, number>;

/**
 * The metric families that are read, each with the label that distinguishes its counts, and its words in the
 * output.
 */
const FAMILIES = [
  ["rollcall_gateway_renewals_total", "outcome", "renewals"],
  ["rollcall_gateway_request_duration_seconds_count", "code", "PUTs answered"],
  ["rollcall_gateway_again_total", "reason", "told to report, as"],
  ["rollcall_gateway_request_duration_seconds_sum", "verb", "seconds of all"],
] as const;

/** Returns the sums over all gateways. */
export function countedIn(exposition: string): Counted {
  const counted = new Map<string, number>();
  for (const line of exposition.split("\n")) {
    const [, family = "", labels = "", value = ""] = /^(\w+)\{(.*)\} (\S+)/.exec(line) ?? [];
    for (const [name, label, words] of FAMILIES) {
      if (family !== name) continue;
      const key = `${words} ${new RegExp(`\\b${label}="([^"]*)"`).exec(labels)?.[1] ?? "?"}`;
      counted.set(key, (counted.get(key) ?? 0) + Number(value));
    }
  }
  return counted;
}

/** Returns the increase since `before` as text. An evicted gateway's counters start from zero. */
export function countedText(before: Counted, now: Counted): string {
  const more = [...now].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  return more.flatMap(([key, count]) => (count === 0 ? [] : [`${key} ${Math.round(count)}`])).join(", ");
}
