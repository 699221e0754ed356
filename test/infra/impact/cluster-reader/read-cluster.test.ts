// Tests how a cluster is read: existing, missing and forbidden resources, and faults that end the reading.
import { describe, expect, test } from "vitest";
import { readCluster, type ReadFault } from "../../../../infra/impact/cluster-reader.ts";
import { program } from "../made-up-cluster.ts";
import { type Played, playedReader } from "../played-reader.ts";

const list = (...items: unknown[]) => ({ items });
const forbidden: ReadFault = { reason: "forbidden", message: "User cannot list" };

async function read(played: Played, hasVolumes = false) {
  const { reader, asked } = playedReader(played);
  const found = await readCluster(reader, { hasVolumes });
  return { found, asked: asked.map((path) => path.split("?")[0] ?? "") };
}

test("an empty cluster → no objects, and nothing that was not read", async () => {
  const { found, asked } = await read({});
  expect(found).toMatchObject({ ok: true, value: { version: "v1.36.3", nodes: [], unread: [] } });
  expect(asked).toContain("/apis/apps/v1/daemonsets");
  expect(asked).not.toContain("/api/v1/persistentvolumes");
});

test("for --upgrade PersistentVolumes as well", async () => {
  expect((await read({}, true)).asked).toContain("/api/v1/persistentvolumes");
});

test.each<[path: string, unread: string]>([
  ["/apis/apps/v1/daemonsets", "daemonsets"],
  ["/api/v1/namespaces/kube-system/pods", "pods in kube-system"],
  ["/apis", "API groups"],
  ["/api/v1/namespaces/kube-system/configmaps/kubeadm-config", "ConfigMap kube-system/kubeadm-config"],
])("%s is forbidden → %s is named, and the rest is read", async (path, unread) => {
  const nodes = { "/api/v1/nodes": list({ metadata: { name: "n" } }) };
  const { found } = await read({ answers: nodes, faults: { [path]: forbidden } });
  expect(found).toMatchObject({
    ok: true,
    value: { nodes: [{ metadata: { name: "n" } }], unread: [{ what: unread, why: "forbidden" }] },
  });
});

test("a list that the apiserver fails to make → its words", async () => {
  const fault: ReadFault = { reason: "refused", message: "etcdserver: request timed out" };
  const { found } = await read({ faults: { "/api/v1/services": fault } });
  expect(found).toMatchObject({
    value: { unread: [{ what: "services", why: "etcdserver: request timed out" }] },
  });
});

test.each<ReadFault["reason"]>(["unreachable", "unauthorized", "usage", "not-kubernetes"])(
  "%s, at first or later → that fault",
  async (reason) => {
    const fault: ReadFault = { reason, message: "why" };
    for (const path of ["/version", "/api/v1/services", "/apis"])
      expect((await read({ faults: { [path]: fault } })).found).toEqual({ ok: false, error: fault });
  },
);

describe("custom resources", () => {
  const groups = (...names: string[]) => ({
    groups: names.map((name) => ({ name, preferredVersion: { groupVersion: `${name}/v1` } })),
  });

  test("of groups that are served, by their preferred version; others are not asked for", async () => {
    const answers = {
      "/apis": groups("kyverno.io"),
      "/apis/kyverno.io/v1/clusterpolicies": list({ metadata: { name: "labels" } }),
    };
    const { found, asked } = await read({ answers });
    expect(found).toMatchObject({ value: { kyvernoPolicies: [{ metadata: { name: "labels" } }] } });
    expect(asked.some((path) => path.includes("karpenter"))).toBe(false);
  });

  test("Gatekeeper's constraints: each kind, without subresources", async () => {
    const group = "/apis/constraints.gatekeeper.sh/v1";
    const resources = [{ name: "k8srequiredlabels" }, { name: "k8srequiredlabels/status" }];
    const answers = {
      "/apis": groups("constraints.gatekeeper.sh"),
      [group]: { resources },
      [`${group}/k8srequiredlabels`]: list({ metadata: { name: "zone" } }),
    };
    const { found } = await read({ answers });
    expect(found).toMatchObject({
      value: { gatekeeperConstraints: [{ metadata: { name: "zone" } }], unread: [] },
    });
  });
});

test("the ConfigMaps that descheduler and cluster-proportional-autoscaler name", async () => {
  const volumes = [{ name: "policy", configMap: { name: "policy" } }];
  const deployments = [
    program("descheduler", [], { volumes }),
    program("cluster-proportional-autoscaler", ["--namespace=kube-system", "--configmap=dns"]),
  ];
  const { asked } = await read({ answers: { "/apis/apps/v1/deployments": { items: deployments } } });
  expect(asked.filter((path) => path.includes("/configmaps/"))).toEqual([
    "/api/v1/namespaces/shop/configmaps/policy",
    "/api/v1/namespaces/kube-system/configmaps/dns",
    "/api/v1/namespaces/kube-system/configmaps/kubeadm-config",
  ]);
});
