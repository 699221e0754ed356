// Tests a gateway under the platform's limit of six connections, with the real gateway and client, in simulated time:
// how often PUTs fail, and the longest time between two renewals of a lease.
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { OutgoingConnections } from "../../../../infra/local/outgoing-connections.ts";
import type { Lease } from "../../../../shared/kubernetes/types.ts";
import type { Environment } from "../../../../worker/env.ts";
import { leasePutter, type PutLease } from "../../../../worker/gateway/lease.ts";
import { heldToken } from "../../../../worker/kube/connect.ts";
import { Durations } from "../../../../worker/metrics/metrics.ts";
import { currentMs, setClock, stopClock } from "../../support/clock.ts";
import {
  INTERVAL_MS,
  inGateway,
  LEASE_MS,
  type MachineSocket,
  START_MS,
} from "../../support/made-up-gateway.ts";
import { virtualTime } from "../../support/virtual-time.ts";

/** The time until a shim gives up a socket without an answer. */
const SHIM_WAITS_MS = 9000;
/** The time from a machine to its gateway and back. */
const ROUND_TRIP_MS = 100;
const STORY_MS = 60_000;

interface Outcome {
  failedPuts: number;
  longestGapMs: number;
  longestAnswerMs: number;
  expired: number;
}

/** Lets machines send heartbeats through one gateway while the apiserver answers each PUT after `latencyMs`. */
async function lived(machines: number, latencyMs: number): Promise<Outcome> {
  const outcome: Outcome = { failedPuts: 0, longestGapMs: 0, longestAnswerMs: 0, expired: 0 };
  stopClock(START_MS);
  const time = virtualTime(START_MS);
  const after = (ms: number, ring: () => void) =>
    time.after(ms, () => {
      setClock(time.nowMs());
      ring();
    });
  const wait = (ms: number) => new Promise<void>((resolve) => void after(ms, resolve));
  const connections = new OutgoingConnections();
  await inGateway(async (made) => {
    const renewedMs = new Map<string, number>();
    const expired = new Set<string>();
    const renewed = (name: string) => {
      const gapMs = currentMs() - (renewedMs.get(name) ?? START_MS);
      outcome.longestGapMs = Math.max(outcome.longestGapMs, gapMs);
      if (gapMs > LEASE_MS) expired.add(name);
      renewedMs.set(name, currentMs());
    };
    const answer = async ({ body }: RequestInit) => {
      await wait(latencyMs);
      const lease = JSON.parse(body as string) as Lease;
      const put = made.write(lease);
      if (put.kind !== "renewed") throw new Error(`${lease.metadata?.name}: ${put.kind}`);
      renewed(lease.metadata?.name ?? "");
      return answerWith(put.lease);
    };
    const fetch = (_: string, init: RequestInit) => connections.send(() => answer(init), init.signal);
    const own = { ...env, KUBE: { fetch } as unknown as Fetcher } as Environment;
    const put = leasePutter(own, heldToken(own), new Durations(currentMs), after);
    made.size = 1000;
    const putLease: PutLease = async (lease, onRequest) => {
      const result = await put(lease, onRequest);
      if (result.kind === "failed") outcome.failedPuts++;
      return result;
    };
    made.live({ timer: after, nowMs: currentMs, random: seeded(7), putLease });
    // The machine's object renews the lease with a report, and lends it again.
    made.onReport = async ({ request: { name } }) => {
      await wait(latencyMs);
      renewed(name);
      return made.lent(name);
    };
    const live = async (socket: MachineSocket) => {
      for (;;) {
        const sentMs = currentMs();
        await wait(ROUND_TRIP_MS / 2);
        await made.receive(socket, await socket.beat(currentMs()));
        outcome.longestAnswerMs = Math.max(outcome.longestAnswerMs, currentMs() - sentMs);
        await wait(ROUND_TRIP_MS / 2);
        const { last } = socket;
        if (last?.type !== "answer") {
          await wait(ROUND_TRIP_MS / 2);
          await made.report(socket);
          await wait(ROUND_TRIP_MS / 2);
        }
        await wait(last?.type === "answer" ? last.nextInMs : 0.96 * INTERVAL_MS);
        socket.frames.length = 0;
      }
    };
    for (let at = 0; at < machines; at++)
      after((at * INTERVAL_MS) / machines, () => {
        void made.connected(`edge-${at}`).then(async (socket) => {
          await wait(0.96 * INTERVAL_MS);
          await live(socket);
        });
      });
    await time.pass(STORY_MS);
    for (const name of renewedMs.keys()) renewed(name);
    outcome.expired = expired.size;
  });
  return outcome;
}

/** Returns an answer whose body needs no I/O. The body of a real Response arrives after simulated time has passed. */
const answerWith = (body: unknown) =>
  ({ status: 200, headers: new Headers(), text: async () => JSON.stringify(body) }) as Response;

/** Returns a generator of random numbers (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test.each([
  [150, 300],
  [500, 120],
  [500, 150],
  [500, 180],
  [500, 300],
  [1000, 100],
])(
  "%i machines, an apiserver that takes %i ms → no PUT fails, and each lease is renewed in time",
  async (machines, latencyMs) => {
    const outcome = await lived(machines, latencyMs);
    expect(outcome).toMatchObject({ failedPuts: 0, expired: 0 });
    expect(outcome.longestGapMs).toBeLessThanOrEqual(20_000);
    expect(outcome.longestAnswerMs).toBeLessThan(SHIM_WAITS_MS);
  },
);
