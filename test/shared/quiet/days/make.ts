// Writes the texts of days into this folder: node test/shared/quiet/days/make.ts. Each day is of a machine with 8
// GiB of memory, a disk of 252 GiB, and one of 100 GiB for images. Available memory returns to a mean, with random
// steps for allocations. Logs, files and processes change the other signals. The random numbers have a seed, so
// that the texts do not change. recorded.txt is from a real machine, whose vitals node-shim/machine/machine.ts
// gathered every 9.6 s.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Day, dayText } from "./day.ts";

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const EVERY_MS = 9600;
const BEATS = (24 * 3600 * 1000) / EVERY_MS;
/** The size of a page of memory, and of a block on disk. Finer units would only make the texts longer. */
const PAGE = 65_536;
const BLOCK = 32_768;

/** Returns a function that returns random numbers in [0, 1), from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The mean of available memory at each heartbeat, and the limits of available memory, in bytes. */
interface MemoryOfDay {
  aim: (beat: number) => number;
  least: number;
  most: number;
  /** The largest random change of available memory per heartbeat, in pages of 64 KiB. */
  step: number;
  /** The fraction of the distance to the mean by which available memory approaches the mean at each heartbeat. */
  back: number;
}

/** Makes a day. `blocks` is the average number of blocks that are written to disk at each heartbeat. */
function day(seed: number, memory: MemoryOfDay, blocks: number): Day {
  const random = randomOf(seed);
  const within = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const first = PAGE * Math.round(memory.aim(0) / PAGE);
  let [available, pids] = [first, 32_500];
  const changes: number[][] = [];
  for (let beat = 0; beat < BEATS; beat++) {
    const before = available;
    const pull = Math.round((memory.back * (memory.aim(beat) - available)) / PAGE);
    const wanted = available + PAGE * (pull + within(-memory.step, memory.step));
    available = Math.min(memory.most, Math.max(memory.least, wanted));
    // Logs are written to disk once a minute, which is every sixth heartbeat.
    const written = beat % 6 === 0 ? within(0, 12 * blocks) : 0;
    const started = random() < 0.2 ? Math.sign(32_500 - pids) * within(0, 2) + within(-2, 2) : 0;
    pids += started;
    const file = random() < 0.02 ? within(-1, 1) : 0;
    changes.push([(available - before) / PAGE, -written, file, 0, 0, started]);
  }
  const signals = [
    [8 * GIB, first, PAGE],
    [252 * GIB, 180 * GIB, BLOCK],
    [16_777_216, 15_960_783, 1],
    [100 * GIB, 61 * GIB, BLOCK],
    [6_553_600, 6_100_000, 1],
    [32_768, 32_500, 1],
  ] as const;
  return { everyMs: EVERY_MS, signals, changes };
}

const THRESHOLD = 100 * MIB;
/**
 * Returns true while memory is below the threshold: for half a minute, three times within ten minutes, every three
 * hours.
 */
const isDip = (beat: number) => beat % 1125 >= 900 && beat % 1125 < 963 && beat % 30 < 3;

const days: Record<string, Day> = {
  steady: day(1, { aim: () => 5 * GIB, least: 4 * GIB, most: 6 * GIB, step: 400, back: 1 / 8 }, 2),
  // This machine has a memory leak, and logs without rotation. Memory falls from 6 GiB to 1 GiB, the disk from 180
  // GiB to about 36 GiB.
  drifting: day(
    2,
    {
      aim: (beat) => 6 * GIB - (5 * GIB * beat) / BEATS,
      least: GIB / 2,
      most: 7 * GIB,
      step: 400,
      back: 1 / 8,
    },
    520,
  ),
  "near-threshold": day(
    3,
    { aim: () => THRESHOLD + 2 * MIB, least: THRESHOLD, most: THRESHOLD + 8 * MIB, step: 30, back: 1 / 8 },
    2,
  ),
  flapping: day(
    4,
    {
      aim: (beat) => (isDip(beat) ? THRESHOLD - 2 * MIB : THRESHOLD + 300 * MIB),
      least: THRESHOLD - 3 * PAGE,
      most: THRESHOLD + 400 * MIB,
      step: 40,
      back: 1,
    },
    2,
  ),
};

for (const [name, made] of Object.entries(days))
  writeFileSync(join(import.meta.dirname, `${name}.txt`), dayText(made));
