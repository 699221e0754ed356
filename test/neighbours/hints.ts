// Measures the EndpointSlice controller: the topology hints of a Service with `topology-mode: Auto`.
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { forAll, PODS, SERVICES, settled, until, within } from "./kube.ts";
import { hasProgram, type Lab } from "./lab.ts";
import { playKubelets, startWorkers, workersIn } from "./workers.ts";

const WORKERS = 6;
const ENDPOINTS = 12;
/**
 * The path of the Service's EndpointSlices. The label excludes those of the Service `kubernetes`, which
 * kube-apiserver writes.
 */
const SLICES =
  "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=hinted";
const READY_WITHIN_MS = 90_000;
const HINTS_WITHIN_MS = 10_000;
const SETTLED = { quietMs: 3_000, withinMs: 20_000 };

export const hintsExperiment: Experiment = {
  rows: ["topology-hints"],
  missing: () => (hasProgram("kube-controller-manager") ? null : "kube-controller-manager"),
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await startWorkers(lab, workersIn(["zone-a", "zone-b", "zone-c"], WORKERS));
  await join(lab, fleet);
  await lab.kube.create(SERVICES, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "hinted", annotations: { "service.kubernetes.io/topology-mode": "Auto" } },
    spec: { selector: { app: "hinted" }, ports: [{ port: 80 }] },
  });
  await forAll([...Array(ENDPOINTS).keys()], (index) =>
    lab.kube.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `hinted-${index}`, labels: { app: "hinted" } },
      spec: {
        nodeName: `worker-${index % WORKERS}`,
        containers: [{ name: "main", image: "example.com/none" }],
      },
    }),
  );
  lab.startControllers({
    controllers: ["endpointslice-controller"],
    flags: ["--kube-api-qps=2000", "--kube-api-burst=4000"],
  });
  playKubelets(lab);
  await until(READY_WITHIN_MS, "all endpoints are ready", async () =>
    (await readyEndpoints(lab)).length === ENDPOINTS ? true : undefined,
  );
  await within(HINTS_WITHIN_MS, async () => ((await areHinted(lab)) ? true : undefined));
  // The controller computes the hints again at each added or deleted Node, so the test waits until they are stable.
  const verdict = await settled(SETTLED, async () => ((await areHinted(lab)) ? "hints" : "no hints"));
  return { "topology-hints": { verdict } };
}

async function areHinted(lab: Lab): Promise<boolean> {
  return (await readyEndpoints(lab)).every(({ hints }) => hints?.forZones !== undefined);
}

async function readyEndpoints(lab: Lab) {
  const slices = await lab.kube.list(SLICES);
  return slices.flatMap(({ endpoints }) => endpoints ?? []).filter(({ conditions }) => conditions?.ready);
}
