// Tests a machine whose Node changes with every report, as a malicious machine's could: which writes the apiserver
// gets, and the machine's answers.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MAX_IMAGE_BYTES } from "../../../shared/from-report/reported-status.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { MAX_NODE_BYTES, sizeOf, STATUS_BUDGET } from "../../../worker/tick/budgets.ts";
import { HEALTHY } from "../support/facts.ts";
import { SteppingMachine } from "../support/stepping-machine.ts";

beforeEach(() => void vi.spyOn(console, "log").mockReturnValue());
afterEach(() => void vi.restoreAllMocks());

const image = (name: string) => ({ repoDigests: [], repoTags: [name.padEnd(1000, "x")], sizeBytes: 1 });
const many = (count: number, turn: number) =>
  Array.from({ length: count }, (_, at) => image(`${turn}-${at}`));
const WITHHELD = "its Node changes too often: what changed is written later";
/** The shortest interval of reports that the Worker accepts. */
const FLOOD_MS = 100;
const LEFT_OUT = `left out of its Node: images beyond ${MAX_IMAGE_BYTES} bytes`;

/** Returns a machine that floods, with a count of the bytes of each Node version that the apiserver stores. */
function flooding() {
  const machine = new SteppingMachine();
  machine.facts.settings.nodeStatusMaxImages = 50;
  machine.facts.runtime = { name: "containerd", version: "2.1.0" };
  const state = { bytes: 0, turn: 0 };
  machine.inBetween = async (asked, ask) => {
    const answer = await ask();
    if (/^(POST|PATCH) (Node|status)$/.test(asked) && answer.ok)
      state.bytes += sizeOf(machine.apiserver.node!);
    return answer;
  };
  const flood = async (reports: number, vitals: Vitals = HEALTHY, isCold = false) => {
    let outcome;
    for (let sent = 0; sent < reports; sent++) {
      machine.nowMs += FLOOD_MS;
      machine.facts.images = many(60, state.turn++);
      outcome = await machine.report(vitals);
      if (isCold) machine.evict();
    }
    return outcome;
  };
  return { machine, state, flood };
}

describe("a machine whose Node changes with every report", () => {
  it.each([
    ["warm", false],
    ["evicted after each report", true],
  ])(
    "%s → its budget is written and no more; answer and history state it, the lease goes on",
    async (_, isCold) => {
      const { machine, state, flood } = flooding();
      const outcome = await flood(12, HEALTHY, isCold);
      expect(outcome).toEqual({ phase: "registered", ready: true, message: WITHHELD });
      expect(state.bytes).toBeGreaterThan(STATUS_BUDGET.bytesAtOnce / 2);
      expect(state.bytes).toBeLessThan(1.01 * STATUS_BUDGET.bytesAtOnce);
      expect(machine.notes).toContain(`apiserver: ${WITHHELD}`);
      expect(machine.take()).toContain("PUT lease");
    },
  );

  it("is no longer Ready → is written at once; Ready again → waits", async () => {
    const { machine, flood } = flooding();
    await flood(12);
    const readyOf = () =>
      machine.apiserver.node?.status?.conditions?.find(({ type }) => type === "Ready")?.status;
    expect(await flood(1, { ...HEALTHY, errors: { runtime: ["gone"] } })).toMatchObject({ ready: false });
    expect(readyOf()).toBe("False");
    expect(await flood(3)).toMatchObject({ ready: false, message: WITHHELD });
    expect(readyOf()).toBe("False");
  });

  it("a withheld change is written later", async () => {
    const { machine, flood } = flooding();
    await flood(12);
    machine.nowMs += 600_000;
    machine.facts.images = [image("last")];
    expect(await machine.report()).toEqual({ phase: "registered", ready: true });
    expect(machine.apiserver.node?.status?.images).toEqual([
      { names: ["last".padEnd(1000, "x")], sizeBytes: 1 },
    ]);
  });

  it("with more images than a Node has room for → the largest ones, and a message", async () => {
    const { machine } = flooding();
    machine.facts.images = many(60, 0);
    await machine.report();
    expect(await machine.report()).toMatchObject({ ready: true, message: LEFT_OUT });
    expect(machine.apiserver.node?.status?.images).toHaveLength(
      Math.floor(MAX_IMAGE_BYTES / (1000 + 3 + 48)),
    );
    expect(sizeOf(machine.apiserver.node!)).toBeLessThan(MAX_NODE_BYTES);
  });

  it("whose Node would be too large → is not written, and a message; the lease is renewed", async () => {
    const { machine } = flooding();
    await machine.report();
    const inUse = Array.from({ length: 120 }, (_, at) => `kubernetes.io/csi/${at}`.padEnd(1000, "x"));
    machine.facts.volumes = { synced: true, inUse };
    expect(await machine.report()).toMatchObject({
      phase: "registered",
      ready: true,
      message: `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not written`,
    });
    expect(machine.apiserver.node?.status).not.toHaveProperty("volumesInUse");
    expect(machine.take()).toEqual(["PUT lease"]);
  });

  it("that restarts constantly → a burst of registrations, then one a minute; its lease is renewed", async () => {
    const machine = new SteppingMachine();
    const start = (turn: number) => machine.report(HEALTHY, `start-${turn}`);
    for (let turn = 0; turn < RATE_LIMITS.registrations.atOnce; turn++)
      expect(await start(turn)).toMatchObject({ phase: "registered" });
    expect(await start(100)).toMatchObject({
      phase: "registering",
      message: "its shim was started too often: it is registered again later",
    });
    expect(machine.take()).toEqual(["PUT lease"]);
    machine.nowMs += RATE_LIMITS.registrations.everyMs;
    expect(await start(100)).toMatchObject({ phase: "registered" });
  });
});
