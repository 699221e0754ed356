// Lists the faults of a machine: its shim, its network, its clock and its disk.
import type { Vitals } from "../../../shared/protocol/report.ts";
import { type Begin, type Fault, faultsWith, NOTHING } from "./fault.ts";
import type { PathFault } from "./network.ts";
import { WELL } from "./world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const of = faultsWith({ isOfMachine: true });

/** Stops the shim, and starts another process at the end. */
const down =
  ({ isClosed = true, isReboot = false }: { isClosed?: boolean; isReboot?: boolean }): Begin =>
  ({ machine, random }) => {
    machine.stop(isClosed);
    return () => {
      if (isReboot) machine.health.bootID = `boot-${random.int(1e9)}`;
      if (!machine.isOut) machine.start();
    };
  };

const vitalsOf = (change: Partial<Vitals>): Vitals => ({
  ...WELL,
  ...change,
  signals: { ...WELL.signals, ...change.signals },
});

const vitals =
  (change: Partial<Vitals>): Begin =>
  ({ machine }) => {
    machine.becomes({ vitals: vitalsOf(change) });
    return () => machine.becomes({ vitals: WELL });
  };

/** Changes the vitals every `everyS` seconds: to WELL, and back to WELL with `change`. */
const flapping =
  (change: Partial<Vitals>, everyS: number): Begin =>
  ({ machine, world }) => {
    let isWell = true;
    const stop = world.time.every(1000 * everyS, () => {
      isWell = !isWell;
      machine.becomes({ vitals: isWell ? WELL : vitalsOf(change) });
    });
    return () => {
      stop();
      machine.becomes({ vitals: WELL });
    };
  };

const RUNTIME_DOWN = { errors: { runtime: ["container runtime is down"] } };
const LITTLE_MEMORY = { signals: { "memory.available": [1024, 8 * 2 ** 30] } } satisfies Partial<Vitals>;
const FULL_DISK = { signals: { "nodefs.available": [1024, 100 * 2 ** 30] } } satisfies Partial<Vitals>;

/** Starts a second shim with the machine's key. At the end, an operator trusts the machine again. */
const copied =
  (isCopy: "another machine" | "the same machine"): Begin =>
  ({ machine, world }) => {
    const unblock = machine.block();
    const copy = machine.start(isCopy);
    return async () => {
      copy.kill(true);
      await world.operator("POST", `/v1/nodes/${machine.name}/believe`).catch(NOTHING);
      unblock();
    };
  };

/** Sends an operator's request that ends the machine's use for the rest of the round. */
const endedBy =
  (method: string, pathOf: (name: string) => string): Begin =>
  async ({ machine, world }) => {
    machine.isOut = true;
    machine.blocked.set(true, world.time.nowMs());
    await world.operator(method, pathOf(machine.name)).catch(NOTHING);
    return NOTHING;
  };

const onPath =
  (fault: PathFault): Begin =>
  ({ machine: { network } }) => {
    const own = { ...fault };
    network.faults.add(own);
    return () => void network.faults.delete(own);
  };

const clock =
  (byMs: number): Begin =>
  ({ machine: { health } }) => {
    health.wallOffsetMs += byMs;
    return () => void (health.wallOffsetMs -= byMs);
  };

/** Restarts the shim every 4 to 15 seconds. */
const crashLoop: Begin = ({ machine, world, random }) => {
  let isOver = false;
  const again = () => {
    if (isOver || machine.isOut) return;
    machine.stop(true);
    machine.start();
    world.time.after(1000 * (4 + random.int(12)), again);
  };
  again();
  return () => void (isOver = true);
};

const halfOpen: Begin = ({ machine }) => {
  machine.network.halfOpen();
  return NOTHING;
};

/** Reports a shutdown, stops the shim after 5 s, and boots at the end. */
const shutDown: Begin = ({ machine, world, random }) => {
  machine.becomes({ vitals: vitalsOf({ shuttingDown: true }) });
  let isOff = false;
  const off = world.time.after(5000, () => {
    isOff = true;
    machine.stop(true);
  });
  return () => {
    off();
    machine.health.vitals = WELL;
    if (isOff) machine.health.bootID = `boot-${random.int(1e9)}`;
    if (!machine.isOut) machine.start();
    machine.becomes({ vitals: WELL });
  };
};

