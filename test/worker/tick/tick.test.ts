// Tests a whole tick: the order of lease and status, and a machine's Node through failures, evictions and other
// writers.
import { afterEach, beforeAll, beforeEach, describe, expect, it, test, vi } from "vitest";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { HEALTHY } from "../support/facts.ts";
import { statusResponse } from "../support/kube-in-between.ts";
import { type Kept, SteppingMachine } from "../support/stepping-machine.ts";

const BEAT_MS = 10_000;
const MINUTE_MS = 60_000;
const GIB = 2 ** 30;
const PRESSED: Vitals = { ...HEALTHY, signals: { ...HEALTHY.signals, "memory.available": [1024, 8 * GIB] } };
const DOWN: Vitals = { ...HEALTHY, errors: { runtime: ["down"] } };
const REGISTERED = { phase: "registered", ready: true };
const TAKEN = { phase: "name taken", ready: false };
const WRITTEN = "PATCH status";
const FROM_CACHE = "GET Node?resourceVersion=0";

type Machine = SteppingMachine;

const quiet = () => void vi.spyOn(console, "log").mockReturnValue();
beforeEach(quiet);
afterEach(() => void vi.restoreAllMocks());

/** A registered machine after two reports, 10 s apart, whose next report is quiet. */
let steady: Kept;
beforeAll(async () => {
  quiet();
  const machine = new SteppingMachine();
  await machine.report();
  machine.nowMs += BEAT_MS;
  await machine.report();
  machine.nowMs += BEAT_MS;
  steady = machine.keep();
});

const conditionOf = ({ apiserver }: Machine, wanted: string) =>
  apiserver.node?.status?.conditions?.find(({ type }) => type === wanted)?.status;
const failing = (machine: Machine, method: string, code = 500) => {
  machine.inBetween = (asked) => (asked.startsWith(method) ? statusResponse(code, "Failed") : undefined);
};

it("an eviction before every report → two requests each, no row, and the lease has the next due time", async () => {
  const machine = new SteppingMachine(steady);
  machine.records.writes = 0;
  const writes: number[] = [];
  for (let beat = 0; beat < 60; beat++) {
    machine.evict();
    expect(await machine.report()).toMatchObject(REGISTERED);
    const asked = machine.take();
    if (asked.includes(WRITTEN)) writes.push(beat);
    else expect(asked).toEqual(["GET lease", "PUT lease"]);
    machine.nowMs += BEAT_MS;
  }
  expect(writes).toEqual([28, 58]);
  expect(machine.records.writes).toBe(0);
});

describe("a status that is due", () => {
  const EVERY_MS = 300_000;
  test.each<
    [situation: string, more: { gapMs?: number; isWatched?: boolean; leaseSeconds?: number }, asked: string[]]
  >([
    ["is the heartbeat; read from the apiserver's cache", {}, [FROM_CACHE, WRITTEN]],
    ["where others' changes are known → not read", { isWatched: true }, [WRITTEN]],
    [
      "under a lease for which it reports more often → the heartbeat",
      { leaseSeconds: 30, gapMs: 7500, isWatched: true },
      [WRITTEN],
    ],
    [
      "under such a lease, later than that after the last renewal → it is renewed as well",
      { leaseSeconds: 30, gapMs: 7501, isWatched: true },
      ["PUT lease", WRITTEN],
    ],
    [
      "later than a report's interval after the last renewal → it is renewed as well",
      { gapMs: BEAT_MS + 1, isWatched: true },
      ["PUT lease", WRITTEN],
    ],
    [
      "after a gap of the lease → read for certain: the node controller may have spoken",
      { gapMs: 41_000, isWatched: true },
      ["PUT lease", "GET Node", WRITTEN],
    ],
  ])("%s", async (_, { gapMs = BEAT_MS, isWatched = false, leaseSeconds = 40 }, asked) => {
    const machine = new SteppingMachine(steady);
    machine.facts.settings.nodeLeaseDurationSeconds = leaseSeconds;
    machine.isWatched = isWatched;
    await machine.report();
    machine.memory.status!.lastStatusReportTimeMs = machine.nowMs + gapMs - EVERY_MS;
    machine.memory.status!.delayAfterNodeStatusChangeMs = 0;
    machine.nowMs += gapMs;
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.take()).toEqual(asked);
  });

  it("with each report → the lease is renewed with every other one", async () => {
    const machine = new SteppingMachine(steady);
    machine.facts.settings.nodeStatusReportFrequencyMs = BEAT_MS;
    machine.isWatched = true;
    const renewals: boolean[] = [];
    for (let beat = 0; beat < 8; beat++) {
      expect(await machine.report()).toMatchObject(REGISTERED);
      renewals.push(machine.take().includes("PUT lease"));
      machine.nowMs += BEAT_MS;
    }
    for (const [index, isRenewed] of renewals.entries())
      if (!isRenewed) expect(renewals[index + 1]).not.toBe(false);
    expect(renewals).toContain(false);
  });

  it("that is refused → the lease is renewed with the same report", async () => {
    const machine = new SteppingMachine(steady);
    machine.isWatched = true;
    machine.memory.status = { lastStatusReportTimeMs: 0, delayAfterNodeStatusChangeMs: 0 };
    failing(machine, "PATCH", 422);
    expect((await machine.report()).phase).toBe("apiserver refuses");
    expect([machine.take().at(0), machine.apiserver.lease?.spec?.renewTime]).toEqual([
      WRITTEN,
      new Date(machine.nowMs).toISOString().replace("Z", "000Z"),
    ]);
  });

  it("by a clock that went back a day → written once, and the periods continue", async () => {
    const machine = new SteppingMachine(steady);
    machine.nowMs -= 24 * 60 * MINUTE_MS;
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.take().at(-1)).toBe(WRITTEN);
    machine.nowMs += BEAT_MS;
    await machine.report();
    expect(machine.take()).toEqual(["PUT lease"]);
  });
});

