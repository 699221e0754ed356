// Tests extended resources of a machine with device plugins, from report to Node: counted, lost, reset.
import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { factsForPods as facts } from "../worker/support/facts.ts";
import { enrolled, HEALTHY, kube, shimOf } from "../worker/support/machine.ts";

const GPU = "example.com/gpu";
type Devices = NonNullable<Facts["devices"]>;
const gpus = (capacity: number, allocatable: number): Devices => ({
  capacity: { [GPU]: capacity },
  allocatable: { [GPU]: allocatable },
  removed: [],
  recorded: true,
});
const none = (more: Partial<Devices> = {}): Devices => ({
  capacity: {},
  allocatable: {},
  removed: [],
  ...more,
});

async function gpusOf(name: string): Promise<[string | undefined, string | undefined]> {
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  return [status?.capacity?.[GPU], status?.allocatable?.[GPU]];
}

/** Returns a machine with 4 GPUs whose Node runs pods. On other Nodes no GPU is allocatable. */
async function withGpus(name: string) {
  const machine = await enrolled(name, { withoutFactsOnlyTaint: true });
  const report = shimOf(machine);
  await report(facts(name, { devices: gpus(4, 4) }), HEALTHY);
  expect(await gpusOf(name)).toEqual(["4", "4"]);
  /** Restarts the shim, after a pause so long that the new process cannot count as a second sender. */
  const restarted = async () => {
    await evictDurableObject(env.NODES.getByName(name));
    return shimOf(machine, "start-2");
  };
  return { report, restarted };
}

test("one of four becomes unhealthy, the plugin is lost, its resource removed → 4/3, 4/0, 0/0", async () => {
  const name = "devices-counted";
  const { report } = await withGpus(name);
  await report(facts(name, { devices: gpus(4, 3) }), HEALTHY);
  expect(await gpusOf(name)).toEqual(["4", "3"]);
  await report(facts(name, { devices: gpus(4, 0) }), HEALTHY);
  expect(await gpusOf(name)).toEqual(["4", "0"]);
  await report(facts(name, { devices: none({ removed: [GPU], recorded: true }) }), HEALTHY);
  expect(await gpusOf(name)).toEqual(["0", "0"]);
});

test.each<[name: string, situation: string, devices: Devices | undefined, gpus: string]>([
  ["devices-reset", "no record of devices", none({ recorded: false }), "0"],
  ["devices-recorded", "a record", none({ recorded: true }), "4"],
  ["devices-older", "a machine that does not say", none(), "4"],
  ["devices-off", "no device plugins", undefined, "4"],
])("$0: the shim starts again with $1 → the Node has $3", async (name, _situation, devices, expected) => {
  const { restarted } = await withGpus(name);
  const report = await restarted();
  await report(facts(name, devices && { devices }), HEALTHY);
  expect(await gpusOf(name)).toEqual([expected, expected]);
});

test.each<[name: string, whose: string, manager: string, grant: Record<string, unknown>]>([
  ["devices-of-others", "another agent has set", "gpu-agent", {}],
  ["devices-beyond", "the token does not allow", "rollcall.rollcall", { mayResource: [] }],
])("$0: a reset leaves what $1", async (name, _whose, manager, grant) => {
  const machine = await enrolled(name, grant);
  await shimOf(machine)(facts(name), HEALTHY);
  const { status, ...node } = await kube("GET", `/api/v1/nodes/${name}`);
  const capacity = { ...status?.capacity, [GPU]: "2" };
  const path = `/api/v1/nodes/${name}/status?fieldManager=${manager}`;
  await kube("PUT", path, { ...node, status: { ...status, capacity } });
  await shimOf(machine, "start-2")(facts(name, { devices: none({ recorded: false }) }), HEALTHY);
  expect((await gpusOf(name))[0]).toBe("2");
});

test("a reset happens at registration only → later resources of other writers stay", async () => {
  const name = "devices-announced";
  const { restarted } = await withGpus(name);
  const report = await restarted();
  const without = facts(name, { devices: none({ recorded: false }) });
  await report(without, HEALTHY);
  const node = await kube("GET", `/api/v1/nodes/${name}`);
  const capacity = { ...node.status?.capacity, [GPU]: "2" };
  await kube("PUT", `/api/v1/nodes/${name}/status`, { ...node, status: { ...node.status, capacity } });
  await report(without, HEALTHY);
  expect((await gpusOf(name))[0]).toBe("2");
});
