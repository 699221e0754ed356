// Maps a seed and an index to a hostile request, always the same. Holds no join token and no machine's key.
import type { Attack, Draw } from "./attack.ts";
import { seededKey } from "./jwt.ts";
import { bodyKinds } from "./kinds/bodies.ts";
import { routeKinds } from "./kinds/routes.ts";
import { tokenKinds } from "./kinds/tokens.ts";
import { upgradeKinds } from "./kinds/upgrades.ts";
import { randomOf } from "./random.ts";
import type { Recording } from "./recorded.ts";
import { stillValidIn } from "./still-valid.ts";

const KINDS = Object.entries({ ...bodyKinds, ...tokenKinds, ...routeKinds, ...upgradeKinds });

export interface Hostile extends Attack {
  index: number;
  kind: string;
}

/** Returns a function that makes the request of an index, or returns null if the request would still be valid. */
export async function hostileGenerator(
  recording: Recording,
  seed: number,
): Promise<(index: number) => Hostile | null> {
  const thief = await seededKey(randomOf(seed, -2));
  const isStillValid = stillValidIn(recording);
  return (index) => {
    const [kind, make] = KINDS[index % KINDS.length]!;
    const draw: Draw = { random: randomOf(seed, index), recording, thief };
    const attack = make(draw);
    return isStillValid(attack) ? null : { ...attack, index, kind };
  };
}