/** Starts the shim with another kernel, as after an upgrade. */
const upgraded: Begin = ({ machine, random }) => {
  machine.stop(true);
  return () => {
    machine.health.kernel = `6.2.${random.int(100)}`;
    if (!machine.isOut) machine.start();
  };
};

/** Restarts the shim while its disk is full, and reports DiskPressure. */
const fullAtStart: Begin = (context) => {
  const end = vitals(FULL_DISK)(context) as () => void;
  context.machine.stop(true);
  context.machine.start();
  return end;
};

export const MACHINE_FAULTS: readonly Fault[] = [
  of("its power fails", [20, 240], down({ isClosed: false, isReboot: true })),
  of("its shim is killed", [20, 240], down({})),
  of("its shim is killed, its socket half-open", [20, 240], down({ isClosed: false })),
  of("its shim restarts", [1, 4], down({})),
  of("its shim restarts, its socket half-open", [1, 4], down({ isClosed: false })),
  of("its shim restarts slowly", [12, 38], down({})),
  of("its shim crashes again and again", [30, 150], crashLoop),
  of("it reboots", [30, 90], down({ isReboot: true })),
  of("it reboots fast", [5, 12], down({ isReboot: true })),
  of("it shuts down", [20, 120], shutDown),
  of("its shim hangs", [10, 200], ({ machine }) => machine.freeze(false)),
  of("it is suspended", [10, 240], ({ machine }) => machine.freeze(true)),
  of("another machine has its key", [30, 180], copied("another machine")),
  of("a second shim runs on it", [30, 180], copied("the same machine")),
  of(
    "its key is revoked",
    [1, 1],
    endedBy("POST", (name) => `/v1/nodes/${name}/revoke`),
  ),
  of(
    "an operator removes it",
    [1, 1],
    endedBy("DELETE", (name) => `/v1/nodes/${name}`),
  ),
  of("it lacks memory", [10, 200], vitals(LITTLE_MEMORY)),
  of("its disk has no inodes", [10, 200], vitals({ signals: { "nodefs.inodesFree": [10, 6_500_000] } })),
  of("its runtime is down", [10, 200], vitals(RUNTIME_DOWN)),
  of("its runtime flaps", [30, 120], flapping(RUNTIME_DOWN, 12)),
  of("its memory flaps", [30, 120], flapping(LITTLE_MEMORY, 7)),
  of("its runtime is down, and it lacks memory", [10, 200], vitals({ ...RUNTIME_DOWN, ...LITTLE_MEMORY })),
  of("its shim starts with another kernel", [1, 6], upgraded),
  of("its way drops for a moment", [3, 15], onPath({ kind: "cut" })),
  of("its way drops", [25, 240], onPath({ kind: "cut" })),
  of("its way drops in one direction", [10, 200], onPath({ kind: "one way" })),
  of("its way takes 2 s", [30, 120], onPath({ kind: "slow", ms: 2000 })),
  of("its way takes 20 s", [30, 120], onPath({ kind: "slow", ms: 20_000 })),
  of("its sockets become half-open", [1, 1], halfOpen),
  of("a proxy answers 413", [20, 120], onPath({ kind: "proxy", status: 413, isHttpOnly: true })),
  of("a proxy answers 502", [20, 120], onPath({ kind: "proxy", status: 502, isHttpOnly: false })),
  of("a proxy answers 200 with a page", [20, 120], onPath({ kind: "proxy", status: 200, isHttpOnly: true })),
  of("a proxy passes no upgrades", [60, 300], onPath({ kind: "no upgrades" })),
  of("a third of its requests fails", [30, 200], onPath({ kind: "resets", share: 0.3 })),
  of("its clock is an hour ahead", [20, 240], clock(HOUR_MS)),
  of("its clock is an hour behind", [20, 240], clock(-HOUR_MS)),
  of("its clock is a day ahead", [20, 240], clock(DAY_MS)),
  of("its clock is a day behind", [20, 240], clock(-DAY_MS)),
  of("its disk is full", [10, 200], vitals(FULL_DISK)),
  of("its shim starts on a full disk", [10, 200], fullAtStart),
];
