// Tests a machine's hardware in its Node's labels and in its history.
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { enrolled, facts, HEALTHY, kube, shimOf } from "../worker/support/machine.ts";

const labelsOf = async (name: string) => (await kube("GET", `/api/v1/nodes/${name}`)).metadata?.labels ?? {};
const historyOf = async (name: string) =>
  (await env.NODES.getByName(name).history({ limit: 100, kind: ["hardware"] })).map(({ text }) => text);

function factsWith(name: string, inventory: Facts["inventory"], inventoryLabels = true): Facts {
  const machine = facts(name, inventory === undefined ? {} : { inventory });
  return { ...machine, settings: { ...machine.settings, inventoryLabels } };
}
const MODEL = "rollcall.dev/cpu-model";

it("found after the registration → labels; a new processor → a new label, and a line of history", async () => {
  const name = "inventory-labels";
  const report = shimOf(await enrolled(name));
  await report(factsWith(name, undefined), HEALTHY);
  expect(await labelsOf(name)).not.toHaveProperty([MODEL]);
  await report(factsWith(name, { cpu: { vendor: "AMD", model: "EPYC 7B13" } }), HEALTHY);
  expect(await labelsOf(name)).toMatchObject({ [MODEL]: "EPYC-7B13", "rollcall.dev/cpu-vendor": "AMD" });
  await report(factsWith(name, { cpu: { model: "EPYC 9B14" } }), HEALTHY);
  const labels = await labelsOf(name);
  expect(labels).toMatchObject({ [MODEL]: "EPYC-9B14", "rollcall.dev/hostname": name });
  expect(labels).not.toHaveProperty(["rollcall.dev/cpu-vendor"]);
  expect(await historyOf(name)).toEqual(["CPU: AMD EPYC 7B13 → EPYC 9B14"]);
});

it("a restarted shim without hardware facts yet → the labels stay, and history has no line", async () => {
  const name = "inventory-restart";
  const machine = await enrolled(name);
  const inventory = { cpu: { model: "EPYC" } };
  await shimOf(machine)(factsWith(name, inventory), HEALTHY);
  const report = shimOf(machine, "start-2");
  await report(factsWith(name, undefined), HEALTHY);
  await report(factsWith(name, undefined), HEALTHY);
  expect(await labelsOf(name)).toMatchObject({ [MODEL]: "EPYC" });
  await report(factsWith(name, inventory), HEALTHY);
  expect(await historyOf(name)).toEqual([]);
});

it.each([
  ["labels are no longer wanted", { cpu: { model: "EPYC" } }, false],
  ["an inventory is no longer wanted", null, true],
])("%s → they go", async (situation, inventory, inventoryLabels) => {
  const name = inventoryLabels ? "inventory-off" : "inventory-labels-off";
  const report = shimOf(await enrolled(name));
  await report(factsWith(name, { cpu: { model: "EPYC" } }), HEALTHY);
  expect(await labelsOf(name)).toHaveProperty([MODEL]);
  await report(factsWith(name, inventory, inventoryLabels), HEALTHY);
  expect(await labelsOf(name), situation).not.toHaveProperty([MODEL]);
});
