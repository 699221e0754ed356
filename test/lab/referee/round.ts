// Plays one round: draws a fleet and its faults from the seed, lets time pass, and checks the faces.
import { type Random, randomOf } from "../hostile/random.ts";
import { type Lie, checkList, checkNodes } from "./faces.ts";
import { FeedFace, judgeDelivery, checkMachine, checkMetrics } from "./other-faces.ts";
import { CLUSTER_FAULTS } from "./cluster-faults.ts";
import type { Fault } from "./fault.ts";
import { MACHINE_FAULTS } from "./machine-faults.ts";
import { WORKER_FAULTS } from "./worker-faults.ts";
import { World, type WorldShape } from "./world.ts";
import type { LoadedWorker } from "./worker.ts";

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;
/** The time between two checks of kubectl's face and of an open page. */
const CHECK_MS = 5 * SECOND_MS;
/** The number of these checks for each check of a face that costs a request. */
const CHECKS = 3;
/** The time before the first fault. All machines become ready, and the watch of the Nodes becomes live. */
const BEFORE_MS = 2 * MINUTE_MS;

const FAULTS: readonly Fault[] = [...MACHINE_FAULTS, ...WORKER_FAULTS, ...CLUSTER_FAULTS];

export interface RoundOptions {
  seed: number;
  /** The least and the most minutes in which faults begin. */
  minutes: readonly [least: number, most: number];
  /** The least and the most faults of a round. */
  faults: readonly [least: number, most: number];
  /** The minutes after the last fault. */
  quietMinutes: number;
  /** The names of the faults that are drawn. Absent: all faults. */
  only?: readonly string[];
  /** Methods of the Worker's objects that do nothing. Absent: none. */
  ignored?: readonly string[];
}

/** A drawn fault, with its times in seconds since faults may begin; in a RoundResult, since the round's start. */
export interface Drawn {
  fault: Fault;
  machine: string;
  fromS: number;
  toS: number;
}

export interface RoundResult {
  seed: number;
  shape: WorldShape;
  drawn: Drawn[];
  /** The first lie of each face about each machine, with its time in seconds. */
  lies: (Lie & { atS: number })[];
  /** The log lines of machines, objects and apiserver. */
  lines: string[];
}

function shapeOf(random: Random): WorldShape {
  const machines = Array.from({ length: 2 + random.int(2) }, (_, at) => ({
    name: `edge-${at + 1}`,
    usesSockets: random.chance(0.7),
    isForPods: random.chance(0.25),
    address: `10.0.0.${1 + random.int(2)}`,
  }));
  return { machines, hasController: random.chance(0.5), isWatched: random.chance(0.85) };
}

function drawFaults(
  random: Random,
  { machines }: WorldShape,
  { minutes, faults, only }: RoundOptions,
): Drawn[] {
  const lengthS = 60 * (minutes[0] + random.int(minutes[1] - minutes[0] + 1));
  const drawable = FAULTS.filter(({ name }) => only?.includes(name) ?? true);
  const count = faults[0] + random.int(faults[1] - faults[0] + 1);
  const drawn = Array.from({ length: count }, () => {
    const fault = random.pick(drawable);
    const fromS = random.int(lengthS);
    const [least, most] = fault.seconds;
    const toS = fromS + least + random.int(most - least + 1);
    return { fault, machine: random.pick(machines).name, fromS, toS };
  });
  return drawn.sort((one, other) => one.fromS - other.fromS);
}

export async function playRound(worker: LoadedWorker, options: RoundOptions): Promise<RoundResult> {
  const { seed } = options;
  const random = randomOf(seed, 0);
  const shape = shapeOf(random);
  const drawn = drawFaults(random, shape, options);
  const world = new World(worker, seed, shape, options.ignored ?? []);
  const found = new Map<string, Lie & { atS: number }>();
  const note = (lies: readonly Lie[]) => {
    for (const lie of lies) {
      const key = `${lie.face} ${lie.about} ${lie.truth.replaceAll(/\d+/g, "")}`;
      if (!found.has(key)) found.set(key, { ...lie, atS: world.seconds() });
    }
  };
  world.onDelivery = (delivery) => note(judgeDelivery(world, delivery));
  await world.begin();
  const page = random.chance(0.5) ? new FeedFace(world) : null;
  await page?.open();
  await world.time.pass(BEFORE_MS);
  const beganMs = world.time.nowMs();
  for (const each of drawn) schedule(world, each, random);
  const lastS = Math.max(...drawn.map(({ toS }) => toS));
  const untilMs = beganMs + lastS * SECOND_MS + options.quietMinutes * MINUTE_MS;
  for (let checks = 0; world.time.nowMs() < untilMs; checks++) {
    await world.time.pass(CHECK_MS);
    note([...checkNodes(world), ...(page?.check() ?? [])]);
    if (checks % CHECKS === 0) note(await checkOne(world, checks / CHECKS));
  }
  await world.end();
  const lies = [...found.values()];
  return {
    seed,
    shape,
    drawn: drawn.map((each) => atRoundTime(each, world.seconds(beganMs))),
    lies,
    lines: world.lines,
  };
}

/** Checks one of the faces that cost a request, in turn. */
async function checkOne(world: World, turn: number): Promise<Lie[]> {
  const machine = world.machines[(turn >> 2) % world.machines.length]!;
  try {
    if (turn % 4 === 1) return machine.isOut ? [] : await checkMachine(world, machine);
    return turn % 4 === 3 ? await checkMetrics(world) : await checkList(world);
  } catch (error) {
    // A face that answers with an error states nothing.
    world.log(String(error));
    return [];
  }
}

const atRoundTime = (drawn: Drawn, beganS: number): Drawn => ({
  ...drawn,
  fromS: drawn.fromS + beganS,
  toS: drawn.toS + beganS,
});

function schedule(world: World, { fault, machine: name, fromS, toS }: Drawn, random: Random): void {
  const machine = world.machines.find((each) => each.name === name)!;
  const failed = (error: unknown) => world.log(`${fault.name}: ${String(error)}`);
  world.time.after(fromS * SECOND_MS, () => {
    // A fault of a machine does not begin while another fault has stopped the machine's shim.
    if (fault.isOfMachine && !machine.isAlive) return;
    world.log(`begins: ${fault.name}, ${name}`);
    void Promise.resolve(fault.begin({ world, machine, random }))
      .then((end) =>
        world.time.after((toS - fromS) * SECOND_MS, () => {
          world.log(`ends: ${fault.name}, ${name}`);
          void Promise.resolve(end()).catch(failed);
        }),
      )
      .catch(failed);
  });
}
