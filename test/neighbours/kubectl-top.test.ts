// Tests infra/kubectl-top with kubectl and metrics-server on a real apiserver: `kubectl top nodes` shows machines next to
// kubelets, each source is answered without the other one, and only the apiserver may ask.
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pause } from "../../node-shim/base/clock.ts";
import { switchOff, switchOn } from "../../infra/kubectl-top/switch.ts";
import { ROOT } from "../e2e/local-cluster.ts";
import { describeExperiments } from "./describe-experiment.ts";
import { join as joinFleet } from "./fleet.ts";
import { makeAuthority } from "./front-proxy.ts";
import { until } from "./kube.ts";
import { kubectlTopExperiment, TopLab } from "./kubectl-top.ts";
import { assets, Lab } from "./lab.ts";

const LIMIT_MS = 240_000;
const isMissing = assets === "" || kubectlTopExperiment.missing() !== null;
/** The usage stays in the adapter's memory for 10 s. */
const FORGOTTEN_WITHIN_MS = 30_000;

describeExperiments(["kubectl-top"]);

describe.skipIf(isMissing)("kubectl top next to metrics-server", { timeout: LIMIT_MS }, () => {
  let lab: Lab;
  let top: TopLab;
  beforeAll(async () => {
    lab = await Lab.start();
    const [first = ""] = await joinFleet(lab, { count: 2, kind: "ours", state: "ready" });
    await lab.kube.patch(`/api/v1/nodes/${first}`, { metadata: { labels: { site: "b" } } });
    // edge-1 sends no usage.
    top = await TopLab.start(lab, [first]);
  }, LIMIT_MS);
  afterAll(async () => {
    await top?.close();
    await lab?.close();
  }, LIMIT_MS);

  const kubectl = (...args: string[]) => top.run(args);
  const raw = async (path: string) => JSON.parse((await kubectl("get", "--raw", path)).stdout) as never;
  const spec = async () => {
    const read = await lab.kube.get("/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io");
    return { spec: read?.spec, annotations: read?.metadata.annotations };
  };
  let before: object;

  it("the adapter's manifests → accepted without a warning, and its pods have the strictest confinement", async () => {
    const folder = join(ROOT, "infra/kubectl-top");
    const applied = await kubectl(
      "apply",
      "--server-side",
      "--force-conflicts",
      "--validate=strict",
      "--dry-run=server",
      "-k",
      folder,
    );
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    const read = await kubectl("get", "deployment/kubectl-top", "-n", "rollcall-top", "-o", "json");
    const { spec } = (JSON.parse(read.stdout) as { spec: { template: { spec: object } } }).spec.template;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "adapter", namespace: "rollcall-top" },
      spec,
    };
    const admitted = await top.run(["create", "--dry-run=server", "-f", "-"], JSON.stringify(pod));
    expect(admitted).toMatchObject({ code: 0, stderr: "" });
  });

  it("off → kubelets have values, machines have none", async () => {
    const rows = await top.nodesWith(3);
    expect(rows.map(([name]) => name)).toEqual(["worker-0", "worker-1", "worker-2"]);
    before = await spec();
  });

  it("on → the machine has the values that it sent", async () => {
    expect(await switchOn(top.kubectl, pause)).toEqual({
      ok: true,
      value: "on: the apiserver asks the adapter",
    });
    const rows = await top.nodesWith(4);
    expect(rows.map(([name]) => name)).toEqual(["edge-0", "worker-0", "worker-1", "worker-2"]);
    expect(rows[0]).toEqual(["edge-0", "250m", "0%", "512Mi", "0%"]);
    const { stdout } = await kubectl("top", "nodes", "--show-capacity", "--no-headers", "edge-0");
    expect(stdout.trim().split(/ +/)).toEqual(["edge-0", "250m", "0%", "512Mi", "0%"]);
    expect(await raw("/apis/metrics.k8s.io/v1beta1/nodes/edge-0")).toMatchObject({
      kind: "NodeMetrics",
      metadata: { name: "edge-0", labels: { site: "b" } },
      window: "1m0s",
    });
  });

  it("on again → the same, and `off` still knows what was before", async () => {
    expect(await switchOn(top.kubectl, pause)).toMatchObject({ ok: true });
    expect((await spec()).annotations?.["rollcall.dev/before-kubectl-top"]).toContain("metrics-server");
  });

  it("metrics-server's manifests applied again → refused, until the adapter's authority is removed", async () => {
    const manifest = {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io", labels: { "k8s-app": "metrics-server" } },
      spec: (before as { spec: object }).spec,
    };
    const apply = () =>
      top.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], JSON.stringify(manifest));
    expect((await apply()).stderr).toContain("may not be true if caBundle is present");
    const removed = JSON.stringify([{ op: "remove", path: "/spec/caBundle" }]);
    await kubectl("patch", "apiservice", "v1beta1.metrics.k8s.io", "--type=json", "-p", removed);
    expect(await apply()).toMatchObject({ code: 0 });
    expect((await spec()).spec).toEqual(manifest.spec);
    expect(await switchOn(top.kubectl, pause)).toMatchObject({ ok: true });
    await top.nodesWith(4);
  });

  it.each([
    ["-l site=b", ["edge-0"]],
    ["-l site!=b", ["worker-0", "worker-1", "worker-2"]],
    ["-l rollcall.dev/machine", ["edge-0"]],
    ["worker-1", ["worker-1"]],
    ["edge-0", ["edge-0"]],
  ])("kubectl top nodes %s → %j", async (flags, names) => {
    const { stdout } = await kubectl("top", "nodes", "--no-headers", ...flags.split(" "));
    expect(top.rowsOf(stdout).map(([name]) => name)).toEqual(names);
  });

  it.each([
    ["a machine without usage", ["top", "nodes", "edge-1"], 'nodemetrics.metrics.k8s.io "edge-1" not found'],
    ["no Node", ["top", "nodes", "edge-9"], 'node "edge-9" not found'],
    [
      "a wrong selector",
      ["get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes?labelSelector=a%20b"],
      "unable to parse",
    ],
    ["a watch", ["get", "--raw", "/apis/metrics.k8s.io/v1beta1/nodes?watch=true"], "watch is not supported"],
    ["another user", ["top", "nodes", "--as=mallory"], 'User "mallory" cannot list resource "nodes"'],
    [
      "a user of no rights on pods",
      ["get", "--raw", "/apis/metrics.k8s.io/v1beta1/pods", "--as=mallory"],
      "forbidden",
    ],
  ])("%s → refused as before", async (_, args, message) => {
    const { code, stderr } = await kubectl(...args);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(message) });
  });

  it("the table of kubectl get, and the metrics of pods → as from metrics-server", async () => {
    const { stdout } = await kubectl("get", "nodes.metrics.k8s.io");
    const [head, ...rows] = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ +/));
    expect(head).toEqual(["NAME", "CPU", "MEMORY", "WINDOW"]);
    expect(rows[0]).toEqual(["edge-0", "250m", "512Mi", "1m0s"]);
    expect(rows.map(([name]) => name)).toEqual(["edge-0", "worker-0", "worker-1", "worker-2"]);
    expect(await raw("/apis/metrics.k8s.io/v1beta1/pods")).toMatchObject({
      kind: "PodMetricsList",
      items: [],
    });
    expect((await kubectl("api-resources", "--api-group=metrics.k8s.io")).stdout).toMatch(/PodMetrics/);
  });

  it("the Worker does not answer → kubelets have values, and kubectl prints why machines have none", async () => {
    top.isWorkerUp = false;
    const ended = await until(FORGOTTEN_WITHIN_MS, "no values of machines", async () => {
      const asked = await kubectl("top", "nodes", "--no-headers");
      return top.rowsOf(asked.stdout).length === 3 ? asked : undefined;
    });
    expect(ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Warning: rollcall's machines are missing"),
    });
    expect(await kubectl("top", "nodes", "edge-0")).toMatchObject({ code: 1 });
    expect(await kubectl("top", "nodes", "worker-0")).toMatchObject({ code: 0 });
    top.isWorkerUp = true;
    await top.nodesWith(4);
  });

  it.each([
    ["no certificate", async () => ({})],
    ["another name", () => lab.frontProxy.certificateFor("system:node:worker-0")],
    ["another authority", async () => (await makeAuthority()).certificateFor("front-proxy-client")],
  ])("a client with %s → 401", async (_, certificate) => {
    const headers = { "x-remote-user": "admin", "x-remote-group": "system:masters" };
    const options = { ...(await certificate()), headers, rejectUnauthorized: false, agent: false as const };
    const status = await new Promise((resolve, reject) => {
      const url = `https://127.0.0.1:${top.adapterPort}/apis/metrics.k8s.io/v1beta1/nodes`;
      request(url, options, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(401);
  });

  it("metrics-server does not answer → machines have values, its part has its error", async () => {
    await lab.stop("metrics-server");
    const ended = await kubectl("top", "nodes", "--no-headers");
    expect(ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Warning: metrics-server's Nodes are missing"),
    });
    expect(top.rowsOf(ended.stdout).map(([name]) => name)).toEqual(["edge-0"]);
    for (const args of [
      ["nodes", "worker-0"],
      ["pods", "-A"],
    ])
      expect(await kubectl("top", ...args)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("metrics-server: "),
      });
    const listed = await kubectl("api-resources", "--api-group=metrics.k8s.io", "--cached=false");
    expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("NodeMetrics") });
  });

  it("off → the APIService and the cluster's objects are as before", async () => {
    expect(await switchOff(top.kubectl)).toMatchObject({ ok: true });
    expect(await spec()).toEqual(before);
    const left = await kubectl(
      "get",
      "clusterroles,clusterrolebindings,rolebindings",
      "-A",
      "-l",
      "app.kubernetes.io/part-of=rollcall",
    );
    expect(left.stdout).toBe("");
  });
});
