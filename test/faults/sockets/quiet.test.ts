// Tests which heartbeats are quiet: pressure begins at the exact limit.
import { afterEach, describe, expect, it, vi } from "vitest";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import { facts } from "../../worker/support/machine.ts";
import { eventsAbout } from "../watched.ts";
import { lentMachine, putsOf, stoppedClock } from "./members.ts";
import { BEAT_MS } from "./on-socket.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;

afterEach(() => void vi.restoreAllMocks());

const WELL: Record<(typeof SIGNALS)[number], [available: number, capacity: number]> = {
  "memory.available": [4 * GIB, 8 * GIB],
  "nodefs.available": [50 * GIB, 100 * GIB],
  "nodefs.inodesFree": [5_000_000, 6_553_600],
  "imagefs.available": [50 * GIB, 100 * GIB],
  "imagefs.inodesFree": [5_000_000, 6_553_601],
  "pid.available": [30_000, 32_768],
};
const HARD = {
  "memory.available": "100Mi",
  "nodefs.available": "10%",
  "nodefs.inodesFree": "5%",
  "imagefs.available": "15%",
  "imagefs.inodesFree": "5%",
  "pid.available": "1000",
};

const withAvailable = (signal: (typeof SIGNALS)[number], available: number): Vitals => ({
  signals: { ...WELL, [signal]: [available, WELL[signal][1]] },
});

describe("pressure that begins", () => {
  it.each<[signal: (typeof SIGNALS)[number], from: number, condition: string, event: string]>([
    ["memory.available", 100 * MIB, "MemoryPressure", "NodeHasInsufficientMemory"],
    // The limit is a 32-bit fraction as upstream's, so a little more than 10 %.
    ["nodefs.available", 10_737_418_400, "DiskPressure", "NodeHasDiskPressure"],
    ["nodefs.inodesFree", 327_680, "DiskPressure", "NodeHasDiskPressure"],
    ["imagefs.available", 16_106_128_000, "DiskPressure", "NodeHasDiskPressure"],
    // The limit is truncated, as upstream does.
    ["imagefs.inodesFree", 327_680, "DiskPressure", "NodeHasDiskPressure"],
    ["pid.available", 1000, "PIDPressure", "NodeHasInsufficientPID"],
  ])(
    "by %s: with %i the heartbeat is quiet, with one less the Node has %s",
    async (signal, from, condition, event) => {
      const clock = stoppedClock();
      const name = `edge-${signal.replace(".", "-")}`.toLowerCase();
      const told = facts(name);
      const machine = await lentMachine(name, clock, {
        facts: { ...told, settings: { ...told.settings, evictionHard: HARD } },
        vitals: { signals: WELL },
      });
      clock.shift(BEAT_MS);
      expect(await machine.beat({ vitals: withAvailable(signal, from) })).toMatchObject({ type: "answer" });
      expect(await machine.asked()).toEqual(putsOf(name, 1));
      expect(await machine.condition(condition)).toBe("False");
      clock.shift(BEAT_MS);
      const below = withAvailable(signal, from - 1);
      expect(await machine.beat({ vitals: below })).toEqual({ type: "again", reason: "not quiet" });
      expect(await machine.asked()).toEqual([]);
      expect(await machine.report({ vitals: below })).toMatchObject({
        status: 200,
        body: { phase: "registered" },
      });
      expect(await machine.condition(condition)).toBe("True");
      expect(await eventsAbout(name)).toMatchObject({ [event]: 1 });
      expect(machine.socket.session, "lent under pressure").toBeNull();
    },
  );
});
