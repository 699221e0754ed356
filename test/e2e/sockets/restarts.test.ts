// Tests that machines with sockets recover: workerd is killed, or one machine's network is cut while its
// connections stay open. All machines report again by HTTP, and then over sockets.
import { afterAll, beforeAll, expect, it } from "vitest";
import { readyOf, watchNodes } from "../../lab/bench/local-fleet.ts";
import { eventually } from "../local-cluster.ts";
import { type Relay, startRelay } from "./relay.ts";
import type { RunningShim } from "./running-shim.ts";
import { type SocketPlace, startSocketPlace } from "./socket-place.ts";

const MACHINES = 12;
const INTERVAL_MS = 2000;

let line: Relay;
let place: SocketPlace;
let shims: RunningShim[];
const names = Array.from({ length: MACHINES }, (_, index) => `sim-${index + 1}`);

beforeAll(async () => {
  line = await startRelay();
  place = await startSocketPlace([line.url]);
  line.passTo(place.worker.url);
  shims = await Promise.all(names.map((_, at) => place.shim({ index: at + 1, intervalMs: INTERVAL_MS })));
});
afterAll(async () => {
  await place.stop();
  line.close();
});

const onSocket = (...machines: RunningShim[]) =>
  eventually(() => Promise.resolve(machines.every((shim) => shim.transport().via === "socket")));

/**
 * The time limit of this test. If the machine reports by HTTP at the moment of the cut, no gateway notices its
 * silence; the node object does, later.
 */
const SEEN_BY_ITS_OBJECT_MS = 400_000;

const CUT = "a machine's network is cut, and no connection ends → silent; mended → ready, and on a socket";
it(CUT, { timeout: SEEN_BY_ITS_OBJECT_MS }, async () => {
  const wish = { index: MACHINES + 1, intervalMs: 1000, leaseSeconds: 8, origin: line.url };
  const shim = await place.shim(wish);
  await onSocket(shim);
  await place.renewed([shim.name], Date.now());
  line.cut();
  await eventually(async () => (await place.stateOf(shim.name)) === "silent");
  line.mend();
  await place.renewed([shim.name], Date.now());
  await eventually(async () => (await place.stateOf(shim.name)) === "ready");
  await onSocket(shim);
  await shim.stop();
});

it("workerd is killed under sockets, and started again → every lease is renewed, all have sockets again, every Node stayed Ready", async () => {
  await onSocket(...shims);
  const notReady = new Set<string>();
  const watch = await watchNodes(place.admin, (node) => {
    const name = node.metadata?.name ?? "";
    if (names.includes(name) && readyOf(node) !== "True") notReady.add(name);
  });
  await place.worker.startAgain("killed");
  const renewedMs = await place.renewed(names, Date.now());
  await onSocket(...shims);
  await eventually(async () => (await place.quietHeartbeats()) >= 2 * MACHINES);
  await place.renewed(names, renewedMs);
  watch.stop();
  expect([...notReady]).toEqual([]);
});
