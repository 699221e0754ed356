// Tests when a machine asks the fleet index for a turn before its Node is written, and what waits for the turn.
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { NodeTurn } from "../../../worker/storage/records.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { MAX_NODE_BYTES, STATUS_BUDGET } from "../../../worker/tick/budgets.ts";
import { nodeTurns, TURN_GOOD_MS } from "../../../worker/tick/node-turn.ts";
import { facts, HEALTHY } from "../support/facts.ts";
import { NAME, SteppingMachine } from "../support/stepping-machine.ts";

const INTERVAL_MS = 10_000;
const FREE: NodeTurn = { waitMs: 0, isGranted: true, limit: "" };
const LIMIT = "new Nodes of its join token";
const later = (waitMs: number, isGranted = true) => ({ waitMs, isGranted, limit: LIMIT });
const MESSAGE = `the limit of ${LIMIT} is reached: its Node is written later`;

/** Runs a report with the machine's own `nodeTurn`, in place of the fleet index of the tests. */
const reports = (machine: SteppingMachine, startId = "start-1") => machine.report(HEALTHY, startId);

/** Returns facts with so many images that the Node has about this number of bytes more. */
function withImages(bytes: number) {
  const images = Array.from({ length: Math.round(bytes / 800) }, (_, index) => ({
    repoTags: Array.from(
      { length: 5 },
      (__, tag) => `registry.example.com/image-${index}:${tag}-${"x".repeat(100)}`,
    ),
    repoDigests: [],
    sizeBytes: 1000 + index,
  }));
  return { ...facts(NAME), images };
}

describe("a new Node", () => {
  it("→ the machine asks once, with the Node's size in steps of 4 KiB", async () => {
    const machine = new SteppingMachine();
    expect(await reports(machine)).toMatchObject({ phase: "registered" });
    expect(machine.loads).toEqual([{ nodes: 1, bytes: expect.any(Number) as number }]);
    expect(machine.loads[0]!.bytes % 4096).toBe(0);
  });

  it("whose turn comes later → registering, with the limit's name; at its turn it is created, without asking again", async () => {
    const machine = new SteppingMachine();
    machine.nodeTurn = later(25_000);
    expect(await reports(machine)).toEqual({
      phase: "registering",
      ready: false,
      message: MESSAGE,
      reportInMs: INTERVAL_MS,
    });
    machine.nowMs += 20_000;
    expect(await reports(machine)).toMatchObject({ phase: "registering", reportInMs: 5000 });
    expect(machine.apiserver.node).toBeUndefined();
    machine.nowMs += 5000;
    expect(await reports(machine)).toMatchObject({ phase: "registered" });
    expect(machine.loads).toHaveLength(1);
  });

  it.each([
    ["used at its end → created", TURN_GOOD_MS - 1, "registered", 1],
    ["used later → the machine asks again", TURN_GOOD_MS, "registering", 2],
  ])("a turn that is %s", async (_, lateMs, phase, asks) => {
    const machine = new SteppingMachine();
    machine.nodeTurn = later(25_000);
    await reports(machine);
    machine.nowMs += 25_000 + lateMs;
    expect(await reports(machine)).toMatchObject({ phase });
    expect(machine.loads).toHaveLength(asks);
  });

  it("that must ask again → it asks after the wait, and not before", async () => {
    const machine = new SteppingMachine();
    machine.nodeTurn = later(100_000, false);
    await reports(machine);
    // With the random number 0.5, the machine waits for three quarters of the answered 100 s.
    for (let atMs = 10_000; atMs < 75_000; atMs += 10_000) {
      machine.nowMs += 10_000;
      expect(await reports(machine)).toMatchObject({ phase: "registering", message: MESSAGE });
    }
    expect(machine.loads).toHaveLength(1);
    machine.nodeTurn = FREE;
    machine.nowMs += 10_000;
    expect(await reports(machine)).toMatchObject({ phase: "registered" });
    expect(machine.loads).toHaveLength(2);
  });

  it("without an answer of the fleet index → the next report asks again", async () => {
    const machine = new SteppingMachine();
    machine.nodeTurn = null;
    const message = "the fleet index does not answer: its Node is written later";
    expect(await reports(machine)).toMatchObject({ phase: "registering", message });
    machine.nodeTurn = FREE;
    expect(await reports(machine)).toMatchObject({ phase: "registered" });
  });

  it("that has become larger than its turn → the machine asks for the difference", async () => {
    const machine = new SteppingMachine();
    machine.nodeTurn = later(25_000);
    await reports(machine);
    machine.facts = withImages(30_000);
    machine.nowMs += 20_000;
    machine.nodeTurn = later(1000);
    // The later one of both turns counts.
    expect(await reports(machine)).toMatchObject({ phase: "registering", reportInMs: 5000 });
    expect(machine.loads).toHaveLength(2);
    expect(machine.loads[1]).toEqual({ nodes: 0, bytes: expect.any(Number) as number });
    machine.nowMs += 5000;
    expect(await reports(machine)).toMatchObject({ phase: "registered" });
    const asked = machine.loads[0]!.bytes + machine.loads[1]!.bytes;
    expect(asked).toBeGreaterThan(JSON.stringify(machine.apiserver.node).length);
    expect(asked).toBeLessThan(40_000);
  });

  it("that grows with each report → all its turns together have the bytes of the largest Node", async () => {
    const machine = new SteppingMachine();
    machine.nodeTurn = later(250_000);
    for (let bytes = 1000; bytes < 59_000; bytes += 2000) {
      machine.facts = withImages(bytes);
      await reports(machine);
      machine.nowMs += 1000;
    }
    const asked = machine.loads.reduce((sum, load) => sum + load.bytes, 0);
    expect(asked).toBeLessThanOrEqual(MAX_NODE_BYTES);
    expect(machine.loads.filter(({ nodes }) => nodes > 0)).toHaveLength(1);
  });
});

