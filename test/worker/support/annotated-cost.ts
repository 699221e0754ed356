// Defines the result of annotated-cluster.ts for the benchmarks, whose type check excludes the Worker's types.

/** The costs of annotations by another program. */
export interface AnnotatedCost {
  /** The mean percentage of Nodes whose machines' objects were not notified of the last change. */
  percentUnwatched: number;
  /** The rows of the cluster object, per Node and minute. */
  rows: number;
  /** The requests to the registry and to machines' objects, per Node and minute. */
  requests: number;
}
