// Measures kube-prometheus' alert rules: promtool evaluates them with the metrics of kube-state-metrics.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join as joinPath } from "node:path";
import { freePort } from "../../infra/local/ports.ts";
import type { Experiment } from "./experiment.ts";
import { type Fleet, join } from "./fleet.ts";
import { forAll, PODS, settled } from "./kube.ts";
import type { Lab } from "./lab.ts";
import { missingProgram, programOf } from "./programs.ts";
import { startWorkers, workersIn } from "./workers.ts";

const ALLOCATABLE = (resource: string) => `kube_node_status_allocatable{resource="${resource}"}`;

/** Returns an expression that is true if all pods request more than all Nodes but the largest have. */
const overcommit = (resource: string) =>
  `sum(kube_pod_container_resource_requests{resource="${resource}"})` +
  ` - (sum(${ALLOCATABLE(resource)}) - max(${ALLOCATABLE(resource)})) > 0` +
  ` and (sum(${ALLOCATABLE(resource)}) - max(${ALLOCATABLE(resource)})) > 0`;

/**
 * The expressions of the rules of these names, with the recording rules inserted:
 * https://github.com/prometheus-operator/kube-prometheus/blob/main/manifests/kubernetesControlPlane-prometheusRule.yaml
 */
const RULES = {
  KubeCPUOvercommit: overcommit("cpu"),
  KubeMemoryOvercommit: overcommit("memory"),
  KubeNodeNotReady:
    `kube_node_status_condition{condition="Ready",status="true"} == 0` +
    " and on (node) kube_node_spec_unschedulable == 0",
  KubeNodeUnreachable: `kube_node_spec_taint{key="node.kubernetes.io/unreachable",effect="NoSchedule"} == 1`,
  KubeletTooManyPods:
    `count by (node) ((kube_pod_status_phase{phase="Running"} == 1)` +
    " * on (pod, namespace) group_left (node) kube_pod_info)" +
    ` / max by (node) (kube_node_status_capacity{resource="pods"} != 1) > 0.95`,
};
type Rule = keyof typeof RULES;

/** Matches the metrics of kube-state-metrics that the rules read. */
const METRIC =
  /^kube_(node_(status_allocatable|status_capacity|status_condition|spec_\w+)|pod_(info|status_phase|container_resource_requests))\{/;
const SETTLED = { quietMs: 1_500, withinMs: 60_000 };

export const rulesExperiment: Experiment = {
  rows: ["overcommit", "not-ready-alert", "unreachable-alert", "too-many-pods"],
  missing: () =>
    spawnSync("promtool", ["--version"]).status === 0 ? missingProgram("kube-state-metrics") : "promtool",
  measure,
};

async function measure(lab: Lab, fleet: Fleet) {
  await startWorkers(lab, workersIn(["zone-a", "zone-b", "zone-c"], 3));
  await join(lab, fleet);
  // The pods request 11 of 12 cores and 44 of 48 GiB. Without one worker, only 8 cores and 32 GiB are left.
  await forAll([...Array(11).keys()], (index) =>
    lab.kube.create(PODS, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `pod-${index}` },
      spec: {
        nodeName: `worker-${index % 3}`,
        containers: [
          { name: "main", image: "example.com/none", resources: { requests: { cpu: "1", memory: "4Gi" } } },
        ],
      },
    }),
  );
  const firing = fires(lab, await metrics(lab));
  const counted = (rule: Rule) => ({ verdict: `${firing.get(rule) ?? 0} alerts` });
  const overcommitted = (["KubeCPUOvercommit", "KubeMemoryOvercommit"] as const).filter((rule) =>
    firing.get(rule),
  );
  return {
    overcommit: { verdict: `${overcommitted.length} of 2 fire` },
    "not-ready-alert": counted("KubeNodeNotReady"),
    "unreachable-alert": counted("KubeNodeUnreachable"),
    "too-many-pods": counted("KubeletTooManyPods"),
  };
}

/** Returns the lines of kube-state-metrics that the rules read. */
async function metrics(lab: Lab): Promise<string[]> {
  const [port, telemetryPort] = [await freePort(), await freePort()];
  lab.run("kube-state-metrics", programOf("kube-state-metrics"), [
    `--kubeconfig=${lab.kubeconfig}`,
    "--resources=nodes,pods",
    "--host=127.0.0.1",
    `--port=${port}`,
    "--telemetry-host=127.0.0.1",
    `--telemetry-port=${telemetryPort}`,
  ]);
  const text = await settled(SETTLED, async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
    const text = (await response?.text()) ?? "";
    // Until the metrics contain all pods, each poll returns a new value, so that `settled` continues.
    return text.includes("pod-10") ? text : `${performance.now()}`;
  });
  return text.split("\n").filter((line) => METRIC.test(line));
}

/** Returns the number of alerts of each rule, from promtool's report of unexpected values. */
function fires(lab: Lab, lines: readonly string[]): Map<string, number> {
  const test = {
    input_series: lines.map((line) => {
      const [, series = "", value = ""] = /^(.*\}) (\S+)$/.exec(line) ?? [];
      return { series, values: `${value}x30` };
    }),
    promql_expr_test: Object.keys(RULES).map((alert) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(-1)`,
      eval_time: "20m",
      exp_samples: [{ labels: "{}", value: -2 }],
    })),
    interval: "1m",
  };
  const rules = Object.entries(RULES).map(([alert, expr]) => ({ alert, expr, for: "15m" }));
  const [rulesFile, testFile] = [joinPath(lab.folder, "rules.json"), joinPath(lab.folder, "rules-test.json")];
  writeFileSync(rulesFile, JSON.stringify({ groups: [{ name: "neighbours", rules }] }));
  writeFileSync(
    testFile,
    JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests: [test] }),
  );
  const { stdout, stderr } = spawnSync("promtool", ["test", "rules", testFile], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  const found = new Map<string, number>();
  for (const [, alert = "", value = ""] of `${stdout}${stderr}`.matchAll(
    /alertname=\\?"(\w+)\\?"[^]*?got:[^\n]*? (-?[\d.E+]+)/g,
  ))
    found.set(alert, Math.max(0, Number(value)));
  if (found.size !== Object.keys(RULES).length)
    throw new Error(`promtool: ${stdout}${stderr}`.slice(0, 2_000));
  return found;
}
