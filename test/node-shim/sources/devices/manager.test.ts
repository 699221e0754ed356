// Tests the devices in the facts, with device plugins on real sockets.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { type DeviceManager, startDevices } from "../../../../node-shim/sources/devices/manager.ts";
import { STOP_GRACE_MS } from "../../../../node-shim/sources/devices/resources.ts";
import { type Facts, factsSchema } from "../../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../../shared/protocol/limits.ts";
import { eventually } from "../../base/eventually.ts";
import { gone, GPU, gpus, machine, NOTHING, registered, told, TWO_AND_ONE, writeRecord } from "./plugin.ts";
import { vendorPlugin } from "./vendor-plugin.ts";

describe("a plugin", () => {
  it("registers, changes its list, dies, is given up, comes back → counts like the kubelet's", async () => {
    const { folder, said, pass, startShim } = machine();
    const shim = await startShim();
    expect(await shim.read()).toEqual(NOTHING);
    const plugin = await registered(folder, shim);
    plugin.list({ a: "Healthy", b: "unknown" });
    await told(shim).toEqual(gpus(2, 1));
    plugin.list({});
    await told(shim).toEqual(gpus(0, 0));
    plugin.list(TWO_AND_ONE);
    await told(shim).toEqual(gpus(3, 2));
    plugin.kill();
    await told(shim).toEqual(gpus(3, 0));
    pass(STOP_GRACE_MS);
    expect(await shim.read()).toEqual(gpus(3, 0));
    pass(1);
    expect(await shim.read()).toEqual(gone());
    expect(await shim.read()).toEqual(gone());
    await registered(folder, shim, "gpu2.sock");
    expect(said).toEqual([
      `info device plugin for ${GPU} registered`,
      expect.stringMatching(
        /^warn device plugin for example\.com\/gpu is gone: .*unhealthy, and 0 in 5 minutes$/,
      ),
      `info device plugin for ${GPU} registered`,
    ]);
  });

  it("ends its stream → its devices are unhealthy", async () => {
    const { folder, said, startShim } = machine();
    const shim = await startShim();
    const plugin = await registered(folder, shim);
    plugin.end();
    await told(shim).toEqual(gpus(3, 0));
    expect(said.at(-1)).toMatch(/is gone: it ended its stream/);
  });

  it.each<[ended: "older" | "newer"]>([["older"], ["newer"]])(
    "and another one serve a resource, and the %s one ends → the devices stay until the last one ends",
    async (ended) => {
      const { folder, said, startShim } = machine();
      const shim = await startShim();
      const older = await registered(folder, shim, "old.sock");
      const newer = await vendorPlugin(folder, "new.sock");
      newer.list({ a: "Healthy" });
      expect(await newer.register(GPU)).toBeNull();
      await told(shim).toEqual(gpus(1, 1));
      const [first, last] = ended === "older" ? [older, newer] : [newer, older];
      first.kill();
      const gone = `warn device plugin for ${GPU} is gone`;
      await eventually(() => said.at(-1)).toMatch(/is gone: .*; another plugin serves the resource$/);
      expect(await shim.read()).toEqual(gpus(1, 1));
      last.list({ a: "Healthy", b: "Healthy" });
      await told(shim).toEqual(gpus(2, 2));
      last.kill();
      await told(shim).toEqual(gpus(2, 0));
      expect(said.filter((line) => line.startsWith(gone))).toHaveLength(2);
    },
  );

  it("registers again at its socket → counts once, and its end is the last one's", async () => {
    const { folder, said, startShim } = machine();
    const shim = await startShim();
    const plugin = await registered(folder, shim);
    expect(await plugin.register(GPU)).toBeNull();
    plugin.kill();
    await told(shim).toEqual(gpus(3, 0));
    expect(said.filter((line) => line.includes("is gone"))).toHaveLength(1);
  });

  it("is the 17th of its resource → refused; the 16 stay", async () => {
    const { folder, startShim } = machine();
    const shim = await startShim();
    for (let at = 1; at <= 17; at++) {
      const plugin = await vendorPlugin(folder, `p${at}.sock`);
      plugin.list(TWO_AND_ONE);
      expect(await plugin.register(GPU)).toBe(at <= 16 ? null : `${GPU}: there are 16 plugins already`);
    }
    await told(shim).toEqual(gpus(3, 2));
  });

  test.each<[situation: string, resource: string, more: object, error: RegExp]>([
    [
      "another version",
      GPU,
      { version: "v1alpha" },
      /^requested API version "v1alpha" is not supported by kubelet/,
    ],
    ["a native resource", "cpu", {}, /^the ResourceName "cpu" is invalid$/],
    ["kubernetes.io", "kubernetes.io/gpu", {}, /^the ResourceName "kubernetes\.io\/gpu" is invalid$/],
    ["a long name", `example.com/${"a".repeat(64)}`, {}, /is invalid$/],
    ["a path for an endpoint", GPU, { endpoint: "../x.sock" }, /^the endpoint "\.\.\/x\.sock" is not a name/],
    ["no endpoint", GPU, { endpoint: "" }, /^the endpoint "" is not a name/],
    ["an endpoint without a listener", GPU, { endpoint: "no.sock" }, /failed to get device plugin options/],
    ["the registration socket", GPU, { endpoint: "kubelet.sock" }, /code = Unimplemented/],
  ])(
    "registers with %s → refused with a reason, and not counted",
    async (_situation, resource, more, error) => {
      const { folder, said, startShim } = machine();
      const shim = await startShim();
      const plugin = await vendorPlugin(folder, "gpu.sock");
      expect(await plugin.register(resource, more)).toMatch(error);
      expect(await shim.read()).toEqual(NOTHING);
      expect(said).toEqual([expect.stringMatching(/^warn device plugin refused: /)]);
    },
  );

  it("registers the 128th resource and one more → the last is refused, and the facts are accepted", async () => {
    const { folder, stateFolder, startShim } = machine();
    const names = Array.from({ length: FACTS_LIMITS.extendedResources }, (_, at) => `example.com/r${at}`);
    const [first = "", last = ""] = [names[0], names.at(-1)];
    // The record of an earlier process has every name except the last.
    await writeRecord(stateFolder, { registered: names.slice(0, -1), removed: [] });
    const shim = await startShim();
    const plugin = await vendorPlugin(folder, "many.sock");
    plugin.list({ a: "Healthy" });
    expect(await plugin.register(last)).toBeNull();
    expect(await plugin.register(GPU)).toBe(`${GPU}: there are 128 resources already`);
    expect(await plugin.register(first)).toBeNull();
    await eventually(async () => (await shim.read()).capacity).toMatchObject({ [first]: 1, [last]: 1 });
    const devices = await shim.read();
    expect(Object.keys(devices.capacity)).toHaveLength(128);
    expect(factsSchema.shape.devices.safeParse(devices).error).toBeUndefined();
  });
});

