// Maps a seed and an index to a hostile request, always the same. Holds no join token and no machine's key.
import type { Attack, Draw } from "./attack.ts";
import { seededKey } from "./jwt.ts";
import { bodyKinds } from "./kinds/bodies.ts";
import { inventedKinds } from "./kinds/invented.ts";
import { routeKinds } from "./kinds/routes.ts";
import { tokenKinds } from "./kinds/tokens.ts";
import { upgradeKinds } from "./kinds/upgrades.ts";
import { randomOf } from "./random.ts";
import type { Recording } from "./recorded.ts";
import { stillValidIn } from "./still-valid.ts";

/** The kinds of requests: of every sort, or only enrolments with invented join tokens. */
const KINDS = {
  any: { ...bodyKinds, ...tokenKinds, ...routeKinds, ...upgradeKinds },
  tokens: inventedKinds,
};

export interface Hostile extends Attack {
  index: number;
  kind: string;
}

/** Returns a function that makes the request of an index, or returns null if the request would still be valid. */
export async function hostileGenerator(
  recording: Recording,
  seed: number,
  of: keyof typeof KINDS = "any",
): Promise<(index: number) => Hostile | null> {
  const thief = await seededKey(randomOf(seed, -2));
  const isStillValid = stillValidIn(recording);
  const kinds = Object.entries(KINDS[of]);
  return (index) => {
    const [kind, make] = kinds[index % kinds.length]!;
    const draw: Draw = { random: randomOf(seed, index), recording, thief };
    const attack = make(draw);
    return isStillValid(attack) ? null : { ...attack, index, kind };
  };
}
