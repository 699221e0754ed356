// Makes randomness from a seed and an index: equal inputs give equal draws. Not for secrets.

export interface Random {
  /** Returns a random whole number from 0 to `below` - 1. */
  int: (below: number) => number;
  chance: (probability: number) => boolean;
  pick: <Item>(items: readonly Item[]) => Item;
  bytes: (length: number) => Uint8Array<ArrayBuffer>;
}

export function randomOf(seed: number, index: number): Random {
  // The seed and the index are mixed, so that neighbouring seeds and indexes have nothing in common.
  const next = splitMix(Math.imul(seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
  const int = (below: number) => Math.floor((next() / 2 ** 32) * below);
  return {
    int,
    chance: (probability) => next() / 2 ** 32 < probability,
    pick: (items) => items[int(items.length)]!,
    bytes: (length) => Uint8Array.from({ length }, () => next() >>> 24),
  };
}

/** Returns a random number from 0 to 1, below 1, like Math.random. */
export const numberOf = (random: Random): number => random.int(2 ** 30) / 2 ** 30;

/** Returns a SplitMix32 generator of whole numbers below 2^32. */
function splitMix(state: number): () => number {
  let at = state | 0;
  return () => {
    at = (at + 0x9e3779b9) | 0;
    let mixed = Math.imul(at ^ (at >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  };
}