describe("another process of the shim", () => {
  it("with the record → 0 until the plugin registers again; its socket is removed, so that the plugin notices", async () => {
    const { folder, stateFolder, startShim } = machine();
    const plugin = await registered(folder, await startShim());
    expect(readFileSync(join(stateFolder, "devices.json"), "utf8")).toContain(GPU);
    const next = await startShim();
    expect(await next.read()).toEqual(gpus(0, 0));
    expect(existsSync(join(folder, "gpu.sock"))).toBe(false);
    plugin.kill();
    await registered(folder, next);
  });

  it("whose plugin does not come back → removed after five minutes, also for the next process", async () => {
    const { folder, pass, startShim } = machine();
    const plugin = await registered(folder, await startShim());
    plugin.kill();
    const next = await startShim();
    pass(STOP_GRACE_MS);
    expect(await next.read()).toEqual(gpus(0, 0));
    pass(1);
    expect(await next.read()).toEqual(gone());
    expect(await (await startShim()).read()).toEqual(gone());
  });

  test.each(["{", "[]", '{"registered":["cpu"],"removed":[]}'])(
    "a record of %j → ignored, logged",
    async (text) => {
      const { stateFolder, said, startShim } = machine();
      writeFileSync(join(stateFolder, "devices.json"), text);
      expect(await (await startShim()).read()).toEqual(NOTHING);
      expect(said).toEqual([expect.stringMatching(/^warn .*devices\.json is damaged: .* are 0 until/)]);
    },
  );

  it("a record that cannot be read → one line, and no socket", async () => {
    const { folder, stateFolder, startShim } = machine();
    mkdirSync(join(stateFolder, "devices.json"));
    await expect(startShim()).rejects.toThrow(
      /devices\.json is not a file \(links are not followed\): remove it/,
    );
    expect(existsSync(folder)).toBe(false);
  });

  it("a record that cannot be written → the devices count, logged once; written when that is possible", async () => {
    const { folder, stateFolder, said, startShim } = machine();
    const shim: DeviceManager = await startShim();
    mkdirSync(join(stateFolder, "devices.json", "x"), { recursive: true });
    const plugin = await vendorPlugin(folder, "gpu.sock");
    plugin.list(TWO_AND_ONE);
    await plugin.register(GPU);
    await told(shim).toEqual({ ...gpus(3, 2), recorded: false });
    expect(said.filter((line) => line.includes("cannot be written"))).toHaveLength(1);
    rmSync(join(stateFolder, "devices.json"), { recursive: true });
    expect(await shim.read()).toEqual(gpus(3, 2));
  });
});

// Tests the devices in the facts, with and without --device-plugins.

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
  ["off, and on before: its plugins' resources are removed", false, RECORD, gone()],
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

test("ended during its start → no socket is left", async () => {
  const { folder, stateFolder } = machine();
  const { close } = startDevices(gather, folder, { ...OPTIONS, stateFolder });
  await close();
  expect(readdirSync(folder)).toEqual([]);
});
