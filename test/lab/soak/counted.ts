// What gateways have counted of what they did, from the text of GET /metrics: why a heartbeat renewed nothing, say. Pure.

/** Counts by what was counted: `renewals failed`. */
export type Counted = ReadonlyMap<string, number>;

/** A family of samples, and the label that tells its counts apart. */
const FAMILIES = [
  ["rollcall_gateway_renewals_total", "outcome", "renewals"],
  ["rollcall_gateway_request_duration_seconds_count", "code", "PUTs answered"],
  ["rollcall_gateway_again_total", "reason", "told to report, as"],
  ["rollcall_gateway_request_duration_seconds_sum", "verb", "seconds of all"],
] as const;

/** Of all gateways together. */
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

/** What has come since `before`; a gateway that was evicted meanwhile began anew. */
export function countedText(before: Counted, now: Counted): string {
  const more = [...now].map(([key, count]) => [key, count - (before.get(key) ?? 0)] as const);
  return more.flatMap(([key, count]) => (count === 0 ? [] : [`${key} ${Math.round(count)}`])).join(", ");
}
