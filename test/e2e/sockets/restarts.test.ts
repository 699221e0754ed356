// Workerd is killed under machines with sockets, or deployed anew: all of them go on, first by HTTP and then over sockets.
import { afterAll, beforeAll, expect, it } from "vitest";
import { readyOf, watchNodes } from "../../lab/bench/local-fleet.ts";
import { eventually } from "../local-cluster.ts";
import type { RunningShim } from "./running-shim.ts";
import { type SocketPlace, startSocketPlace } from "./socket-place.ts";

const MACHINES = 50;
const INTERVAL_MS = 2000;
/** No outcome depends on how fast this computer is: many processes take part. */
const MARGIN_MS = 10_000;

let place: SocketPlace;
let shims: RunningShim[];
const names = Array.from({ length: MACHINES }, (_, index) => `sim-${index + 1}`);

beforeAll(async () => {
  place = await startSocketPlace();
  shims = await Promise.all(names.map((_, at) => place.shim({ index: at + 1, intervalMs: INTERVAL_MS })));
});
afterAll(() => place.stop());

const allOnSockets = () =>
  eventually(() => Promise.resolve(shims.every((shim) => shim.transport().via === "socket")));

it.each(["killed", "deployed"] as const)(
  "workerd is %s under 50 sockets → every lease renewed within a heartbeat of its being back, sockets again, Nodes Ready",
  async (how) => {
    await allOnSockets();
    const notReady = new Set<string>();
    const watch = await watchNodes(place.admin, (node) => {
      if (readyOf(node) !== "True") notReady.add(node.metadata?.name ?? "");
    });
    await place.worker.startAgain(how);
    const backMs = Date.now();
    const renewedInMs = (await place.renewed(names, backMs)) - backMs;
    expect(renewedInMs).toBeLessThan(INTERVAL_MS + MARGIN_MS);
    await allOnSockets();
    const socketsInMs = Date.now() - backMs;
    await eventually(async () => (await place.quietHeartbeats()) >= 2 * MACHINES);
    await place.renewed(names, backMs + renewedInMs);
    watch.stop();
    expect([...notReady]).toEqual([]);
    console.log(
      `${how}: every lease renewed after ${renewedInMs} ms, all on sockets after ${socketsInMs} ms`,
    );
  },
);
