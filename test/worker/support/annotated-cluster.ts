// Simulates a cluster whose 4,000 Nodes another program annotates once a minute, and counts what that costs.
import type { AnnotatedCost } from "./annotated-cost.ts";
import { ourNode, watchedCluster } from "./watched-cluster.ts";

const NODES = 4000;
const MINUTES = 10;
/** The annotations are spread over each minute, in steps of this duration. */
const STEP_MS = 1000;
const ANNOTATION = "load.example.com/cpu";

/** Measures ten minutes of annotations, after the first notice to each machine's object. */
export async function annotatedCost(progress: (message: string) => void): Promise<AnnotatedCost> {
  const cluster = watchedCluster();
  const names = Array.from({ length: NODES }, (_, index) => `m-${index}`);
  for (const name of names) cluster.put(ourNode(name));
  progress(`${NODES} Nodes are listed`);
  await cluster.pass((NODES / 40) * 1000);
  const { state, waiting } = cluster.watch.state();
  if (state !== "live" || waiting > 0) throw new Error(`the watch is ${state}, and ${waiting} notices wait`);
  Object.assign(cluster, { notified: [], rowsWritten: 0, registryAsked: 0 });
  const steps = (MINUTES * 60_000) / STEP_MS;
  let unwatched = 0;
  for (let step = 0; step < steps; step++) {
    const minute = Math.floor((step * STEP_MS) / 60_000);
    if (step % (60_000 / STEP_MS) === 0) progress(`minute ${minute + 1} of ${MINUTES}`);
    const first = Math.floor((step * STEP_MS * NODES) / 60_000);
    const next = Math.floor(((step + 1) * STEP_MS * NODES) / 60_000);
    for (let index = first; index < next; index++) annotate(cluster, names[index % NODES]!, String(minute));
    await cluster.pass(STEP_MS);
    unwatched += names.filter((name) => !cluster.watch.statusOf(name).isWatched).length;
  }
  const all = NODES * MINUTES;
  return {
    percentUnwatched: (100 * unwatched) / (NODES * steps),
    rows: cluster.rowsWritten / all,
    requests: (cluster.registryAsked + cluster.notified.length) / all,
  };
}

/** Annotates the Node as a program does that publishes a machine's load. */
function annotate(cluster: ReturnType<typeof watchedCluster>, name: string, value: string): void {
  const node = cluster.nodes.get(name) ?? ourNode(name);
  cluster.put({ ...node, metadata: { ...node.metadata, annotations: { [ANNOTATION]: value } } });
}
