// Tests the number of volumes that each CSI driver can attach to this machine, with drivers on real sockets.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, test } from "vitest";
import { ASK_AGAIN_MS, attachLimits } from "../../../../node-shim/sources/csi/attach-limits.ts";
import { warnOncePerSource } from "../../../../node-shim/base/reading.ts";
import { FACTS_LIMITS } from "../../../../shared/protocol/limits.ts";
import { factsSchema } from "../../../../shared/protocol/facts.ts";
import { type DriverWish, kubeletFolder, serveDriver } from "./driver.ts";
import { eventually } from "../../base/eventually.ts";

const EBS: DriverWish = { name: "ebs.csi.aws.com", limit: [25] };

/** Returns a machine whose first reading waits for every driver that answers. */
function machine() {
  const rootDir = kubeletFolder();
  const said: string[] = [];
  const clock = { nowMs: 0 };
  const warn = warnOncePerSource((source, message) => said.push(`${source}: ${message}`));
  const never = () => new Promise<void>(() => undefined);
  const { read } = attachLimits({ rootDir, nowMs: () => clock.nowMs, sleep: never, warn });
  const socket = (name: string) => join(rootDir, "plugins_registry", name);
  /** Repeats the reading until it matches, because the drivers are asked in the background. */
  const told = () => eventually(read);
  return { rootDir, said, clock, read, socket, told };
}

const INT32_MAX = [0xff, 0xff, 0xff, 0xff, 0x07];
const INT32_MAX_AND_1 = [0x80, 0x80, 0x80, 0x80, 0x08];
const MINUS_1 = [...Array.from({ length: 9 }, () => 0xff), 0x01];

test.each<[situation: string, wish: DriverWish, limits: object | undefined]>([
  ["25", EBS, { "ebs.csi.aws.com": 25 }],
  ["no limit", { name: "nfs.csi.k8s.io" }, { "nfs.csi.k8s.io": 0 }],
  ["a negative one", { name: "d", limit: MINUS_1 }, { d: 0 }],
  ["the largest int32", { name: "d", limit: INT32_MAX }, { d: FACTS_LIMITS.attachLimit }],
  ["one more", { name: "d", limit: INT32_MAX_AND_1 }, { d: FACTS_LIMITS.attachLimit }],
  ["a name of 63 characters", { name: "d".repeat(63), limit: [1] }, { ["d".repeat(63)]: 1 }],
  ["the type of a device plugin", { ...EBS, type: "DevicePlugin" }, undefined],
])("a driver reports %s → the value that CSINode would have", async (_situation, wish, limits) => {
  const { read, socket, said } = machine();
  await serveDriver(socket("driver-reg.sock"), wish);
  expect(await read()).toEqual(limits);
  expect(factsSchema.shape.attachLimits.safeParse(await read()).error).toBeUndefined();
  expect(said).toEqual([]);
});

