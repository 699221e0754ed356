// How the local Worker is configured: what an older version has stored must be found by this one.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { prepareWorker } from "../../../infra/local/workerd.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-workerd-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

it("objects are stored under the keys that they have always been stored under, whatever their classes are called", async () => {
  await prepareWorker({
    folder,
    root: resolve(import.meta.dirname, "../../.."),
    port: 8787,
    deployment: "rollcall",
    kubeUrl: "https://127.0.0.1:6443",
    kubeCa: undefined,
    kubeToken: "t",
    macKeys: "",
    adminSecretSha256: "",
  });
  const configuration = readFileSync(join(folder, "workerd.capnp"), "utf8");
  const keys = [...configuration.matchAll(/className = "(\w+)", uniqueKey = "([\w-]+)"/g)];
  expect(keys.map(([, className, key]) => [className, key])).toEqual([
    ["NodeObject", "rollcall-node"],
    ["RegistryObject", "rollcall-fleet"],
    ["ClusterObject", "rollcall-cluster"],
    ["IndexObject", "rollcall-index"],
    ["GatewayObject", "rollcall-gateway"],
  ]);
});
