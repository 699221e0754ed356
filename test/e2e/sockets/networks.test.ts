// What networks do to sockets: proxies that cut them, refuse them or hold back what they say, and a cut of which nobody is
// told. Machines go on by HTTP, or are silent until they are back.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import { eventually } from "../local-cluster.ts";
import { type Relay, type RelayWays, startRelay } from "./relay.ts";
import { type SocketPlace, startSocketPlace } from "./socket-place.ts";

const INTERVAL_MS = 2000;
const answered = (status: string, body: string) =>
  `HTTP/1.1 ${status}\r\ncontent-type: text/html\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

interface Hindrance extends RelayWays {
  /** What `node-shim status` says. */
  fault: string;
  /** Of its answers; absent: nine seconds. */
  deadlineMs?: number;
}

const BLOCKED = "a proxy on the way does not pass WebSockets on";
/** Between two heartbeats of a machine comes nothing for longer: as 5 s are between those of every 10. */
const IDLE_MS = 1000;
const HINDRANCES: [situation: string, hindrance: Hindrance][] = [
  ["cuts what is idle for half of an interval", { idleMs: IDLE_MS, fault: "the connection was closed" }],
  [
    "answers an upgrade with 403",
    { refusal: answered("403 Forbidden", "<p>no</p>"), fault: `${BLOCKED}: it answers HTTP 403` },
  ],
  [
    "answers it with 200",
    { refusal: answered("200 OK", "<p>hi</p>"), fault: `${BLOCKED}: it answers HTTP 200` },
  ],
  [
    "holds back what the Worker says on a socket",
    { hoards: true, deadlineMs: 3000, fault: "no answer within 3 s" },
  ],
];

const relays: Relay[] = [];
let place: SocketPlace;
/** Of a machine whose network is cut. */
let line: Relay;

beforeAll(async () => {
  for (const [, hindrance] of HINDRANCES) relays.push(await startRelay(hindrance));
  line = await startRelay();
  place = await startSocketPlace([...relays, line].map(({ url }) => url));
  for (const relay of [...relays, line]) relay.passTo(place.worker.url);
});
afterAll(async () => {
  await place.stop();
  for (const relay of [...relays, line]) relay.close();
});

describe.concurrent("a proxy that", () => {
  it.each(HINDRANCES.map(([situation, hindrance], at) => ({ situation, ...hindrance, at })))(
    "$situation → after three failures HTTP, and all is as without sockets",
    async ({ at, fault, deadlineMs }) => {
      const origin = relays[at]!.url;
      const failures: string[] = [];
      let wasOpened = false;
      const shim = await place.shim({
        index: at + 1,
        intervalMs: INTERVAL_MS,
        origin,
        ...(deadlineMs !== undefined && { deadlineMs }),
        changed(inUse) {
          if (inUse.via === "http" && inUse.fault !== null) failures.push(inUse.fault);
        },
        asked: () => void (wasOpened = true),
      });
      const { againInMs } = await eventually(() => {
        const inUse = shim.transport();
        return Promise.resolve(inUse.againInMs !== null && inUse);
      });
      const ended = shim.transport();
      expect(ended).toMatchObject({ via: "http", fault });
      expect(againInMs).toBeGreaterThan(1000 * GATEWAY_LIMITS.awaySeconds - 60_000);
      expect(new Set(failures)).toEqual(new Set([fault]));
      expect(wasOpened).toBe(!fault.startsWith(BLOCKED));
      const renewedMs = await place.renewed([shim.name], Date.now());
      await place.renewed([shim.name], renewedMs);
      expect((await place.ready()).get(shim.name)).toBe("True");
      expect(await place.stateOf(shim.name)).toBe("ready");
      expect(shim.transport().via).toBe("http");
    },
  );
});

it.concurrent("a network that is cut, of which nobody is told → silent; back once it is mended", async () => {
  const shim = await place.shim({ index: 9, intervalMs: INTERVAL_MS, leaseSeconds: 10, origin: line.url });
  await eventually(() => Promise.resolve(shim.transport().via === "socket"));
  await place.renewed([shim.name], Date.now());
  line.cut();
  const cutMs = Date.now();
  await eventually(async () => (await place.stateOf(shim.name)) === "silent");
  const silentInMs = Date.now() - cutMs;
  const renewedMs = (await place.renewals()).get(shim.name) ?? 0;
  expect(renewedMs).toBeLessThan(cutMs + INTERVAL_MS);
  line.mend();
  const mendedMs = Date.now();
  await place.renewed([shim.name], mendedMs);
  await eventually(async () => (await place.stateOf(shim.name)) === "ready");
  await eventually(() => Promise.resolve(shim.transport().via === "socket"));
  console.log(`cut: silent after ${silentInMs} ms; mended: on a socket after ${Date.now() - mendedMs} ms`);
});