test.each<[situation: string, wish: DriverWish, line: RegExp]>([
  ["no name", { name: "" }, /"" is not a driver's name$/],
  ["a name of 64 characters", { name: "d".repeat(64) }, /is not a driver's name$/],
  ["a malformed name", { name: "a b" }, /"a b" is not a driver's name$/],
  [
    "an endpoint that is not reachable from here",
    { ...EBS, endpoint: "csi.sock" },
    /"csi.sock" is not an absolute path$/,
  ],
  [
    "an endpoint without a listener",
    { ...EBS, endpoint: "/nowhere/csi.sock" },
    /NodeGetInfo of ebs.csi.aws.com: rpc/,
  ],
  ["an error", { ...EBS, fails: "error" }, /NodeGetInfo .* code = Unavailable desc = no metadata$/],
])("a driver reports %s → left out and logged once, the other is there", async (_situation, wish, line) => {
  const { read, socket, said } = machine();
  await serveDriver(socket("bad.sock"), wish);
  await serveDriver(socket("good.sock"), { name: "good", limit: [7] });
  expect(await read()).toEqual({ good: 7 });
  expect(await read()).toEqual({ good: 7 });
  expect(said).toEqual([expect.stringMatching(/^CSI driver at .*bad\.sock: /)]);
  expect(said[0]).toMatch(line);
});

it("the driver has a socket of its own → that socket is used", async () => {
  const { rootDir, read, socket } = machine();
  const [registrar, driver]: string[][] = [[], []];
  await serveDriver(join(rootDir, "csi.sock"), EBS, driver);
  await serveDriver(
    socket("reg.sock"),
    { ...EBS, endpoint: join(rootDir, "csi.sock"), limit: [1] },
    registrar,
  );
  expect(await read()).toEqual({ "ebs.csi.aws.com": 25 });
  expect([registrar, driver]).toEqual([["GetInfo"], ["NodeGetInfo"]]);
});

it("no registration, hidden sockets, files → no limits, no log line", async () => {
  const { read, socket, said } = machine();
  writeFileSync(socket("file.sock"), "");
  await serveDriver(socket(".hidden.sock"), EBS);
  expect(await read()).toBeUndefined();
  expect(said).toEqual([]);
});

it("a driver is asked once; after a failure again a minute later; a new socket at once; a removed one → left out", async () => {
  const { read, socket, clock, told } = machine();
  const calls: string[] = [];
  const stop = await serveDriver(socket("d.sock"), { ...EBS, fails: "error" }, calls);
  expect(await read()).toBeUndefined();
  clock.nowMs = ASK_AGAIN_MS - 1;
  await read();
  await read();
  expect(calls).toEqual(["GetInfo", "NodeGetInfo"]);
  clock.nowMs = ASK_AGAIN_MS;
  await eventually(() => read().then(() => calls.length)).toBe(4);
  stop();
  const stopNext = await serveDriver(socket("d.sock"), EBS, calls);
  await told().toEqual({ "ebs.csi.aws.com": 25 });
  clock.nowMs += ASK_AGAIN_MS;
  await read();
  expect(await read()).toEqual({ "ebs.csi.aws.com": 25 });
  expect(calls).toHaveLength(6);
  stopNext();
  await told().toBeUndefined();
});

it("a driver that hangs → delays no report, and no known limit of another", async () => {
  const rootDir = kubeletFolder();
  await serveDriver(join(rootDir, "plugins_registry", "a.sock"), EBS);
  const calls: string[] = [];
  await serveDriver(join(rootDir, "plugins_registry", "b.sock"), { name: "slow", fails: "hangs" }, calls);
  let waited = 0;
  const sleep = () => {
    waited++;
    return Promise.resolve();
  };
  const { read, close } = attachLimits({ rootDir, nowMs: () => 0, sleep, warn: () => undefined });
  await eventually(read).toEqual({ "ebs.csi.aws.com": 25 });
  expect(waited).toBe(1);
  // Waits until the second call is running. `close` must cancel that call, which would otherwise keep the process
  // alive.
  await eventually(() => calls).toEqual(["GetInfo", "NodeGetInfo"]);
  close();
  await eventually(() => calls).toEqual(["GetInfo", "NodeGetInfo", "cancelled"]);
});

test.each([
  [FACTS_LIMITS.attachLimits, 0],
  [FACTS_LIMITS.attachLimits + 1, 1],
])("%i drivers → at most as many as the facts hold, %i lines", async (count, lines) => {
  const { read, socket, said } = machine();
  for (let index = 0; index < count; index++)
    await serveDriver(socket(`d${index}.sock`), { name: `d${String(index).padStart(2, "0")}`, limit: [1] });
  const limits = await read();
  expect(Object.keys(limits ?? {})).toHaveLength(FACTS_LIMITS.attachLimits);
  expect(limits).not.toHaveProperty("d64");
  expect(factsSchema.shape.attachLimits.safeParse(limits).error).toBeUndefined();
  expect(said).toHaveLength(lines);
});
