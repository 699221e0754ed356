// Tests a machine in a cloud: which parts of its Node come from the cloud, and what its registration waits for.
import { describe, expect, it } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { enrolled, facts, HEALTHY, kube, shimOf } from "../worker/support/machine.ts";

const CLOUD: NonNullable<Facts["cloud"]> = {
  providerID: "aws:///eu-west-1a/i-0123456789abcdef0",
  instanceType: "m6g.large",
  zone: "eu-west-1a",
  region: "eu-west-1",
  addresses: [
    { type: "InternalIP", address: "10.0.0.5" },
    { type: "ExternalIP", address: "203.0.113.9" },
    { type: "Hostname", address: "ip-10-0-0-5.eu-west-1.compute.internal" },
  ],
};
const getNode = (name: string) => kube("GET", `/api/v1/nodes/${name}`);

function factsIn(name: string, settings: Partial<Facts["settings"]>, more: Partial<Facts> = {}): Facts {
  const machine = facts(name, more);
  return { ...machine, settings: { ...machine.settings, ...settings } };
}

describe("metadata of a cloud", () => {
  it("→ a Node with its provider ID, instance type, zone, region and addresses", async () => {
    const name = "cloud-node";
    const report = shimOf(await enrolled(name));
    await report(factsIn(name, { cloudProvider: "aws" }, { cloud: CLOUD }), HEALTHY);
    const node = await getNode(name);
    expect(node.spec?.providerID).toBe(CLOUD.providerID);
    expect(node.metadata?.labels).toMatchObject({
      "node.kubernetes.io/instance-type": "m6g.large",
      "rollcall.dev/zone": "eu-west-1a",
      "rollcall.dev/region": "eu-west-1",
    });
    expect(node.status?.addresses).toEqual(CLOUD.addresses);
    expect(node.spec?.taints?.map(({ key }) => key)).not.toContain(
      "node.cloudprovider.kubernetes.io/uninitialized",
    );
  });

  it("that cannot be read yet → registration waits with a message, then continues by itself", async () => {
    const name = "cloud-waits";
    const report = shimOf(await enrolled(name));
    const waiting = await report(factsIn(name, { cloudProvider: "gce" }), HEALTHY);
    expect(waiting).toMatchObject({
      ok: true,
      value: {
        phase: "registering",
        ready: false,
        message: "failed to get instance ID from cloud provider: the cloud's metadata could not be read yet",
        reportInMs: expect.toSatisfy((ms: number) => ms >= 150 && ms <= 200),
      },
    });
    expect(await getNode(name)).toMatchObject({ code: 404 });
    const registered = await report(factsIn(name, { cloudProvider: "gce" }, { cloud: CLOUD }), HEALTHY);
    expect(registered).toMatchObject({ value: { phase: "registered", ready: true } });
    expect((await getNode(name)).spec?.providerID).toBe(CLOUD.providerID);
  });

  it("a configured providerID and hostname → win over the cloud's", async () => {
    const name = "cloud-configured";
    const settings = { cloudProvider: "aws", providerID: "mine://1", hostnameOverridden: true } as const;
    await shimOf(await enrolled(name))(factsIn(name, settings, { cloud: CLOUD }), HEALTHY);
    const node = await getNode(name);
    expect(node.spec?.providerID).toBe("mine://1");
    expect(node.status?.addresses).toContainEqual({ type: "Hostname", address: name });
  });

  it("addresses that change → the Node has the new ones with the next report", async () => {
    const name = "cloud-moves";
    const report = shimOf(await enrolled(name));
    const settings = { cloudProvider: "aws" } as const;
    await report(factsIn(name, settings, { cloud: CLOUD }), HEALTHY);
    const addresses = [{ type: "InternalIP" as const, address: "10.0.0.99" }];
    await report(factsIn(name, settings, { cloud: { ...CLOUD, addresses } }), HEALTHY);
    expect((await getNode(name)).status?.addresses).toEqual(addresses);
  });

  it("without addresses → the machine's own, as without a cloud", async () => {
    const name = "cloud-file";
    const cloud = { providerID: "", instanceType: "", zone: "shop" };
    await shimOf(await enrolled(name))(factsIn(name, { cloudProvider: "file" }, { cloud }), HEALTHY);
    const node = await getNode(name);
    expect(node.status?.addresses).toContainEqual({ type: "InternalIP", address: "10.0.0.5" });
    expect(node.metadata?.labels).toMatchObject({ "rollcall.dev/zone": "shop" });
    expect(node.metadata?.labels).not.toHaveProperty(["node.kubernetes.io/instance-type"]);
    expect(node.spec?.providerID).toBeUndefined();
  });
});

describe("--cloud-provider external", () => {
  const TAINT = {
    key: "node.cloudprovider.kubernetes.io/uninitialized",
    value: "true",
    effect: "NoSchedule",
  };
  const addressed = { nodeIPs: ["10.0.0.5"], lookup: [], onInterface: ["10.0.0.5"], defaultRoute: {} };

  it("→ the taint that the cloud's controller removes, and the configured address", async () => {
    const name = "cloud-external";
    const machine = factsIn(name, { cloudProvider: "external" }, { addresses: addressed });
    await shimOf(await enrolled(name))(machine, HEALTHY);
    const node = await getNode(name);
    expect(node.spec?.taints).toContainEqual(TAINT);
    expect(node.metadata?.annotations).toMatchObject({ "alpha.kubernetes.io/provided-node-ip": "10.0.0.5" });
  });

  it("that taint is also configured → it is present once, as the apiserver requires", async () => {
    const name = "cloud-external-tainted";
    const machine = factsIn(
      name,
      { cloudProvider: "external", registerWithTaints: [{ ...TAINT, effect: "NoSchedule", value: "mine" }] },
      { addresses: addressed },
    );
    await shimOf(await enrolled(name))(machine, HEALTHY);
    const taints = (await getNode(name)).spec?.taints ?? [];
    expect(taints.filter(({ key }) => key === TAINT.key)).toEqual([TAINT]);
  });

  it("addresses that the controller has set → stay", async () => {
    const name = "cloud-controlled";
    const enrolment = await enrolled(name);
    const machine = factsIn(name, { cloudProvider: "external" }, { addresses: addressed });
    await shimOf(enrolment)(machine, HEALTHY);
    const addresses = [{ type: "ExternalIP", address: "203.0.113.4" }];
    const node = await getNode(name);
    await kube("PUT", `/api/v1/nodes/${name}/status`, { ...node, status: { ...node.status, addresses } });
    // A new process of the shim makes the object read the Node again.
    const report = shimOf(enrolment, "start-2");
    await report(machine, HEALTHY);
    await report(machine, { ...HEALTHY, shuttingDown: true });
    const after = await getNode(name);
    expect(after.status?.addresses).toEqual(addresses);
    expect(after.status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Ready", status: "False" }),
    );
  });
});
