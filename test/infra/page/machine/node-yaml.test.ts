import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { nodeYaml } from "../../../../infra/page/machine/node-yaml.tsx";

it("keys in kubectl's order, without managedFields, lists not indented", () => {
  const node = {
    status: { capacity: { pods: "110", cpu: "4" } },
    kind: "Node",
    metadata: {
      name: "edge-7",
      managedFields: [{ manager: "rollcall" }],
      labels: { "rollcall.dev/machine": "true", "kubernetes.io/os": "linux", site: "on" },
    },
    spec: { taints: [{ effect: "NoSchedule", key: "a" }] },
    apiVersion: "v1",
  };
  expect(nodeYaml(node, stringify)).toBe(`apiVersion: v1
kind: Node
metadata:
  labels:
    kubernetes.io/os: linux
    rollcall.dev/machine: "true"
    site: "on"
  name: edge-7
spec:
  taints:
  - effect: NoSchedule
    key: a
status:
  capacity:
    cpu: "4"
    pods: "110"
`);
});

it("a stored Node without kind and version gets both; long texts stay on their line", () => {
  const text = nodeYaml({ metadata: { annotations: { a: "x ".repeat(200) } } }, stringify);
  expect(text.split("\n")[0]).toBe("apiVersion: v1");
  expect(parse(text)).toMatchObject({ kind: "Node", metadata: { annotations: { a: "x ".repeat(200) } } });
});
