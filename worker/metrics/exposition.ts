// Metrics as text: OpenMetrics 1.0, or Prometheus' own format 0.0.4. Asks nobody: what was measured is an argument.
import {
  type Distribution,
  DURATION_BUCKETS,
  type Measured,
  type MetricName,
  METRICS,
  type Sample,
} from "./metrics.ts";

export const CONTENT_TYPES = {
  openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  plain: "text/plain; version=0.0.4; charset=utf-8",
} as const;
export type Format = keyof typeof CONTENT_TYPES;

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