describe("a shim that restarts and cannot register", () => {
  it("→ the lease of its Node is renewed", async () => {
    const machine = new SteppingMachine(steady);
    const before = machine.apiserver.lease?.spec?.renewTime;
    failing(machine, "POST");
    expect(await machine.report(HEALTHY, "start-2")).toMatchObject({ phase: "apiserver refuses" });
    expect(machine.apiserver.lease?.spec?.renewTime).not.toBe(before);
  });

  it("since its requests are used up → registers once enough are available again", async () => {
    const machine = new SteppingMachine();
    machine.limitRequests(20, []);
    failing(machine, "");
    for (let tries = 0; tries < 20; tries++) await machine.report();
    machine.inBetween = undefined;
    for (const startId of ["start-1", "start-2"])
      expect(await machine.report(HEALTHY, startId)).toMatchObject({
        phase: "registering",
        message: "its requests to the apiserver are used up: it is registered later",
      });
    machine.nowMs += 62_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });
});

describe("a Node", () => {
  it.each([
    ["warm", false],
    ["evicted", true],
  ])(
    "set Unknown in a silence, the write after it refused, its object %s → written with the next report",
    async (_, isCold) => {
      const machine = new SteppingMachine(steady);
      for (const condition of machine.apiserver.node?.status?.conditions ?? []) condition.status = "Unknown";
      machine.nowMs += 60_000;
      failing(machine, "PATCH");
      expect(await machine.report()).toMatchObject({ phase: "apiserver refuses" });
      machine.inBetween = undefined;
      machine.nowMs += BEAT_MS;
      if (isCold) machine.evict();
      expect(await machine.report()).toMatchObject(REGISTERED);
      expect(conditionOf(machine, "Ready")).toBe("True");
    },
  );

  it("that another writer deleted and created → node deleted, and the new Node stays untouched", async () => {
    const machine = new SteppingMachine(steady);
    machine.apiserver.node = { metadata: { name: "edge-1", uid: "other", resourceVersion: "99" } };
    const node = structuredClone(machine.apiserver.node);
    expect(await machine.report(PRESSED)).toMatchObject({ phase: "node deleted", ready: false });
    expect(machine.apiserver.node).toEqual(node);
  });

  it("that is offered, and changed before it is adopted → not overwritten; the next attempt adopts", async () => {
    const machine = new SteppingMachine();
    const annotations = { "rollcall.dev/adopt": "rollcall" };
    machine.apiserver.node = { metadata: { name: "edge-1", uid: "u", resourceVersion: "1", annotations } };
    machine.inBetween = async (asked, ask) => {
      if (asked !== "GET Node") return undefined;
      const read = await ask();
      const { metadata } = machine.apiserver.node!;
      const changed = { ...metadata, resourceVersion: `${Number(metadata?.resourceVersion) + 1}` };
      machine.apiserver.node = { metadata: changed, spec: { unschedulable: true } };
      return read;
    };
    expect(await machine.report()).toMatchObject({ phase: "registering" });
    expect(machine.apiserver.node.metadata?.annotations).toEqual(annotations);
    machine.inBetween = undefined;
    machine.nowMs += 1000;
    expect(await machine.report()).toMatchObject(REGISTERED);
    expect(machine.apiserver.node.spec?.unschedulable).toBe(true);
  });

  it("that lost its owner → name taken, neither it nor its lease is written; owner restored → registered", async () => {
    const machine = new SteppingMachine(steady);
    const { node, lease } = machine.apiserver;
    const { annotations } = node!.metadata!;
    machine.apiserver.node = { ...node, metadata: { ...node?.metadata, annotations: {} } };
    machine.nowMs += 460_000;
    expect(await machine.report()).toMatchObject(TAKEN);
    const then = machine.apiserver.lease;
    expect(machine.apiserver.node.status).toEqual(node?.status);
    machine.nowMs += BEAT_MS;
    expect(await machine.report()).toMatchObject(TAKEN);
    expect([machine.take(), machine.apiserver.lease]).toEqual([[], then]);
    expect(then).not.toEqual(lease);
    machine.apiserver.node = { ...node, metadata: { ...node?.metadata, annotations: annotations! } };
    machine.nowMs += 50_000;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it("whose lease a kubelet renews → no write, two GETs a minute, one event; once the lease is old → registered", async () => {
    const machine = new SteppingMachine(steady);
    const renewed = () => {
      const { metadata, spec } = machine.apiserver.lease!;
      machine.apiserver.lease = {
        metadata: {
          ...metadata,
          resourceVersion: `${Number(metadata?.resourceVersion) + 1}`,
          managedFields: [{ manager: "kubelet", fieldsV1: { "f:spec": { "f:renewTime": {} } } }],
        },
        spec: { ...spec, renewTime: new Date(machine.nowMs).toISOString().replace("Z", "000Z") },
      };
    };
    renewed();
    const { node } = machine.apiserver;
    expect(await machine.report()).toEqual(TAKEN);
    machine.nowMs += 30_000;
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.take()).toEqual([]);
    machine.nowMs += 30_000;
    renewed();
    expect(await machine.report()).toEqual(TAKEN);
    expect(machine.take()).toEqual(["GET Node", "GET lease"]);
    expect([machine.apiserver.node, machine.events.filter((reason) => reason === "NodeNameTaken")]).toEqual([
      node,
      ["NodeNameTaken"],
    ]);
    machine.nowMs += MINUTE_MS;
    expect(await machine.report()).toMatchObject(REGISTERED);
  });

  it("that rollcall never creates → awaited; deleted → awaited again, and a new one is adopted", async () => {
    const machine = new SteppingMachine();
    machine.facts.settings.registerNode = false;
    const owned = (uid: string) => ({
      metadata: {
        name: "edge-1",
        uid,
        resourceVersion: "1",
        annotations: { "rollcall.dev/owner": "rollcall" },
      },
    });
    for (const uid of ["one", "other"]) {
      for (let report = 0; report < 2; report++) {
        expect(await machine.report()).toEqual({ phase: "waiting for Node", ready: false });
        machine.nowMs += BEAT_MS;
      }
      expect(machine.take()).toEqual(["GET Node"]);
      machine.apiserver.node = owned(uid);
      expect(await machine.report()).toMatchObject(REGISTERED);
      Object.assign(machine.apiserver, { node: undefined, lease: undefined });
      machine.nowMs += BEAT_MS;
    }
  });
});

it.each([
  ["warm", false],
  ["evicted before it is over", true],
])(
  "a pressure that is over, its object %s → holds for 5 minutes after the last report of it, not longer",
  async (_, isCold) => {
    const machine = new SteppingMachine(steady);
    for (let report = 0; report < 3; report++) {
      await machine.report(PRESSED);
      machine.nowMs += BEAT_MS;
    }
    const lastMetMs = machine.nowMs - BEAT_MS;
    if (isCold) machine.evict();
    for (; machine.nowMs <= lastMetMs + 290_000; machine.nowMs += BEAT_MS) await machine.report();
    expect(conditionOf(machine, "MemoryPressure")).toBe("True");
    machine.nowMs = lastMetMs + 300_000;
    await machine.report();
    expect(conditionOf(machine, "MemoryPressure")).toBe("False");
  },
);

describe("requests in a minute, of a machine with a limit of 20", () => {
  /** The most requests in any minute, including a minute that begins with a full budget. */
  const MOST = 25;
  /** The interval of reports that uses up the budget. */
  const FLOOD_MS = 1000;

  /** Returns the number of requests in each of the minutes in which `beat` reports every `everyMs`. */
  async function minutes(
    machine: Machine,
    { count, everyMs }: { count: number; everyMs: number },
    beat: (turn: number) => Promise<unknown>,
  ): Promise<number[]> {
    const asked: number[] = [];
    let turn = 0;
    for (let minute = 0; minute < count; minute++) {
      let requests = 0;
      for (const endMs = machine.nowMs + MINUTE_MS; machine.nowMs < endMs; machine.nowMs += everyMs) {
        await beat(turn++);
        requests += machine.take().length;
      }
      asked.push(requests);
    }
    return asked;
  }
  const most = (counts: readonly number[]) => Math.max(...counts);
  const limited = (aMinute = 20): Machine => {
    const machine = new SteppingMachine(steady);
    machine.limitRequests(aMinute, []);
    return machine;
  };

  it("reports at the kubelet's rate → no limit applies, and no row is written", async () => {
    const machine = limited();
    machine.records.writes = 0;
    const asked = await minutes(machine, { count: 12, everyMs: 9600 }, async () =>
      expect(await machine.report()).toEqual(REGISTERED),
    );
    expect([most(asked) <= 8, machine.records.writes]).toEqual([true, 0]);
  });

  it("a flood of equal reports → its lease is renewed twelve times a minute, without a message", async () => {
    const machine = limited();
    const asked = await minutes(machine, { count: 3, everyMs: FLOOD_MS }, async () =>
      expect(await machine.report()).toEqual(REGISTERED),
    );
    expect(most(asked)).toBeLessThanOrEqual(MOST);
    expect(Math.min(...asked)).toBeGreaterThanOrEqual(11);
  });

  it("a flood of changes → 25; a message names the waiting change, which is written later", async () => {
    const machine = limited();
    const messages = new Set<string | undefined>();
    const asked = await minutes(machine, { count: 3, everyMs: FLOOD_MS }, async (turn) => {
      const { phase, message } = await machine.report({ ...HEALTHY, shuttingDown: turn % 2 === 0 });
      expect(phase).toBe("registered");
      messages.add(message);
    });
    expect(most(asked)).toBeLessThanOrEqual(MOST);
    expect(messages).toContain("its requests to the apiserver are used up: what changed is written later");
    machine.nowMs += 600_000;
    expect(await machine.report()).toEqual(REGISTERED);
  });

  it("a flood of starting processes → 25, and its lease is renewed", async () => {
    const machine = limited();
    const asked = await minutes(machine, { count: 3, everyMs: FLOOD_MS }, (turn) =>
      machine.report(HEALTHY, `start-${turn}`),
    );
    expect(most(asked)).toBeLessThanOrEqual(MOST);
    machine.nowMs += BEAT_MS;
    await machine.report(HEALTHY, "start-last");
    expect(machine.take()).toContain("PUT lease");
  });

  it("an eviction before each report, at the normal rate → 25", async () => {
    const machine = limited();
    const asked = await minutes(machine, { count: 10, everyMs: 10_100 }, (turn) => {
      machine.evict();
      machine.limitRequests(20, []);
      return machine.report(turn % 2 === 0 ? HEALTHY : PRESSED);
    });
    expect(most(asked)).toBeLessThanOrEqual(MOST);
  });

  it("every write fails → 25, for any number of reports", async () => {
    const machine = limited();
    machine.inBetween = (asked) => (asked.startsWith("GET") ? undefined : statusResponse(500, "Failed"));
    const asked = await minutes(machine, { count: 3, everyMs: FLOOD_MS }, (turn) =>
      machine.report(turn % 2 === 0 ? HEALTHY : PRESSED),
    );
    expect(most(asked)).toBeLessThanOrEqual(MOST);
  });

  it("an apiserver that fails at each report → one attempt of each step", async () => {
    const machine = limited();
    failing(machine, "", 503);
    const costs: number[] = [];
    for (let beat = 0; beat < 12; beat++) {
      expect(await machine.report(PRESSED)).toMatchObject({ phase: "apiserver refuses" });
      costs.push(machine.take().length);
      machine.nowMs += 9600;
    }
    const [first, ...others] = costs;
    // Each later report costs a PUT of the lease, a GET of the lease, and a GET of the Node.
    expect([first, most(others)]).toEqual([4, 3]);
    machine.inBetween = undefined;
    expect(await machine.report(PRESSED)).toMatchObject(REGISTERED);
  });

  it("only the status fails → five attempts, then one with each report; the lease is renewed with each", async () => {
    const machine = limited(1000);
    failing(machine, "PATCH");
    const tried: number[] = [];
    for (let beat = 0; beat < 6; beat++) {
      await machine.report(DOWN);
      const asked = machine.take();
      tried.push(asked.filter((each) => each === WRITTEN).length);
      expect(asked[0]).toBe("PUT lease");
      machine.nowMs += 9600;
    }
    expect(tried).toEqual([5, 1, 1, 1, 1, 1]);
    machine.inBetween = undefined;
    expect((await machine.report(DOWN)).phase).toBe("registered");
  });
});
