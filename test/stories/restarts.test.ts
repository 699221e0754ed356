// Tests a shim that restarts again and again: its events' counts begin again like a kubelet's, up to a limit. A change
// of Ready is always sent.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Event } from "../../shared/kubernetes/types.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { RATE_LIMITS } from "../../worker/storage/token-bucket.ts";
import { enrolled, facts, HEALTHY, kube, shimOf } from "../worker/support/machine.ts";
import { shift } from "../worker/support/clock.ts";

const DOWN: Vitals = { ...HEALTHY, errors: { runtime: ["container runtime is down"] } };

const after = (seconds: number) => shift(seconds * 1000);
const ring = (name: string) => runDurableObjectAlarm(env.NODES.getByName(name));

/** Returns the counts of the events with one reason, in the order of their first occurrence. */
async function countsOf(name: string, reason: string): Promise<number[]> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D${name}`;
  const { items } = await kube<{ items: Event[] }>("GET", path);
  return items
    .filter((event) => event.reason === reason)
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
    .map(({ count = 1 }) => count);
}

describe("a shim that starts again and again", () => {
  it("seven starts in 90 s, then the runtime is down → NodeNotReady is sent with that report", async () => {
    const name = "restarts-flip";
    const machine = await enrolled(name);
    let report = shimOf(machine, "start-0");
    await report(facts(name), HEALTHY);
    await ring(name);
    after(600);
    for (let start = 1; start <= 7; start++) {
      after(90 / 7);
      report = shimOf(machine, `start-${start}`);
      await report(facts(name), HEALTHY);
      await ring(name);
    }
    after(10);
    await report(facts(name), DOWN);
    expect(await countsOf(name, "NodeNotReady")).toEqual([1]);
    after(10);
    await report(facts(name), HEALTHY);
    expect(await countsOf(name, "NodeReady")).toHaveLength(2);
  });

  it("a start's events are new ones; over the limit they are counted further", async () => {
    const name = "restarts-fresh";
    const machine = await enrolled(name);
    const counts: number[][] = [];
    // The starts are so far apart that each may register, but so close that their fresh event counts run out.
    for (let start = 0; start < RATE_LIMITS.freshEvents.atOnce + 4; start++) {
      await shimOf(machine, `start-${start}`)(facts(name), HEALTHY);
      await ring(name);
      after(65);
      await ring(name);
      counts.push(await countsOf(name, "Starting"));
    }
    const starts = counts.at(-1) ?? [];
    expect(starts.reduce((sum, count) => sum + count, 0)).toBe(RATE_LIMITS.freshEvents.atOnce + 4);
    // The 16 starts take 16 minutes. The 12 fresh event counts and the 3 refilled ones are one too few for them.
    expect(starts).toEqual([...Array.from({ length: RATE_LIMITS.freshEvents.atOnce + 2 }, () => 1), 2]);
  });
});
