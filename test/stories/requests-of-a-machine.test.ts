// How often an enrolled machine has the apiserver asked, whatever it reports, however often, and whoever fails.
import { describe, expect, it } from "vitest";
import { statusResponse, tickingMachine } from "../worker/support/kube-in-between.ts";
import { HEALTHY } from "../worker/support/machine.ts";

const A_MINUTE = 20;
/** In whatever minute, also in one that begins with all that was saved up. */
const MOST = 25;
/** What it sends as often as the Worker lets it: ten times a second. */
const FLOOD_MS = 100;
const GIB = 2 ** 30;
const PRESSED = {
  ...HEALTHY,
  signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] as [number, number] },
};
const REGISTERED = { phase: "registered", ready: true };

type Machine = ReturnType<typeof tickingMachine>;

/** Requests of each minute, in which `beat` reports every `everyMs`. */
async function minutes(
  machine: Machine,
  { count, everyMs }: { count: number; everyMs: number },
  beat: (turn: number) => Promise<unknown>,
): Promise<number[]> {
  const asked: number[] = [];
  let turn = 0;
  for (let minute = 0; minute < count; minute++) {
    let requests = 0;
    for (const endMs = machine.nowMs + 60_000; machine.nowMs < endMs; machine.nowMs += everyMs) {
      await beat(turn++);
      requests += machine.requests.length;
    }
    asked.push(requests);
  }
  return asked;
}
const most = (counts: readonly number[]) => Math.max(...counts);

describe("a machine", () => {
  it("that reports as a kubelet does → is not held back, and costs no row", async () => {
    const machine = tickingMachine("asks-steadily", A_MINUTE);
    await machine.report();
    machine.nowMs += 60_000;
    await machine.report();
    machine.records.writes = 0;
    const asked = await minutes(machine, { count: 12, everyMs: 9600 }, async () => {
      expect(await machine.report()).toEqual(REGISTERED);
      // One whose status is due writes that in the lease's place.
      expect(machine.requests.join()).toMatch(/^PUT [^,]*leases[^,]*$|^GET [^,]*,PATCH [^,]*status$/);
    });
    expect(most(asked)).toBeLessThanOrEqual(8);
    expect(machine.records.writes).toBe(0);
  });

  it("that floods with the same → its lease is renewed twelve times a minute, and nothing is said to be wrong", async () => {
    const machine = tickingMachine("asks-for-renewals", A_MINUTE);
    const [first, ...others] = await minutes(machine, { count: 4, everyMs: FLOOD_MS }, async () => {
      expect(await machine.report()).toMatchObject(REGISTERED);
    });
    expect(first).toBeLessThanOrEqual(MOST);
    expect(most(others)).toBeLessThanOrEqual(MOST);
    expect(Math.min(...others)).toBeGreaterThanOrEqual(11);
  });

  it("that floods with changes → 25 in a minute; what waits is said, and written later", async () => {
    const machine = tickingMachine("asks-for-changes", A_MINUTE);
    const messages = new Set<string | undefined>();
    const [first, ...others] = await minutes(machine, { count: 4, everyMs: FLOOD_MS }, async (turn) => {
      const { phase, message } = await machine.report({ ...HEALTHY, shuttingDown: turn % 2 === 0 });
      expect(phase).toBe("registered");
      messages.add(message);
    });
    expect(first).toBeLessThanOrEqual(MOST);
    expect(most(others)).toBeLessThanOrEqual(MOST);
    expect(messages).toContain("its requests to the apiserver are used up: what changed is written later");
    machine.nowMs += 600_000;
    expect(await machine.report()).toEqual(REGISTERED);
    machine.nowMs += 10_000;
    expect(await machine.report()).toEqual(REGISTERED);
  });

  it("whose object is evicted before each of its reports, as they come → no more than 25 a minute", async () => {
    const machine = tickingMachine("asks-when-cold", A_MINUTE);
    const [, ...others] = await minutes(machine, { count: 10, everyMs: 10_100 }, (turn) => {
      machine.evict();
      return machine.report(turn % 2 === 0 ? HEALTHY : PRESSED);
    });
    expect(most(others)).toBeLessThanOrEqual(25);
  });

  it("each of whose reports comes from a new process → 25 in a minute, and its lease goes on", async () => {
    const machine = tickingMachine("asks-to-register", A_MINUTE);
    const [, ...others] = await minutes(machine, { count: 4, everyMs: FLOOD_MS }, (turn) =>
      machine.report(HEALTHY, `start-${turn}`),
    );
    expect(most(others)).toBeLessThanOrEqual(MOST);
    machine.nowMs += 10_000;
    await machine.report(HEALTHY, "start-last");
    expect(machine.requests.some((request) => /^PUT .*leases/.test(request))).toBe(true);
  });

  it("whose requests are used up → registers when enough have come back", async () => {
    const machine = tickingMachine("asks-before-it-registers", A_MINUTE);
    machine.inBetween = () => statusResponse(500, "InternalError");
    for (let tries = 0; tries < 20; tries++) await machine.report();
    machine.inBetween = undefined;
    const phases = { "start-1": "registering", "start-2": "registering" };
    for (const [startId, phase] of Object.entries(phases))
      expect(await machine.report(HEALTHY, startId)).toMatchObject({
        phase,
        message: "its requests to the apiserver are used up: it is registered later",
      });
    machine.nowMs += 62_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });
});

