// Measures the cost of 4,000 Nodes that another program annotates once a minute. Real: the watch, the notices and their
// rows. Simulated: the clock, the apiserver, the registry and the machines' objects.
import type { AnnotatedCost } from "../../worker/support/annotated-cost.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { once } from "./once.ts";

const CLUSTER = new URL("../../worker/support/annotated-cluster.ts", import.meta.url).href;

const cost = once(async (progress: Progress): Promise<AnnotatedCost> => {
  const { annotatedCost } = (await import(CLUSTER)) as {
    annotatedCost: (progress: Progress) => Promise<AnnotatedCost>;
  };
  return annotatedCost(progress);
});

export const annotatedNodes: Benchmark[] = [
  {
    ...budgetOf("watch-annotated-unwatched"),
    measure: async (progress) => [{ ours: (await cost(progress)).percentUnwatched }],
  },
  {
    ...budgetOf("watch-annotated-rows"),
    measure: async (progress) => [{ ours: (await cost(progress)).rows }],
  },
  {
    ...budgetOf("watch-annotated-requests"),
    measure: async (progress) => [{ ours: (await cost(progress)).requests }],
  },
];
