// Makes the randomness of one machine, in independent streams: a draw from one stream changes no other.
import { type Random, randomOf } from "../random.ts";

const STREAMS = ["acts", "tricks", "keys", "startId", "bootID", "machineID", "answers"] as const;
/** The length of a stream, which exceeds the number of a machine's acts in a day. */
const LENGTH = 2 ** 20;

export function streamOf(
  seed: number,
  machine: number,
  stream: (typeof STREAMS)[number],
  index: number,
): Random {
  return randomOf(seed, (machine * STREAMS.length + STREAMS.indexOf(stream)) * LENGTH + index);
}
