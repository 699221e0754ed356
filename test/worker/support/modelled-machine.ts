// Simulates a machine with random events and its report in each heartbeat. Its amounts move across the exact edge of a
// threshold. The simulation does not know which heartbeats are quiet.
import * as fc from "fast-check";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { SIGNALS, type Vitals } from "../../../shared/protocol/report.ts";
import type { Settings } from "../../../shared/protocol/settings.ts";
import { leastCalm } from "../../shared/quiet/machine.ts";
import { facts } from "./facts.ts";
import type { Said } from "./lent-machine.ts";

type SignalName = (typeof SIGNALS)[number];
type Condition = NonNullable<Facts["dropIns"]>["conditions"][number];

const GIB = 2 ** 30;
const START_MS = Date.UTC(2026, 0, 1);
const DROP_INS_EVERY_MS = 60_000;

/** An event, and the number of heartbeats until the next event. */
export type Happening = { beats: number } & (
  | { kind: "calm" }
  /** The available amount becomes the threshold plus `more`. */
  | { kind: "edge"; signal: SignalName; more: number }
  | { kind: "signal lost"; signal: SignalName }
  | { kind: "capacity"; signal: SignalName; capacity: number }
  | { kind: "errors"; errors: Vitals["errors"] }
  /** The counter of OOM kills rises by `more`; undefined if the counter cannot be read. */
  | { kind: "kills"; more: number | undefined }
  | { kind: "shutdown"; shuttingDown: boolean }
  | { kind: "clock"; skewMs: number }
  | { kind: "drop-ins hang" }
  | { kind: "a drop-in says"; status: Condition["status"] }
  | { kind: "restart" }
);

export interface Configuration {
  settings: Partial<Settings>;
  /**
   * Milliseconds between two heartbeats. "spread": as answers spread reports. A number may make heartbeats arrive
   * exactly when a status is due.
   */
  everyMs: number | "spread";
  /** The seconds for which a drop-in's condition is valid, by its type; null if there are no drop-ins. */
  expiresInSeconds: Readonly<Record<string, number>> | null;
}

const CAPACITIES: Readonly<Record<SignalName, number>> = {
  "memory.available": 8 * GIB,
  "nodefs.available": 270_553_174_016,
  "nodefs.inodesFree": 16_777_216,
  "imagefs.available": 100 * GIB,
  "imagefs.inodesFree": 6_553_600,
  "pid.available": 32_768,
};

class ModelledMachine {
  readonly #settings: Settings;
  readonly #everyMs: Configuration["everyMs"];
  readonly #expiresInSeconds: Configuration["expiresInSeconds"];
  #nowMs = START_MS;
  #beats = 0;
  #starts = 1;
  #kills: number | undefined = 0;
  #skewMs = 0;
  #errors: Vitals["errors"];
  #shuttingDown = false;
  #status: Condition["status"] = "False";
  /** The time of the drop-ins' last output; undefined if they have not run since the shim started. */
  #saidMs: number | undefined;
  #facts: { text: string; facts: Facts } | undefined;
  readonly #capacities: Record<SignalName, number> = { ...CAPACITIES };

  constructor({ settings, everyMs, expiresInSeconds }: Configuration) {
    this.#everyMs = everyMs;
    this.#settings = { ...facts("edge-1").settings, ...settings };
    this.#expiresInSeconds = expiresInSeconds;
  }

  /** Applies an event. Some events last longer than one heartbeat, for example a new capacity. */
  take(happening: Happening): void {
    if (happening.kind === "capacity") this.#capacities[happening.signal] = happening.capacity;
    if (happening.kind === "errors") this.#errors = happening.errors;
    if (happening.kind === "kills")
      this.#kills = happening.more === undefined ? undefined : (this.#kills ?? 0) + happening.more;
    if (happening.kind === "shutdown") this.#shuttingDown = happening.shuttingDown;
    if (happening.kind === "clock") this.#skewMs = happening.skewMs;
    if (happening.kind === "a drop-in says") this.#status = happening.status;
    if (happening.kind !== "restart") return;
    this.#starts++;
    this.#saidMs = undefined;
  }

