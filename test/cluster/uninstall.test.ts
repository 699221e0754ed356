// rollcall uninstall --cluster on a real apiserver, while the Worker runs on and its machines report: what was listed is
// gone, nothing of it comes back, and what is others' stays. Runs where KUBEBUILDER_ASSETS has kubectl and
// kube-controller-manager, without which no namespace ever ends.
import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { controllerManagerOf } from "./faults/cluster.ts";
import { type RealDeployment, startRealDeployment } from "../deploy/real-deployment.ts";

const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";

describe.skipIf(controllerManagerOf(assets) === undefined)("uninstall --cluster", () => {
  let deployment: RealDeployment;
  beforeAll(async () => {
    deployment = await startRealDeployment(assets);
  });
  afterAll(() => deployment.stop());

  /** A home, since kubectl keeps there what it has learnt of the apiserver. */
  const environment = () => ({
    PATH: `${assets}:${process.env["PATH"]}`,
    KUBECONFIG: deployment.kubeconfig,
    HOME: dirname(deployment.kubeconfig),
  });
  const uninstall = (...args: string[]) =>
    deployment.worker.rollcallProcess(["uninstall", "--cluster", ...args], environment());
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", args, { env: { ...process.env, ...environment() } }).toString();
  /** Whatever has our name, of every kind that the file has. */
  const left = () =>
    kubectl(
      "get",
      "nodes,leases,serviceaccounts,secrets,roles,rolebindings,clusterroles,clusterrolebindings,namespaces," +
        "validatingadmissionpolicies,validatingadmissionpolicybindings,flowschemas,prioritylevelconfigurations",
      "-A",
      "-o",
      "name",
    )
      .split("\n")
      .filter((name) => /rollcall|sim-|stranger|east/.test(name));

  it("lists, asks, removes all but what another deployment needs; then all of it, and the Worker brings nothing back", async () => {
    const machines = [await deployment.machine(1), await deployment.machine(2)];
    for (const { report } of machines) expect(await report()).toBe("registered");
    await deployment.core.createNode({ body: { metadata: { name: "stranger" } } });
    kubectl("create", "serviceaccount", "east", "-n", "rollcall-system");

    const before = left();
    const asked = await uninstall();
    expect(asked).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Nobody can be asked here: pass --yes") as string,
    });
    expect(asked.stdout.split("\n")).toEqual([
      "Of the deployment rollcall will be removed:",
      "  serviceaccount/rollcall in rollcall-system",
      "  secret/rollcall in rollcall-system",
      "  2 Nodes: sim-1, sim-2",
      "  2 leases in kube-node-lease: sim-1, sim-2",
      "  roles, policies and the namespace stay: east needs them",
      "",
    ]);
    expect((await uninstall("--dry-run")).code).toBe(0);
    expect(left()).toEqual(before);

    expect(await uninstall("--yes")).toMatchObject({ code: 0, stderr: "" });
    const gone = new Set(["node/sim-1", "node/sim-2", "serviceaccount/rollcall", "secret/rollcall"]);
    const isGone = (name: string) => gone.has(name) || name.startsWith("lease.");
    expect(left()).toEqual(before.filter((name) => !isGone(name)));
    for (const { report } of machines) expect(await report()).not.toBe("registered");

    const all = await uninstall("--deployment", "east", "--yes");
    expect(all).toMatchObject({ code: 0, stderr: "" });
    expect(all.stdout).toContain("removed, and nothing of it is left\n");
    for (const { report } of machines) await report();
    expect(left()).toEqual(["node/stranger"]);
    expect((await uninstall()).stdout).toBe("nothing of the deployment rollcall is in this cluster\n");
  });
});