describe("a registered machine", () => {
  const registered = async () => {
    const machine = new SteppingMachine();
    await reports(machine);
    machine.loads.length = 0;
    return machine;
  };

  it("that reports for an hour, and restarts its shim → asks nothing", async () => {
    const machine = await registered();
    for (let report = 0; report < 360; report++) {
      machine.nowMs += INTERVAL_MS;
      expect(await reports(machine)).toMatchObject({ phase: "registered" });
    }
    machine.evict();
    await reports(machine, "start-2");
    expect(machine.loads).toEqual([]);
  });

  it("whose Node grows → asks for the difference, and the Node is written at once", async () => {
    const machine = await registered();
    machine.facts = withImages(30_000);
    machine.nowMs += INTERVAL_MS;
    await reports(machine);
    expect(machine.loads).toEqual([{ nodes: 0, bytes: expect.any(Number) as number }]);
    expect(JSON.stringify(machine.apiserver.node).length).toBeGreaterThan(25_000);
    machine.facts = facts(NAME);
    await reports(machine);
    machine.facts = withImages(30_000);
    await reports(machine);
    expect(machine.loads).toHaveLength(1);
  });

  it("whose Node grows beyond its token's share → the Node waits, and its lease is renewed", async () => {
    const machine = await registered();
    machine.nodeTurn = later(60_000);
    machine.facts = withImages(30_000);
    machine.nowMs += INTERVAL_MS;
    expect(await reports(machine)).toMatchObject({ phase: "registered", ready: true, message: MESSAGE });
    expect(machine.take()).toContain("PUT lease");
    expect(JSON.stringify(machine.apiserver.node).length).toBeLessThan(10_000);
    machine.nowMs += 60_000;
    const { message } = await reports(machine);
    expect(message).toBeUndefined();
    expect(JSON.stringify(machine.apiserver.node).length).toBeGreaterThan(25_000);
  });

  it("of an earlier version → its Node may have its present size", async () => {
    const machine = await registered();
    machine.records.remove("nodeBytes");
    machine.facts = withImages(1000);
    machine.nowMs += INTERVAL_MS;
    await reports(machine);
    expect(machine.loads).toEqual([]);
  });

  it("whose Node changes and grows by a byte with each report → its turns have the bytes of one write", async () => {
    const machine = new SteppingMachine();
    machine.facts = withImages(30_000);
    await reports(machine);
    const change = async (report: number) => {
      machine.nowMs += 100;
      const images = machine.facts.images!.slice(0, -1);
      const last = { repoTags: [`image:${"x".repeat(report)}`], repoDigests: [], sizeBytes: 1 };
      machine.facts = { ...machine.facts, images: [...images, last] };
      await reports(machine);
    };
    // The machine uses up its own share, and another machine the token's.
    for (let report = 1; report < 3; report++) await change(report);
    machine.loads.length = 0;
    machine.nodeTurn = later(250_000);
    for (let report = 3; report < 103; report++) await change(report);
    const asked = machine.loads.reduce((sum, load) => sum + load.bytes, 0);
    expect(asked).toBeGreaterThan(0);
    expect(asked).toBeLessThanOrEqual(MAX_NODE_BYTES);
  });

  it("with a large Node that changes all the time → asks for each write beyond its own share", async () => {
    const machine = new SteppingMachine();
    machine.facts = withImages(30_000);
    await reports(machine);
    machine.loads.length = 0;
    machine.nodeTurn = later(600_000);
    let written = 0;
    for (let report = 0; report < 360; report++) {
      machine.nowMs += INTERVAL_MS;
      const images = machine.facts.images?.map((image) => ({ ...image, sizeBytes: image.sizeBytes + 1 }));
      machine.facts = { ...machine.facts, ...(images && { images }) };
      await reports(machine);
      written += machine.take().filter((asked) => asked === "PATCH status").length;
    }
    const nodeBytes = JSON.stringify(machine.apiserver.node).length;
    const { ownBytesAnHour, bytesAtOnce } = STATUS_BUDGET;
    expect(written * nodeBytes).toBeLessThanOrEqual(ownBytesAnHour + bytesAtOnce);
    expect(written * nodeBytes).toBeGreaterThan(ownBytesAnHour / 2);
    expect(machine.loads.length).toBeGreaterThan(0);
  });
});

it.each<[string, unknown, NodeTurn | null]>([
  ["of an earlier version → no limit", 'The RPC receiver does not implement the method "nodeTurn".', FREE],
  ["that fails → no answer", "overloaded", null],
])("a fleet index %s", async (_, message, turn) => {
  const INDEX = { getByName: () => ({ nodeTurn: () => Promise.reject(new TypeError(String(message))) }) };
  const ask = nodeTurns({ ...env, INDEX: INDEX as unknown as typeof env.INDEX }, "tok-1");
  expect(await ask({ nodes: 1, bytes: 4096 })).toEqual(turn);
});

it("the fleet index itself → its turn, and its join token's share", async () => {
  expect(await nodeTurns(env, "tok-1")({ nodes: 1, bytes: 4096 })).toEqual(FREE);
});

it("the limits: a token's bytes are enough for the least Node of each of its new Nodes", () => {
  const { newNodes, nodeBytes } = RATE_LIMITS;
  expect(nodeBytes.atOnce / newNodes.atOnce).toBeGreaterThan(8192);
  expect(newNodes.everyMs / nodeBytes.everyMs).toBeGreaterThan(4096);
});
