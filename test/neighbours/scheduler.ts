// Measures kube-scheduler: where it places pods with a required or preferred spread, and how many it places.
import type { Experiment, Outcome } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { forAll, PODS, SERVICES, settled } from "./kube.ts";
import { hasProgram, type Lab } from "./lab.ts";
import { startWorkers, type Worker, workersIn } from "./workers.ts";

const HOSTNAME = "kubernetes.io/hostname";
const ZONE = "topology.kubernetes.io/zone";
const ZONES = ["zone-a", "zone-b", "zone-c"];

interface Spread {
  topologyKey: string;
  minDomains?: number;
}

/** The required spread of six replicas, by the name of the row. */
const HARD: Readonly<Record<"spread-hostname" | "spread-zone" | "spread-min-domains", Spread>> = {
  "spread-hostname": { topologyKey: HOSTNAME },
  "spread-zone": { topologyKey: ZONE },
  "spread-min-domains": { topologyKey: HOSTNAME, minDomains: 3 },
};
const REPLICAS = 6;
const SOFT_REPLICAS = 12;
const SETTLED = { quietMs: 3_000, withinMs: 90_000 };

export const schedulerExperiment: Experiment = {
  rows: ["spread-hostname", "spread-zone", "spread-min-domains", "spread-defaults"],
  missing: () => (hasProgram("kube-scheduler") ? null : "kube-scheduler"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await startWorkers(lab, workersIn(ZONES, 3));
  await join(lab, fleet);
  await lab.kube.create(SERVICES, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "spread-defaults" },
    spec: { selector: { app: "spread-defaults" }, ports: [{ port: 80 }] },
  });
  lab.startScheduler();
  const hard = Object.entries(HARD).flatMap(([app, spread]) => podsOf(app, REPLICAS, [spread]));
  await forAll([...hard, ...podsOf("spread-defaults", SOFT_REPLICAS, [])], (pod) =>
    lab.kube.create(PODS, pod),
  );
  const places = await untilPlaced(lab);
  const outcomes = Object.keys(HARD).map((app): [string, Outcome] => [
    app,
    { verdict: `${places.get(app)?.length ?? 0} of ${REPLICAS}` },
  ]);
  return {
    ...Object.fromEntries(outcomes),
    "spread-defaults": { verdict: distribution(places.get("spread-defaults") ?? []) },
  };
}

/** Returns replicas for kube-scheduler to spread. If `spreads` is empty, kube-scheduler's default constraints apply. */
function podsOf(app: string, replicas: number, spreads: readonly Spread[]): object[] {
  const selector = { matchLabels: { app } };
  return Array.from({ length: replicas }, (_, index) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `${app}-${index}`, labels: { app } },
    spec: {
      containers: [{ name: "main", image: "example.com/none", resources: { requests: { cpu: "10m" } } }],
      topologySpreadConstraints: spreads.map((spread) => ({
        maxSkew: 1,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: selector,
        ...spread,
      })),
    },
  }));
}

/** Returns the workers of each app's pods, once kube-scheduler has decided about each pod and no decision changes. */
async function untilPlaced(lab: Lab): Promise<Map<string, string[]>> {
  const places = new Map<string, string[]>();
  await settled(SETTLED, async () => {
    const pods = await lab.kube.list(PODS);
    places.clear();
    for (const { metadata, spec } of pods) {
      const app = metadata.labels?.["app"] ?? "";
      if (spec?.nodeName !== undefined) places.set(app, [...(places.get(app) ?? []), spec.nodeName]);
    }
    // Until each pod has a decision, each poll returns a new value, so that `settled` continues.
    const isDecided = pods.every(({ status }) =>
      status?.conditions?.some(({ type }) => type === "PodScheduled"),
    );
    return isDecided ? JSON.stringify([...places]) : `${performance.now()}`;
  });
  return places;
}

/** Returns the number of pods on each worker, such as `4, 4, 4`. */
function distribution(names: readonly string[]): string {
  const counts = Map.groupBy(names, (name) => name);
  return [...counts.values()]
    .map(({ length }) => length)
    .toSorted((a, b) => b - a)
    .join(", ");
}

/** The number of pods for the measurement of throughput. */
const THROUGHPUT_PODS = 500;
const THROUGHPUT_WITHIN_MS = 300_000;

/** Returns the seconds that kube-scheduler needs to place THROUGHPUT_PODS pods on 20 workers next to this fleet. */
export async function measureThroughput(lab: Lab, fleet: Fleet): Promise<number> {
  const workers: Worker[] = workersIn(ZONES, 20).map((worker) => ({ ...worker, cores: 64 }));
  await startWorkers(lab, workers);
  // kube-scheduler reads no leases, so their renewal would only load the server.
  await lab.heartbeats.stopAll();
  await join(lab, { ...fleet, state: "silent" });
  const pods = podsOf("throughput", THROUGHPUT_PODS, [{ topologyKey: HOSTNAME }]);
  await forAll(pods, (pod) => lab.kube.create(PODS, pod));
  lab.startScheduler();
  let beganMs: number | undefined;
  for (const deadline = performance.now() + THROUGHPUT_WITHIN_MS; performance.now() < deadline;) {
    const placed = (await lab.kube.list(PODS)).filter(({ spec }) => spec?.nodeName !== undefined).length;
    // The time counts from the first placed pod, without the program's start.
    if (placed > 0) beganMs ??= performance.now();
    if (placed === THROUGHPUT_PODS) return (performance.now() - beganMs!) / 1000;
  }
  throw new Error(
    `kube-scheduler has not placed ${THROUGHPUT_PODS} pods in ${THROUGHPUT_WITHIN_MS / 1000} s`,
  );
}
