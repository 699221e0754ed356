// Tests the findings about the networks: remaining address ranges for pods, routes, and the resources that network
// plugins use for each Node.
import { describe, expect, test } from "vitest";
import { nodeAgents, nodeCidrs, routes } from "../../../../infra/impact/checks/network.ts";
import { found, program, staticPod, textOf, worker } from "../made-up-cluster.ts";

const manager = (...flags: string[]) => [staticPod("kube-controller-manager", flags)];
const ALLOCATES = ["--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16"];
const nodes = [0, 1, 2].map((at) => worker(`w${at}`, { spec: { podCIDRs: [`10.244.${at}.0/24`] } }));
const kubeadm = {
  metadata: { name: "kubeadm-config", namespace: "kube-system" },
  data: { ClusterConfiguration: "kind: ClusterConfiguration\nnetworking:\n  podSubnet: 10.244.0.0/16\n" },
};

describe("node CIDRs", () => {
  test.each<
    [
      situation: string,
      objects: Parameters<typeof found>[1],
      machines: number,
      finding: string | undefined,
      says: RegExp,
    ]
  >([
    [
      "as many as are left",
      { nodes, systemPods: manager(...ALLOCATES) },
      253,
      "costs Nodes",
      /has 253 ranges of \/24 left of 256/,
    ],
    [
      "one more",
      { nodes, systemPods: manager(...ALLOCATES) },
      254,
      "breaks Nodes",
      /the next real Node gets no addresses/,
    ],
    [
      "another mask",
      { nodes, systemPods: manager(...ALLOCATES, "--node-cidr-mask-size=26") },
      1000,
      "costs Nodes",
      /1021 ranges of \/26 left of 1024/,
    ],
    ["kubeadm's range alone", { nodes, configMaps: [kubeadm] }, 300, "breaks Nodes", /253 ranges/],
    ["a range that is not visible", { nodes }, 300, "costs Nodes", /whole range is not visible/],
    ["Nodes without ranges", { nodes: [worker("w")] }, 300, undefined, /^$/],
    [
      "allocation is off",
      { nodes, systemPods: manager("--allocate-node-cidrs=false", "--cluster-cidr=10.244.0.0/16") },
      300,
      undefined,
      /^$/,
    ],
    [
      "a configuration that is no YAML",
      { nodes: [], configMaps: [{ ...kubeadm, data: { ClusterConfiguration: "[" } }] },
      300,
      undefined,
      /^$/,
    ],
  ])("%s → %#", (_, objects, machines, finding, says) => {
    expect(found(nodeCidrs, objects, { machines })).toEqual(finding === undefined ? [] : [finding]);
    expect(textOf(nodeCidrs, objects, { machines })).toMatch(says);
  });

  test("two families → a finding for each", () => {
    const flags = ["--allocate-node-cidrs=true", "--cluster-cidr=10.244.0.0/16,fd00::/56"];
    expect(found(nodeCidrs, { nodes, systemPods: manager(...flags) }, { machines: 254 })).toEqual([
      "breaks Nodes",
      "costs Nodes",
    ]);
  });
});

const CLOUD = ["--cloud-provider=aws", "--allocate-node-cidrs=true"];

test.each<[situation: string, flags: string[], findings: string[]]>([
  ["a cloud and allocation", CLOUD, ["costs Deployment shop/cloud-controller-manager"]],
  ["routes are off", [...CLOUD, "--configure-cloud-routes=false"], []],
  ["no allocation", ["--cloud-provider=aws"], []],
  ["no cloud", ["--allocate-node-cidrs=true"], []],
  ["an external cloud", ["--cloud-provider=external", "--allocate-node-cidrs=true"], []],
])("the route controller with %s → %j", (_, flags, findings) => {
  expect(found(routes, { deployments: [program("cloud-controller-manager", flags)] })).toEqual(findings);
});

test.each([
  ["kube-router", ["costs Deployment shop/kube-router"]],
  ["antrea-controller", ["costs Deployment shop/antrea-controller"]],
  ["calico-node", []],
])("the network plugin %s → %j", (name, findings) => {
  expect(found(nodeAgents, { deployments: [program(name)] })).toEqual(findings);
});
