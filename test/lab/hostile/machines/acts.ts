// Determines the next act of a hostile machine from the seed, the machine's number and the act's index, independent
// of answers.
import type { Ids } from "./draft.ts";
import * as kinds from "./kinds.ts";
import { streamOf } from "./streams.ts";

interface Role {
  does: readonly kinds.Kind[];
  /** The number of acts after which the machine's shim restarts. The machine restarts after four times as many. */
  restartsAfter: number;
  leaves?: boolean;
  /** true if the machine enrols many further names once. */
  crowds?: boolean;
}

/**
 * The number of acts after which a machine leaves again. A name may be enrolled 24 times a day, all of them possibly in
 * one hour. A machine first leaves after FIRST_LEAVE acts, so that it leaves in a short run too.
 */
const LEAVES_EVERY = 1500;
const FIRST_LEAVE = 40;
/** The act that enrols many further names: an early one, so that a short run has it too. */
const CROWD = 5;

/** The usual acts of each machine. Eight machines cover all kinds. */
const ROLES: readonly Role[] = [
  { does: [kinds.reachLimits], restartsAfter: 600 },
  { does: [kinds.reachLimits, kinds.devices, kinds.inventory, kinds.beyond, kinds.names], restartsAfter: 10 },
  { does: [kinds.flap, kinds.doubles], restartsAfter: 5000 },
  { does: [kinds.beyond, kinds.devices, kinds.clouds, kinds.names], restartsAfter: 600, crowds: true },
  { does: [kinds.images, kinds.settings], restartsAfter: 5000 },
  { does: [kinds.keys, kinds.beyond, kinds.images], restartsAfter: 600, leaves: true },
  { does: [kinds.clones, kinds.tricks], restartsAfter: 600 },
  { does: [kinds.conditions, kinds.events, kinds.floods], restartsAfter: 600 },
];
/**
 * The acts that every machine does sometimes. Acts that end a machine, or have it ignored for an hour, are left out.
 */
const ANYBODYS: readonly kinds.Kind[] = [
  kinds.reachLimits,
  kinds.flap,
  kinds.beyond,
  kinds.images,
  kinds.settings,
  kinds.conditions,
  kinds.events,
  kinds.devices,
  kinds.floods,
  kinds.doubles,
  kinds.names,
];

export function actOf(
  seed: number,
  machine: number,
  index: number,
  at: { name: string; coveted: kinds.Coveted },
): kinds.Act {
  const random = streamOf(seed, machine, "acts", index);
  const salt = Buffer.from(random.bytes(6)).toString("hex");
  const { does, restartsAfter, leaves = false, crowds = false } = ROLES[machine % ROLES.length]!;
  if (leaves && index % LEAVES_EVERY === FIRST_LEAVE) return kinds.leaves();
  const ids = idsAt({ seed, machine, index }, restartsAfter);
  const picked = random.pick(random.chance(0.8) ? does : ANYBODYS);
  const kind = crowds && index === CROWD ? kinds.crowd : picked;
  return kind({ random, index, salt, ids, ...at });
}

/**
 * Returns the IDs at this act. A process of the shim lasts some acts, a boot some processes, a disk some boots; no
 * ID comes back.
 */
function idsAt(
  { seed, machine, index }: { seed: number; machine: number; index: number },
  restartsAfter: number,
): Ids {
  const id = (what: keyof Ids, every: number) => {
    const random = streamOf(seed, machine, what, Math.floor(index / every));
    return Buffer.from(random.bytes(8)).toString("hex");
  };
  return {
    startId: id("startId", restartsAfter),
    bootID: id("bootID", 4 * restartsAfter),
    machineID: id("machineID", 16 * restartsAfter),
  };
}
