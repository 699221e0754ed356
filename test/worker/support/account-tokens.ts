// Tokens of ServiceAccounts as an apiserver makes them, but for the signature, which nobody here looks at.

const SUBJECT = "system:serviceaccount:rollcall-system:rollcall";
const encoded = (part: object) =>
  btoa(JSON.stringify(part)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");

/** A JWT with these claims. */
export const jwtOf = (claims: object): string =>
  `${encoded({ alg: "RS256" })}.${encoded(claims)}.${btoa("signed").replaceAll("=", "")}`;

/** A token of the Worker's account; `id` tells those of the same time apart. */
export function tokenOf(issuedAtMs: number, lifeMs: number, id = ""): string {
  const [iat, exp] = [issuedAtMs / 1000, (issuedAtMs + lifeMs) / 1000];
  return jwtOf({ sub: SUBJECT, iat, exp, jti: id });
}
