// Tests the cloud's metadata in reports: reports have the last valid metadata, and only the first report waits for
// an answer.
import { failure, type Result, success } from "../../../../shared/result.ts";
import { expect, it, test } from "vitest";
import { cloudMetadata, type CloudSource } from "../../../../node-shim/sources/cloud/metadata.ts";
import { cloudProviderOf } from "../../../../node-shim/sources/cloud/provider.ts";
import { FACTS_LIMITS } from "../../../../shared/protocol/limits.ts";
import { heldTimers } from "../../base/timers.ts";

const GOOD = { providerID: "aws:///z/i-1", instanceType: "m6g.large", zone: "z", region: "r", addresses: [] };

/** Returns a cloud whose answers and clock the test controls. */
function cloud() {
  const readings: { signal: AbortSignal; answer: (reading: Awaited<ReturnType<CloudSource>>) => void }[] = [];
  const said: string[] = [];
  const clock = { nowMs: 0 };
  const read = cloudMetadata({
    source: (signal) => new Promise((answer) => void readings.push({ signal, answer })),
    where: "cloud",
    intervalMs: 10_000,
    deadlineMs: 60_000,
    nowMs: () => clock.nowMs,
    warn: (source, message) => said.push(`${source}: ${message}`),
  });
  const answer = async (reading: Result<unknown>) => {
    readings.at(-1)?.answer(reading);
    // Lets the event loop process the answer.
    await new Promise((resolve) => void setImmediate(resolve));
  };
  return { read, readings, said, clock, answer };
}

it("the first call waits for the first answer; later ones get the last good one at once", async () => {
  const { read, readings, clock, answer } = cloud();
  const first = read();
  await answer(success(GOOD));
  expect(await first).toEqual(GOOD);
  clock.nowMs = 9400;
  expect(await read()).toEqual(GOOD);
  expect(readings).toHaveLength(2);
  await answer(success({ ...GOOD, zone: "z2" }));
  expect(await read()).toMatchObject({ zone: "z2" });
  expect(readings).toHaveLength(2);
});

it("a cloud that fails later → the last good ones stay; each fault is logged once, and again after a recovery", async () => {
  const { read, said, clock, answer } = cloud();
  void read();
  await answer(success(GOOD));
  for (const reading of [failure("away"), failure("away"), success(GOOD), failure("away")]) {
    clock.nowMs += 10_000;
    expect(await read()).toEqual(GOOD);
    await answer(reading);
  }
  expect(await read()).toEqual(GOOD);
  expect(said).toEqual(["cloud metadata: cloud: away", "cloud metadata: cloud: away"]);
});

it("a cloud that does not answer at first → none, asked again every second, one at a time", async () => {
  const { read, readings, clock, answer } = cloud();
  const first = read();
  await answer(failure("away"));
  expect(await first).toBeUndefined();
  clock.nowMs = 999;
  expect(await read()).toBeUndefined();
  expect(readings).toHaveLength(1);
  clock.nowMs = 1000;
  expect(await read()).toBeUndefined();
  clock.nowMs = 60_000;
  expect(await read()).toBeUndefined();
  expect(readings).toHaveLength(2);
  await answer(success(GOOD));
  expect(await read()).toEqual(GOOD);
});

it("a source that hangs → given up at the deadline, aborted, and not started a second time", async () => {
  const pass = heldTimers();
  const { read, readings, said, clock } = cloud();
  const first = read();
  pass(60_000);
  expect(await first).toBeUndefined();
  expect(said).toEqual(["cloud metadata: cloud: no answer within 60 s"]);
  expect(readings[0]?.signal.aborted).toBe(true);
  clock.nowMs = 60_000;
  await read();
  expect(readings).toHaveLength(1);
});

test.each([
  ["no label's value", { ...GOOD, zone: "<html>" }, 'zone: not a label\'s value: "<html>"'],
  ["an unknown field", { ...GOOD, region2: "r" }, "region2: unknown field"],
  [
    "a malformed address",
    { ...GOOD, addresses: [{ type: "InternalIP", address: "eth0" }] },
    'addresses.0: not an IP address: {"type":"InternalIP","address":"eth0"}',
  ],
  ["nothing", undefined, "Invalid input: expected object, received undefined"],
])("metadata that no Node can have (%s) → an error, and no refused facts", async (_, value, fault) => {
  const { read, said, answer } = cloud();
  const first = read();
  await answer(success(value));
  expect(await first).toBeUndefined();
  expect(said).toEqual([`cloud metadata: cloud: ${fault}`]);
});

it("an address that two interfaces have → reported once", async () => {
  const { read, answer } = cloud();
  const address = { type: "InternalDNS", address: "a.example" };
  const first = read();
  await answer(success({ ...GOOD, addresses: [address, { ...address, type: "Hostname" }, { ...address }] }));
  expect((await first)?.addresses).toEqual([address, { ...address, type: "Hostname" }]);
});

it.each<[situation: string, internal: number, kept: number, lines: string[]]>([
  [
    "as many addresses as a report may have → all",
    FACTS_LIMITS.addresses - 1,
    FACTS_LIMITS.addresses - 1,
    [],
  ],
  [
    "one more → the last internal IP is left out, and the name stays",
    FACTS_LIMITS.addresses,
    FACTS_LIMITS.addresses - 1,
    ["cloud metadata: cloud: addresses is cut to 64 of 65 entries"],
  ],
])("%s", async (_, internal, kept, lines) => {
  const { read, said, answer } = cloud();
  const ips = Array.from({ length: internal }, (_, at) => ({ type: "InternalIP", address: `10.0.0.${at}` }));
  const name = { type: "Hostname", address: "shop-7" };
  const first = read();
  await answer(success({ ...GOOD, addresses: [...ips, name] }));
  expect((await first)?.addresses).toEqual([...ips.slice(0, kept), name]);
  expect(said).toEqual(lines);
});

it("more names than a report may have → an error", async () => {
  const { read, said, answer } = cloud();
  const names = Array.from({ length: FACTS_LIMITS.addresses + 1 }, (_, at) => ({
    type: "InternalDNS",
    address: `shop-${at}`,
  }));
  const first = read();
  await answer(success({ ...GOOD, addresses: names }));
  expect(await first).toBeUndefined();
  expect(said).toEqual([expect.stringMatching(/^cloud metadata: cloud: addresses: Too big/)]);
});

test.each([
  [{}, null],
  [{ cloudProvider: "" }, null],
  [{ cloudProvider: "external" }, "external"],
  [{ cloudProvider: "file", cloudMetadataFile: "/f" }, "file"],
])("%o → %s", (flags, provider) => {
  expect(cloudProviderOf(flags)).toBe(provider);
});

test.each([
  [{ cloudProvider: "vsphere" }, "must be one of external, aws, gce, azure, file"],
  [{ cloudProvider: "file" }, "pass the file with --cloud-metadata-file"],
  [{ cloudProvider: "aws", cloudMetadataFile: "/f" }, "needs --cloud-provider file"],
])("%o → an error: %s", (flags, message) => {
  expect(() => cloudProviderOf(flags)).toThrow(message);
});
