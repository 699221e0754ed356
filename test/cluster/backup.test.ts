// A deployment whose whole state is thrown away, on a real apiserver: with its backup every machine goes on with its key and
// the same Node; without it each one comes back with a rejoin token. Runs where KUBEBUILDER_ASSETS names a folder.
import { join } from "node:path";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, ROOT } from "../e2e/local-cluster.ts";
import { type RealDeployment, startRealDeployment } from "../deploy/real-deployment.ts";
import type { SimulatedMachine } from "../e2e/simulated-machine.ts";

const PAGE = "docs/backup.md";
/** The flags of the token that many machines share. */
const BY_ONE = /`rollcall token create (--names 'edge-\*' [^`]*)`/;
const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";

describe.skipIf(assets === "")("all state is thrown away", () => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-backup-"));
  const file = join(folder, "backup.jsonl");
  let deployment: RealDeployment;
  let machines: SimulatedMachine[];

  beforeAll(async () => {
    deployment = await startRealDeployment(assets);
    machines = await Promise.all([1, 2, 3, 4].map((index) => deployment.machine(index)));
    for (const { report } of machines) expect(await report()).toBe("registered");
  });
  afterAll(async () => {
    await deployment.stop();
    rmSync(folder, { recursive: true });
  });

  it("with a backup → export, import, and all machines go on; what others did to their Nodes stays", async () => {
    const { worker, core, uidOf } = deployment;
    const [cordoned] = machines as [SimulatedMachine];
    const taint = { key: "example.com/maintenance", effect: "NoSchedule" };
    // The Worker writes as well: another version is read then.
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
        /^the backup \S+ is imported: 4 machines, of which 0 have reported since\n/,
      ) as string,
    });
    for (const { report } of machines) await eventually(async () => (await report()) === "registered");
    expect(await worker.rollcall(["import", "--status"])).toMatchObject({
      stdout: expect.stringMatching(/4 machines, of which 4 have reported since\n$/) as string,
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

  it("without one → a rejoin token each, and the same Node", async () => {
    const { worker, uidOf, machine } = deployment;
    const before = await uidOf("sim-2");
    await worker.loseAll();
    expect(await machines[1]!.report()).toBe("unauthenticated");
    const again = await machine(2, { rejoin: true });
    expect(await again.report()).toBe("registered");
    expect(await uidOf("sim-2")).toBe(before);
  });

  it("without one → one token for many, and the same Nodes", async () => {
    const { worker, uidOf, machine } = deployment;
    const before = await Promise.all(machines.map(({ name }) => uidOf(name)));
    await worker.loseAll();
    const [, words = ""] = BY_ONE.exec(readFileSync(join(ROOT, PAGE), "utf8")) ?? [];
    const args = words.replaceAll("'", "").replace("edge-*", "sim-*").split(" ");
    const { stdout } = await worker.rollcall(["token", "create", ...args]);
    const again = await Promise.all(
      [1, 2, 3, 4].map((index) => machine(index, { joinToken: stdout.trim() })),
    );
    for (const { report } of again) expect(await report()).toBe("registered");
    expect(await Promise.all(machines.map(({ name }) => uidOf(name)))).toEqual(before);
  });
});
