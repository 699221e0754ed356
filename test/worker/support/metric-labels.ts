// Checks that each sample of GET /metrics has the labels of the table of metrics, which the documentation shows.
import { expect } from "vitest";
import { type Measured, METRICS } from "../../../worker/metrics/metrics.ts";

const labelsOf = (name: string) => Object.entries(METRICS).find(([known]) => known === name)?.[1][2];

/** Returns `measured` after a check of its labels. `expectKnownLabels` checks samples that exist only as text. */
export function withKnownLabels(measured: Measured): Measured {
  for (const [name, samples] of Object.entries(measured))
    if (typeof samples !== "string")
      for (const { labels } of samples)
        expect([name, ...Object.keys(labels)]).toEqual([name, ...(labelsOf(name) ?? [])]);
  return measured;
}

/** Checks the labels of a line of Prometheus' text format. Ignores `le`, which each histogram has. */
export function expectKnownLabels(line: string): void {
  const [series = "", pairs = ""] = line.split(/[{}]/);
  const name = series.replace(/ .*/, "");
  const labels = [...pairs.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)].map(([, label = ""]) => label);
  const known = labelsOf(name) ?? labelsOf(name.replace(/_(bucket|sum|count)$/, ""));
  expect([name, ...labels.filter((label) => label !== "le")]).toEqual([
    name,
    ...(known ?? ["no such metric"]),
  ]);
}
