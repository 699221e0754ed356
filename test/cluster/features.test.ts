// Tests the labels of features on a real apiserver: a Worker with FEATURES=labels, and kubectl.
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { type RealDeployment, startDeployment } from "./deployment.ts";
import { assets, TURN_MS } from "./servers.ts";

/** The features of a machine with 200 instruction sets and GPUs of these vendors. */
const features = (...vendors: string[]): Partial<Facts> => ({
  features: {
    flags: { "cpu.cpuid": Array.from({ length: 200 }, (_, at) => `SET${at}`) },
    attributes: { "system.osrelease": { ID: "debian" } },
    instances: {
      "pci.device": { attributes: ["class", "vendor"], rows: vendors.map((vendor) => ["0300", vendor]) },
    },
  },
});

describe.skipIf(assets === "")("features on a real apiserver", () => {
  let deployment: RealDeployment;
  beforeAll(async () => {
    deployment = await startDeployment({ FEATURES: "labels" });
  }, TURN_MS);
  afterAll(() => deployment?.stop());

  /** Returns the names of the Nodes that have the label. */
  const nodesWith = (label: string) =>
    execFileSync("kubectl", ["get", "nodes", "-l", `feature.node.kubernetes.io/${label}`, "-o", "name"], {
      env: { ...process.env, PATH: `${assets}:${process.env["PATH"]}`, KUBECONFIG: deployment.kubeconfig },
    })
      .toString()
      .trim();

  it("kubectl get nodes -l …/pci-10de.present=true → the machine with the GPU, while it has the GPU", async () => {
    const grant = { mayLabel: [], mayFeature: ["pci-*", "cpu-*"] };
    const [gpu, plain, denied] = [
      await deployment.machine(1, grant),
      await deployment.machine(2, grant),
      await deployment.machine(3, { mayLabel: [] }),
    ];
    expect(await gpu.report(features("10de"))).toBe("registered");
    expect(await plain.report(features())).toBe("registered");
    expect(await denied.report(features("10de"))).toBe("registered");
    expect(nodesWith("pci-10de.present=true")).toBe("node/sim-1");
    expect(nodesWith("pci-0300_10de.present=true")).toBe("node/sim-1");
    expect(nodesWith("cpu-cpuid.SET199=true")).toBe("node/sim-1\nnode/sim-2");
    expect(nodesWith("system-os_release.ID=debian")).toBe("");

    expect(await gpu.report(features())).toBe("registered");
    expect(nodesWith("pci-10de.present=true")).toBe("");
    expect(nodesWith("cpu-cpuid.SET199=true")).toBe("node/sim-1\nnode/sim-2");
  });
});
