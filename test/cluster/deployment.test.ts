// Tests a deployment on a real apiserver. Deleting the deployment's whole state leaves every Node. Uninstalling the
// deployment, while its Worker runs and its machines report, removes the listed objects for good. Objects of others
// stay.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import type { SimulatedMachine } from "../e2e/simulated-machine.ts";
import { type RealDeployment, startDeployment } from "./deployment.ts";
import { assets, hasControllerManager, TURN_MS } from "./servers.ts";

const PAGE = "docs/backup.md";
/** Matches a page's command for a join token that many machines share, and captures the command's flags. */
const BY_ONE = /`rollcall token create (--names 'edge-\*' [^`]*)`/;
const NODES = [1, 2, 3, 4].map((index) => `node/sim-${index}`);

describe.skipIf(assets === "")("a deployment on a real apiserver", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-backup-"));
  const file = join(folder, "backup.jsonl");
  let deployment: RealDeployment;
  let machines: SimulatedMachine[];

  beforeAll(async () => {
    deployment = await startDeployment();
    machines = await Promise.all([1, 2, 3, 4].map((index) => deployment.machine(index)));
    for (const { report } of machines) expect(await report()).toBe("registered");
  }, TURN_MS);
  afterAll(async () => {
    await deployment?.stop();
    rmSync(folder, { recursive: true });
  });

  /** Returns the environment of kubectl. HOME contains kubectl's cache of the apiserver's resources. */
  const environment = () => ({
    PATH: `${assets}:${process.env["PATH"]}`,
    KUBECONFIG: deployment.kubeconfig,
    HOME: dirname(deployment.kubeconfig),
  });
  const uninstall = (...args: string[]) =>
    deployment.worker.rollcallProcess(["uninstall", "--cluster", ...args], environment());
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", args, { env: { ...process.env, ...environment() } }).toString();
  /** Lists the remaining objects that have the deployment's name, of every kind in the manifest. */
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

  it("all state is deleted, with a backup → export, import, and all machines keep reporting; changes by others to their Nodes stay", async () => {
    const { worker, core, uidOf } = deployment;
    const [cordoned] = machines as [SimulatedMachine];
    const taint = { key: "example.com/maintenance", effect: "NoSchedule" };
    // The Worker may write the Node between the test's read and write; the next attempt then reads a newer version.
    await eventually(async () => {
      const node = await core.readNode({ name: cordoned.name });
      node.spec?.taints?.push(taint);
      return core.replaceNode({ name: cordoned.name, body: node });
    });
    const before = await Promise.all(machines.map(({ name }) => uidOf(name)));

    expect(await worker.rollcall(["export", file])).toMatchObject({ code: 0, stdout: "" });
    await worker.loseAll();
    expect(await machines[0]!.report()).toBe("unauthenticated");
    expect(await worker.rollcall(["import", file])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^the backup \S+ is imported: 4 machines, 0 of them have reported since\n/,
      ) as string,
    });
    for (const { report } of machines) await eventually(async () => (await report()) === "registered");
    expect(await worker.rollcall(["import", "--status"])).toMatchObject({
      stdout: expect.stringMatching(/4 machines, 4 of them have reported since\n$/) as string,
    });
    expect(await Promise.all(machines.map(({ name }) => uidOf(name)))).toEqual(before);
    const after = await core.readNode({ name: cordoned.name });
    expect(after.spec?.taints).toContainEqual(taint);
    const ready = after.status?.conditions?.find(({ type }) => type === "Ready");
    expect(ready?.status).toBe("True");
    await eventually(async () => {
      const { stdout } = await worker.rollcall(["nodes", "-o", "name"]);
      return machines.every(({ name }) => stdout.includes(`${name}\n`));
    });
    expect(await worker.rollcall(["import", file])).toMatchObject({ code: 0 });
  });

  it("all state is deleted, without a backup → one token for many, and the same Nodes", async () => {
    const { worker, uidOf, machine } = deployment;
    const before = await Promise.all(machines.map(({ name }) => uidOf(name)));
    await worker.loseAll();
    expect(await machines[0]!.report()).toBe("unauthenticated");
    const [, words = ""] = BY_ONE.exec(readFileSync(join(ROOT, PAGE), "utf8")) ?? [];
    const args = words.replaceAll("'", "").replace("edge-*", "sim-*").split(" ");
    const { stdout } = await worker.rollcall(["token", "create", ...args]);
    const again = await Promise.all(
      [1, 2, 3, 4].map((index) => machine(index, { joinToken: stdout.trim() })),
    );
    for (const { report } of again) expect(await report()).toBe("registered");
    machines = again;
    expect(await Promise.all(machines.map(({ name }) => uidOf(name)))).toEqual(before);
  });

  it.skipIf(!hasControllerManager)(
    "uninstall lists, asks, removes all but what another deployment needs; then everything, and the Worker creates nothing again",
    async () => {
      await deployment.core.createNode({ body: { metadata: { name: "stranger" } } });
      kubectl("create", "serviceaccount", "east", "-n", "rollcall-system");

      const before = left();
      const asked = await uninstall();
      expect(asked).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("There is no terminal to ask at: pass --yes") as string,
      });
      expect(asked.stdout.split("\n")).toEqual([
        "Of the deployment rollcall will be removed:",
        "  serviceaccount/rollcall in rollcall-system",
        "  secret/rollcall in rollcall-system",
        "  4 Nodes: sim-1, sim-2, sim-3, sim-4",
        "  4 leases in kube-node-lease: sim-1, sim-2, sim-3, sim-4",
        "  roles, policies and the namespace stay: east needs them",
        "",
      ]);
      expect(left()).toEqual(before);

      expect(await uninstall("--yes")).toMatchObject({ code: 0, stderr: "" });
      const gone = new Set([...NODES, "serviceaccount/rollcall", "secret/rollcall"]);
      const isGone = (name: string) => gone.has(name) || name.startsWith("lease.");
      expect(left()).toEqual(before.filter((name) => !isGone(name)));
      for (const { report } of machines) expect(await report()).not.toBe("registered");

      const all = await uninstall("--deployment", "east", "--yes");
      expect(all).toMatchObject({ code: 0, stderr: "" });
      expect(all.stdout).toContain("removed, and nothing of it is left\n");
      for (const { report } of machines) await report();
      expect(left()).toEqual(["node/stranger"]);
    },
  );
});