describe("an apiserver that fails", () => {
  it("every write → 25 in a minute, however often its machine reports", async () => {
    const machine = tickingMachine("writes-fail", A_MINUTE);
    await machine.report();
    machine.nowMs += 60_000;
    machine.inBetween = (method) => (method === "GET" ? undefined : statusResponse(500, "InternalError"));
    const [, ...others] = await minutes(machine, { count: 4, everyMs: FLOOD_MS }, (turn) =>
      machine.report(turn % 2 === 0 ? HEALTHY : PRESSED),
    );
    expect(most(others)).toBeLessThanOrEqual(MOST);
  });

  it("at each report of a steady machine → a try of each step, and no more", async () => {
    const machine = tickingMachine("fails-steadily", A_MINUTE);
    await machine.report();
    machine.nowMs += 60_000;
    machine.inBetween = () => statusResponse(503, "ServiceUnavailable");
    const costs: number[] = [];
    for (let beat = 0; beat < 12; beat++) {
      expect(await machine.report(PRESSED)).toMatchObject({ phase: "apiserver refuses" });
      costs.push(machine.requests.length);
      machine.nowMs += 9600;
    }
    const [first, ...others] = costs;
    expect(first).toBe(4);
    // A PUT of the lease, a GET of it, and one of the Node.
    expect(most(others)).toBe(3);
    machine.inBetween = undefined;
    expect(await machine.report(PRESSED)).toMatchObject(REGISTERED);
  });

  it("the status alone → it is tried five times, then once with each report; the lease is renewed with each report", async () => {
    const machine = tickingMachine("status-fails", 50 * A_MINUTE);
    await machine.report();
    machine.nowMs += 60_000;
    machine.inBetween = (method) => (method === "PATCH" ? statusResponse(500, "InternalError") : undefined);
    const patches = () => machine.requests.filter((request) => request.startsWith("PATCH")).length;
    const tried: number[] = [];
    for (let beat = 0; beat < 6; beat++) {
      await machine.report(PRESSED);
      tried.push(patches());
      expect(machine.requests[0]).toMatch(/^PUT .*leases/);
      machine.nowMs += 9600;
    }
    expect(tried).toEqual([5, 1, 1, 1, 1, 1]);
    machine.inBetween = undefined;
    expect(await machine.report(PRESSED)).toMatchObject(REGISTERED);
  });
});
