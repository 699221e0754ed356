// Maps a seed and an index to a kind of hostile frame and its random choices, always the same. Uses only a thief's
// knowledge of the present sockets.
import { type SeededKey, seededKey } from "../jwt.ts";
import { randomOf } from "../random.ts";
import type { TransportRequest } from "../../../../node-shim/worker-link/exchange.ts";
import { heartbeatKinds } from "./kinds/heartbeats.ts";
import { questionKinds } from "./kinds/questions.ts";
import { reportKinds } from "./kinds/reports.ts";
import { textKinds } from "./kinds/texts.ts";
import { type FrameDraw, type FrameKind, reportRequest, type Shot } from "./shot.ts";
import { isStillValidShot } from "./still-valid-shot.ts";
import type { Tapped } from "./tapped.ts";

/**
 * All kinds of frames. Kinds that close a socket at once are half as frequent, because a new socket takes longer
 * than a frame.
 */
const KINDS: [kind: string, make: FrameKind][] = interleaved([
  Object.entries(textKinds),
  Object.entries(questionKinds),
  Object.entries(heartbeatKinds),
  Object.entries(heartbeatKinds),
  Object.entries(reportKinds),
  Object.entries(reportKinds),
]);

/** The socket that a frame goes to, and what a thief has recorded of this machine and of others. */
export interface Around {
  target: Tapped;
  /** Other sockets, of this machine or of other machines. */
  others: readonly Tapped[];
  before: Tapped;
  /** The request that enrolled the machine of the socket. */
  enrolment: TransportRequest;
}

export interface HostileShot {
  index: number;
  kind: string;
  /** The hostile frame. null if the generated frame would still be valid. */
  shot: Shot | null;
}

/** The first random index for the choice of other sockets. It is below the indexes of the keys. */
const FIRST_OF_OTHERS = -10;

export type MakeShot = (index: number, around: Around) => HostileShot;

export async function frameGenerator(seed: number): Promise<MakeShot> {
  const thief = await seededKey(randomOf(seed, -2));
  return (index, around) => {
    // Two neighbouring indexes have one kind: one for a socket with an accepted report, one for a socket without.
    const [kind, make] = KINDS[Math.floor(index / 2) % KINDS.length]!;
    const shot = make(drawOf(thief, seed, index, around));
    return { index, kind, shot: isStillValidShot(shot, around.target) ? null : shot };
  };
}

function drawOf(thief: SeededKey, seed: number, index: number, around: Around): FrameDraw {
  const { target, others, before, enrolment } = around;
  // The other socket gets a random generator of its own: the number of other sockets varies with time, and must not
  // change a kind's random choices.
  const among = randomOf(seed, FIRST_OF_OTHERS - index);
  const siblings = others.filter((each) => each.name === target.name && each !== target);
  const other = among.pick(siblings.length > 0 && among.chance(0.7) ? siblings : others);
  const ours = [target.withheld.report, target.withheld.overHttp, ...target.reports.slice(-1)];
  const requests = ours.map((report) => reportRequest(target.name, report));
  const theirs = reportRequest(other.name, other.withheld.report);
  return {
    random: randomOf(seed, index),
    thief,
    target,
    other,
    before,
    recording: {
      requests: [...requests, theirs, enrolment],
      stillValid: [reportRequest(target.name, target.withheld.report), enrolment],
      upgrades: [],
      withheldUpgrades: [],
    },
  };
}

/**
 * Mixes the kinds so that neighbouring indexes have different sorts. A sort is as frequent as its number of kinds.
 */
function interleaved<Item>(sorts: readonly (readonly Item[])[]): Item[] {
  return sorts
    .flatMap((sort) => sort.map((item, at) => ({ item, place: (at + 0.5) / sort.length })))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
