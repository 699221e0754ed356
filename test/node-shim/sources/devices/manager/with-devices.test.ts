// --device-plugins, given and not → what the facts say of devices.
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startDevices } from "../../../../../node-shim/sources/devices/manager.ts";
import type { Facts } from "../../../../../shared/protocol/facts.ts";
import { gone, GPU, machine, NOTHING } from "../plugin.ts";

const facts: Facts = {
  settings: {
    hostname: "edge-1",
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeStatusReportFrequencyMs: 300_000,
    nodeLeaseDurationSeconds: 40,
    registerWithTaints: null,
    maxPods: 110,
  },
  platform: { os: "linux", architecture: "amd64" },
  runtime: null,
};
const gather = () => Promise.resolve({ facts, vitals: { signals: {} } });
const RECORD = JSON.stringify({ registered: [GPU], removed: [] });

const OPTIONS = { nowMs: () => 0, sleep: () => Promise.resolve(), log: () => undefined };

test.each<[situation: string, isOn: boolean, record: string | null, devices: Facts["devices"]]>([
  ["off, and never on", false, null, undefined],
  ["off, and on before: what its plugins had is gone", false, RECORD, gone()],
  ["off, with a record that is damaged", false, "{", undefined],
  ["on", true, null, NOTHING],
])("$0 → devices $3", async (_situation, isOn, record, devices) => {
  const { folder, stateFolder } = machine();
  if (record !== null) writeFileSync(join(stateFolder, "devices.json"), record);
  const options = { ...OPTIONS, stateFolder };
  const started = startDevices(gather, isOn ? folder : undefined, options);
  const gathered = await (await started.gathering)();
  expect(gathered).toEqual({ facts: devices ? { ...facts, devices } : facts, vitals: { signals: {} } });
  expect(existsSync(folder)).toBe(isOn);
  await started.close();
});

test("ended while it starts → no socket is left", async () => {
  const { folder, stateFolder } = machine();
  const { close } = startDevices(gather, folder, { ...OPTIONS, stateFolder });
  await close();
  expect(readdirSync(folder)).toEqual([]);
});
