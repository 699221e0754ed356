// Tests the report as a whole: the dry run, the order of findings, and the Node that represents new machines.
import { expect, test } from "vitest";
import { assessImpact, type ImpactWish } from "../../../infra/impact/impact.ts";
import type { ReadFault } from "../../../infra/impact/cluster-reader.ts";
import { formerMachine, program, TOLERATES_ALL, worker, workload } from "./made-up-cluster.ts";
import { type Played, playedReader } from "./played-reader.ts";

async function report(played: Played, wish: Partial<ImpactWish> = {}) {
  const { reader } = playedReader(played);
  const assessed = await assessImpact(reader, { machines: 300, isUpgrade: false, labels: {}, ...wish });
  if (!assessed.ok) throw new Error(assessed.error.message);
  const { findings, unread, ...rest } = assessed.value;
  return { ...rest, unread, found: findings.map(({ severity, check }) => `${severity} ${check}`), findings };
}

const refused = (message: string, reason: ReadFault["reason"] = "refused"): Played => ({
  refusal: { reason, message },
});
const KYVERNO = 'admission webhook "validate.kyverno.svc-fail" denied the request: label zone is required';

test.each<[situation: string, played: Played, found: string[], unread: string[]]>([
  ["accepted", {}, [], []],
  ["refused by a webhook", refused(KYVERNO), ["breaks dry-run"], []],
  [
    "refused by a policy of the apiserver",
    refused("nodes \"x\" is forbidden: ValidatingAdmissionPolicy 'zones' denied request", "forbidden"),
    ["breaks dry-run"],
    [],
  ],
  [
    "no right to create Nodes",
    refused('nodes is forbidden: User "x" cannot create resource "nodes" in API group ""', "forbidden"),
    [],
    ["forbidden"],
  ],
  [
    "a webhook without dry runs",
    refused('admission webhook "w" does not support dry run'),
    [],
    ['admission webhook "w" does not support dry run'],
  ],
  ["no answer", refused("timeout", "unreachable"), [], ["timeout"]],
])("a dry run: %s → %j", async (_, played, found, unread) => {
  const got = await report(played);
  expect(got.found).toEqual(found);
  expect(got.unread.map(({ why }) => why)).toEqual(unread);
});

test("the refusal stands there word for word", async () => {
  expect((await report(refused(KYVERNO))).findings[0]?.consequence).toContain(KYVERNO);
});

const served = (
  deployments: unknown[],
  nodes: unknown[] = [worker("w")],
  daemonSets: unknown[] = [],
): Played => ({
  answers: {
    "/api/v1/nodes": { items: nodes },
    "/apis/apps/v1/deployments": { items: deployments },
    "/apis/apps/v1/daemonsets": { items: daemonSets },
  },
});
const spreadBy = (topologyKey: string) =>
  workload("web", {
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey, whenUnsatisfiable: "DoNotSchedule", labelSelector: {} },
    ],
  });

test("what breaks comes first", async () => {
  const daemonSets = [workload("agent", TOLERATES_ALL)];
  const { found } = await report(served([program("metrics-server")], [worker("w")], daemonSets));
  expect(found).toEqual(["breaks daemon-sets", "costs metrics-server"]);
});

test("Nodes are counted, and which of them are rollcall's", async () => {
  const { nodes, machines, version } = await report(served([], [worker("w"), formerMachine("edge")]));
  expect({ nodes, machines, version }).toEqual({
    nodes: { all: 2, machines: 1 },
    machines: 300,
    version: "v1.36.3",
  });
});

const aws = { spec: { providerID: "aws:///i-1" } };
const edge = formerMachine("edge");
const labelled = formerMachine("edge", { rack: "7" });

test.each<
  [situation: string, key: string, nodes: unknown[], labels: Record<string, string>, found: string[]]
>([
  ["a label of --node-labels", "site", [worker("w")], { site: "b" }, ["breaks topology-spread"]],
  ["a label of the machines that are there", "rack", [worker("w"), labelled], {}, ["breaks topology-spread"]],
  ["a label of Kubernetes that they still have", "kubernetes.io/hostname", [edge], {}, []],
  [
    "the region that a cloud's controller copies",
    "topology.kubernetes.io/region",
    [worker("w", aws)],
    {},
    ["breaks topology-spread", "breaks cloud-controller"],
  ],
  ["the region, without a cloud", "topology.kubernetes.io/region", [worker("w")], {}, []],
])("a spread by %s → %j", async (_, key, nodes, labels, found) => {
  expect((await report(served([spreadBy(key)], nodes), { labels })).found).toEqual(found);
});

test("what an upgrade moves is looked for with --upgrade alone", async () => {
  const linux = workload("app", { nodeSelector: { "kubernetes.io/os": "linux" }, ...TOLERATES_ALL });
  const played = served([linux], [edge]);
  expect((await report(played)).found).toEqual([]);
  expect((await report(played, { isUpgrade: true })).found).toEqual(["breaks moved-selectors"]);
});

test("a token's zone → under rollcall's key, as the Worker moves it", async () => {
  const zone = { "topology.kubernetes.io/zone": "b" };
  expect((await report(served([spreadBy("topology.kubernetes.io/zone")]), { labels: zone })).found).toEqual(
    [],
  );
  const { findings } = await report(served([spreadBy("rollcall.dev/zone")]), { labels: zone });
  expect(findings[0]?.consequence).toContain("rollcall.dev/zone=b");
});