  beat(happening: Happening): Said {
    // The spread interval is two to six per cent shorter than ten seconds.
    this.#nowMs += this.#everyMs === "spread" ? 9400 + ((this.#beats * 7919) % 400) : this.#everyMs;
    this.#beats++;
    const isDue = this.#saidMs === undefined || this.#nowMs - this.#saidMs >= DROP_INS_EVERY_MS;
    const remainingSeconds = this.#remainingSeconds();
    const said: Said = {
      atMs: this.#nowMs,
      ...this.#factsNow(),
      vitals: { ...this.#vitals(happening), ...(remainingSeconds && { remainingSeconds }) },
      skewMs: this.#skewMs,
      startId: `start-${this.#starts}`,
    };
    // Drop-ins run in the background, so that only the next heartbeat has their output.
    if (isDue && happening.kind !== "drop-ins hang") this.#saidMs = this.#nowMs + 300;
    return said;
  }

  #vitals(happening: Happening): Vitals {
    const signals: Vitals["signals"] = {};
    for (const name of SIGNALS) {
      const capacity = this.#capacities[name];
      const isMeant = "signal" in happening && happening.signal === name;
      if (isMeant && happening.kind === "signal lost") continue;
      const calm = Math.ceil(capacity * 0.7) + ((this.#beats * 104_729) % 1000);
      const isAtEdge = isMeant && happening.kind === "edge";
      const edge = isAtEdge ? leastCalm(this.#settings, name, capacity) + happening.more : calm;
      signals[name] = [Math.max(0, edge), capacity];
    }
    return {
      signals,
      ...(this.#errors && { errors: this.#errors }),
      ...(this.#shuttingDown && { shuttingDown: true }),
      ...(this.#kills !== undefined && { oomKills: this.#kills }),
    };
  }

  #remainingSeconds(): Vitals["remainingSeconds"] {
    const saidMs = this.#saidMs;
    if (!this.#expiresInSeconds || saidMs === undefined) return undefined;
    const left = (seconds: number) => Math.max(0, Math.ceil(seconds - (this.#nowMs - saidMs) / 1000));
    return Object.fromEntries(
      Object.entries(this.#expiresInSeconds).map(([type, each]) => [type, left(each)]),
    );
  }

  /** Returns the facts with their digest: the same object until the facts change. */
  #factsNow(): Pick<Said, "facts" | "digest"> {
    const digest = `${this.#saidMs === undefined} ${this.#status}`;
    if (this.#facts?.text !== digest) {
      const dropIns = this.#saidMs === undefined ? {} : { dropIns: this.#dropIns() };
      this.#facts = { text: digest, facts: facts("edge-1", { settings: this.#settings, ...dropIns }) };
    }
    return { facts: this.#facts.facts, digest };
  }

  #dropIns(): NonNullable<Facts["dropIns"]> | null {
    if (!this.#expiresInSeconds) return null;
    const conditions = Object.entries(this.#expiresInSeconds).map(([type, expiresInSeconds]): Condition => ({
      type,
      status: this.#status,
      reason: "AsSaid",
      message: "as it was said",
      expiresInSeconds,
    }));
    return { resources: {}, labels: {}, conditions, working: 1, failures: [] };
  }
}

/** Returns all heartbeats of a machine with these events. */
export function heartbeatsOf(configuration: Configuration, happenings: readonly Happening[]): Said[] {
  const machine = new ModelledMachine(configuration);
  return happenings.flatMap((happening) => {
    machine.take(happening);
    return Array.from({ length: happening.beats }, () => machine.beat(happening));
  });
}

const anySignal = fc.constantFrom(...SIGNALS);
const kinds = [
  fc.record({ kind: fc.constant("calm" as const) }),
  fc.record({ kind: fc.constant("edge" as const), signal: anySignal, more: fc.integer({ min: -2, max: 2 }) }),
  fc.record({
    kind: fc.constant("edge" as const),
    signal: anySignal,
    more: fc.constantFrom(-(2 ** 20), 2 ** 20, -(2 ** 30), 2 ** 30),
  }),
  fc.record({ kind: fc.constant("signal lost" as const), signal: anySignal }),
  fc.record({
    kind: fc.constant("capacity" as const),
    signal: anySignal,
    capacity: fc.constantFrom(0, 1000, 8 * GIB, 270_553_174_016),
  }),
  fc.record({
    kind: fc.constant("errors" as const),
    errors: fc.constantFrom<Vitals["errors"][]>(
      undefined,
      {},
      { runtime: [] },
      { runtime: ["gone"] },
      { network: ["gone", "away"] },
    ),
  }),
  fc.record({ kind: fc.constant("kills" as const), more: fc.constantFrom(undefined, 0, 1, 7, -1) }),
  fc.record({ kind: fc.constant("shutdown" as const), shuttingDown: fc.boolean() }),
  fc.record({
    kind: fc.constant("clock" as const),
    skewMs: fc.oneof(
      fc.constantFrom(
        0,
        60_000,
        60_001,
        60_499,
        61_000,
        90_000,
        120_000,
        120_001,
        121_000,
        182_000,
        3_600_000,
      ),
      fc.constantFrom(-60_000, -60_001, -61_000, -119_999, -120_001, -3_600_000),
    ),
  }),
  fc.record({ kind: fc.constant("drop-ins hang" as const) }),
  fc.record({
    kind: fc.constant("a drop-in says" as const),
    status: fc.constantFrom("True" as const, "False" as const),
  }),
  fc.record({ kind: fc.constant("restart" as const) }),
] as const;

const anyHappening: fc.Arbitrary<Happening> = fc
  .tuple(fc.oneof(...kinds), fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 4, max: 40 })))
  .map(([happening, beats]) => ({ ...happening, beats }));
export const anyHappenings = fc.array(anyHappening, { minLength: 1, maxLength: 10 });

/** The events that move each signal to its threshold's exact edge until pressure ends, then one byte below it. */
export const AT_EACH_EDGE: readonly Happening[] = SIGNALS.flatMap((signal): Happening[] => [
  { kind: "calm", beats: 3 },
  { kind: "edge", signal, more: 0, beats: 8 },
  { kind: "edge", signal, more: -1, beats: 1 },
  { kind: "edge", signal, more: 0, beats: 8 },
]);

const thresholds: readonly Partial<Settings>[] = [
  {},
  { evictionHard: {} },
  {
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "10%", "pid.available": "1e3" },
    evictionSoft: { "memory.available": "1.5Gi", "nodefs.inodesFree": "33.333%" },
    evictionSoftGracePeriod: { "memory.available": "30s", "nodefs.inodesFree": "2m" },
    evictionMinimumReclaim: { "memory.available": "500Mi", "nodefs.available": "5%" },
  },
  {
    evictionSoft: { "imagefs.available": "20%", "pid.available": "0.5" },
    evictionSoftGracePeriod: { "imagefs.available": "0s", "pid.available": "1m" },
  },
];
export const anyConfiguration: fc.Arbitrary<Configuration> = fc.record({
  settings: fc
    .tuple(
      fc.constantFrom(...thresholds),
      fc.constantFrom(0, 30_000, 300_000),
      fc.constantFrom(60_000, 300_000),
    )
    .map(([limits, evictionPressureTransitionPeriodMs, nodeStatusReportFrequencyMs]) => ({
      ...limits,
      evictionPressureTransitionPeriodMs,
      nodeStatusReportFrequencyMs,
    })),
  everyMs: fc.constantFrom("spread" as const, 10_000),
  expiresInSeconds: fc.constantFrom(
    null,
    {},
    { RaidDegraded: 300 },
    { RaidDegraded: 300, "example.com/DoorOpen": 65 },
    { RaidDegraded: 40, "example.com/DoorOpen": 604_800 },
  ),
});
