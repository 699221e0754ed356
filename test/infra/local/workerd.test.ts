// Tests the local Worker's configuration: this version must find the data that an older version has stored.
import { expect, it } from "vitest";
import { workerConfiguration } from "../../../infra/local/workerd.ts";
import { ROOT } from "../../e2e/local-cluster.ts";

const SETTINGS = {
  folder: "/state",
  root: ROOT,
  port: 8787,
  deployment: "rollcall",
  kubeUrl: "https://127.0.0.1:6443",
  kubeCa: undefined,
  kubeToken: "t",
  macKeys: "",
  adminSecretSha256: "",
};

it.each([
  ["no name of its own → the URL's host", undefined, "127.0.0.1"],
  ["a kubeconfig's tls-server-name → that name", "kube.example", "kube.example"],
])("the name that the apiserver's certificate must have: %s", (_situation, kubeServerName, expected) => {
  expect(workerConfiguration({ ...SETTINGS, kubeServerName })).toContain(`certificateHost = "${expected}"`);
});

it("objects are stored under the keys that they have always been stored under, whatever their classes are called", () => {
  const configuration = workerConfiguration(SETTINGS);
  const keys = [...configuration.matchAll(/className = "(\w+)", uniqueKey = "([\w-]+)"/g)];
  expect(keys.map(([, className, key]) => [className, key])).toEqual([
    ["NodeObject", "rollcall-node"],
    ["RegistryObject", "rollcall-fleet"],
    ["ClusterObject", "rollcall-cluster"],
    ["IndexObject", "rollcall-index"],
    ["GatewayObject", "rollcall-gateway"],
  ]);
});
