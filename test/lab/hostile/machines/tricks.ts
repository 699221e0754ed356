// Plays a machine's tricks with its own request and a valid signature: claims that our shim would not sign.
import { JWT_TYPES } from "../../../../shared/protocol/claims.ts";
import type { Random } from "../random.ts";

export const TRICKS = [
  "an older ticket",
  "no ticket",
  "another machine's ticket",
  "the same again",
  "the same n, another body",
  "n far ahead",
  "n of nothing",
  "another name",
  "another origin",
  "a digest of another body",
  "signed to leave",
  "n that counts down",
] as const;
export type Trick = (typeof TRICKS)[number];

/** The claims that the machine signs, and the type of its JWT. */
export interface Signed {
  typ: string;
  claims: { sub: string; aud: string; body: string; ticket: string; n: number };
}

export interface Surroundings {
  random: Random;
  /** The earlier tickets of this machine. */
  older: readonly string[];
  /** The name of another machine, which a trick may put into the claims. */
  otherName: string;
}

/** Returns the claims as the machine signs them after the trick. */
export function played(
  trick: Trick | undefined,
  signed: Signed,
  { random, older, otherName }: Surroundings,
): Signed {
  const { typ, claims } = signed;
  const but = (change: Partial<Signed["claims"]>): Signed => ({ typ, claims: { ...claims, ...change } });
  switch (trick) {
    case "an older ticket":
      return but({ ticket: older.length > 0 ? random.pick(older) : "" });
    case "no ticket":
      return but({ ticket: "" });
    case "another machine's ticket":
      return but({ ticket: Buffer.from(random.bytes(16)).toString("base64url") });
    case "the same n, another body":
      return but({ n: Math.max(1, claims.n - 1) });
    case "n far ahead":
      return but({ n: Number.MAX_SAFE_INTEGER });
    case "n of nothing":
      return but({ n: random.pick([0, -1, 0.5, Number.MAX_SAFE_INTEGER + 1]) });
    case "n that counts down":
      return but({ n: random.int(Math.max(1, claims.n)) });
    case "another name":
      return but({ sub: otherName });
    case "another origin":
      return but({ aud: "https://elsewhere.example" });
    case "a digest of another body":
      return but({ body: Buffer.from(random.bytes(32)).toString("base64url") });
    case "signed to leave":
      return { typ: JWT_TYPES.leave, claims };
    default:
      return signed;
  }
}
