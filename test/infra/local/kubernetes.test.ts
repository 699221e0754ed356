// Tests the list of deployments whose machines may lack the taint rollcall.dev/facts-only. `npm start` adds its
// deployment to the list, and keeps the deployments that an operator has named.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApiserver, type RunningApiserver } from "../../../infra/local/apiserver/serve.ts";
import {
  allowWithoutFactsOnlyTaint,
  applyFile,
  type Cluster,
  writeKubeconfig,
} from "../../../infra/local/kubernetes.ts";
import { ROOT, temporaryFolder } from "../../e2e/local-cluster.ts";

const path = "/api/v1/namespaces/rollcall-system";
const RBAC = join(ROOT, "infra/rbac/rollcall.yaml");
const KEY = "rollcall.dev/without-facts-only-taint";
let folder: { path: string; remove: () => void };
let apiserver: RunningApiserver;
let cluster: Cluster;

beforeAll(async () => {
  folder = temporaryFolder();
  apiserver = await startApiserver({ dir: join(folder.path, "cluster"), port: 0 });
  const ca = readFileSync(apiserver.caFile, "utf8");
  cluster = writeKubeconfig(join(folder.path, "kubeconfig"), apiserver.url, ca, apiserver.adminToken);
  await applyFile(cluster, RBAC);
});
afterAll(async () => {
  await apiserver.stop();
  folder.remove();
});

async function annotation(): Promise<string | undefined> {
  const found = await cluster.admin({ method: "GET", path });
  return (found as { metadata: { annotations?: Record<string, string> } }).metadata.annotations?.[KEY];
}

it("not asked for → no deployment may", async () => {
  expect(await annotation()).toBeUndefined();
});

it.each([
  ["the first", "rollcall", "rollcall"],
  ["one that may already", "rollcall", "rollcall"],
  ["another", "east", "rollcall,east"],
])("%s (%s) → %s", async (_, deployment, named) => {
  await allowWithoutFactsOnlyTaint(cluster.admin, deployment);
  expect(await annotation()).toBe(named);
});

it("the file is applied again → what was decided stays", async () => {
  await applyFile(cluster, RBAC);
  expect(await annotation()).toBe("rollcall,east");
});

it("an operator has named some, with blanks → they stay", async () => {
  const metadata = { name: "rollcall-system", annotations: { [KEY]: "north, south" } };
  const body = { apiVersion: "v1", kind: "Namespace", metadata };
  await cluster.admin({ method: "PATCH", path: `${path}?fieldManager=operator&force=true`, body });
  await allowWithoutFactsOnlyTaint(cluster.admin, "rollcall");
  expect(await annotation()).toBe("north,south,rollcall");
});
