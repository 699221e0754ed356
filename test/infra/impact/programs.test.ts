// Tests how workloads that run a program are found, and the flags that they pass to it.
import { expect, test } from "vitest";
import { programsNamed } from "../../../infra/impact/programs.ts";
import { cluster, staticPod, workload } from "./made-up-cluster.ts";

const named = (container: Parameters<typeof workload>[2]) =>
  programsNamed(cluster({ deployments: [workload("any", {}, container)] }), "metrics-server");

test.each<[situation: string, container: Parameters<typeof workload>[2], isFound: boolean]>([
  ["its image", { image: "registry.k8s.io/metrics-server/metrics-server:v0.8.0" }, true],
  ["an image by its digest", { image: "localhost:5000/metrics-server@sha256:0123" }, true],
  ["an image of one architecture", { image: "k8s.gcr.io/metrics-server-amd64:v0.3.6" }, true],
  ["the container's name", { name: "metrics-server" }, true],
  ["its command", { command: ["/bin/metrics-server"] }, true],
  ["another program", { image: "example.com/metrics-server-exporter:1" }, false],
])("%s → %s", (_, container, isFound) => {
  expect(named(container).map(({ object }) => object)).toEqual(isFound ? ["Deployment shop/any"] : []);
});

test.each<
  [
    situation: string,
    words: Pick<Parameters<typeof workload>[2] & object, "args" | "command">,
    value: string | undefined,
  ]
>([
  ["--flag=value", { args: ["--node-selector=a=b"] }, "a=b"],
  ["--flag value", { args: ["--node-selector", "a=b", "--other"] }, "a=b"],
  ["-flag=value", { args: ["-node-selector=a"] }, "a"],
  ["in the command", { command: ["metrics-server", "--node-selector=a"] }, "a"],
  ["in a shell's line", { command: ["sh", "-c", "exec metrics-server --other --node-selector=a 2>&1"] }, "a"],
  ["without a value", { args: ["--node-selector", "--other"] }, "true"],
  ["twice", { args: ["--node-selector=a", "--node-selector=b"] }, "b"],
  ["absent", { args: ["--other"] }, undefined],
])("a flag, %s → %s", (_, words, value) => {
  expect(named({ name: "metrics-server", ...words })[0]?.flags["node-selector"]).toBe(value);
});

test("static pods of three control planes → one program; a pod of a workload is none", () => {
  const pods = ["1", "2", "3"].map((number) => {
    const pod = staticPod("kube-scheduler", ["--leader-elect=true"]);
    return { ...pod, metadata: { ...pod.metadata, name: `kube-scheduler-cp-${number}` } };
  });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u" };
  const [first] = pods;
  const owned = { ...first, metadata: { ...first!.metadata, ownerReferences: [owner] } };
  const systemPods = [owned, ...pods];
  expect(programsNamed(cluster({ systemPods }), "kube-scheduler").map(({ object }) => object)).toEqual([
    "Pod kube-system/kube-scheduler-cp-1",
  ]);
});
