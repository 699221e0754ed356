// Tests infra/chart on a real apiserver: Helm installs the chart, and the cluster then has the objects of infra/rbac.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../e2e/local-cluster.ts";
import { commandsBelow, runCommands } from "../house/page-commands.ts";
import { type Cluster, clusterAt, kubectl } from "./kubectl.ts";
import { assets, breakableServer, KUBECTL, type ServerInTurn, TURN_MS } from "./servers.ts";

const RBAC = join(ROOT, "infra/rbac");
const noHelm = spawnSync("helm", ["version"]).error === undefined ? "" : " (skipped: helm is not installed)";

describe.skipIf(assets === "" || noHelm !== "")(`the chart on a real apiserver${noHelm}`, () => {
  let server: ServerInTurn;
  let cluster: Cluster;
  beforeAll(async () => {
    server = await breakableServer();
    cluster = clusterAt(server);
  }, TURN_MS);
  afterAll(async () => {
    await cluster?.stop();
    server?.release();
  });
  const reader = () => ({ cwd: ROOT, env: { KUBECONFIG: cluster.kubeconfig, HOME: cluster.home } });

  it("as the page installs it, twice → the cluster has the objects of infra/rbac", async () => {
    const [install = ""] = commandsBelow("docs/cluster.md", "With Helm");
    // Another test may have applied the manifests on this server before.
    const command = install.replace("helm upgrade", "helm upgrade --take-ownership");
    for (const revision of ["REVISION: 1", "REVISION: 2"])
      expect((await runCommands(command, reader())).stdout).toContain(revision);
    const files = ["rollcall.yaml", "flow-control.yaml"].flatMap((file) => ["-f", join(RBAC, file)]);
    const args = ["diff", "--server-side", "--force-conflicts", ...files];
    expect(await kubectl(KUBECTL, cluster, { args })).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  it("with all values → the server accepts each object", async () => {
    const flags = "--set 'strandedPods=true,nodeFeatures=true,deployments={rollcall,east}'";
    const { stdout: input } = await runCommands(
      `helm template rollcall infra/chart --kube-version 1.30.0 ${flags}`,
      reader(),
    );
    const args = [
      "apply",
      "--server-side",
      "--force-conflicts",
      "--validate=strict",
      "--dry-run=server",
      "-f",
      "-",
    ];
    expect(await kubectl(KUBECTL, cluster, { args, input })).toMatchObject({ code: 0, stderr: "" });
  });
});
