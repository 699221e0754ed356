// Makes tokens of ServiceAccounts as an apiserver issues them, but without a valid signature, which the Worker does
// not check.

const SUBJECT = "system:serviceaccount:rollcall-system:rollcall";
const encoded = (part: object) =>
  btoa(JSON.stringify(part)).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");

/** Returns a JWT with these claims. */
export const jwtOf = (claims: object): string =>
  `${encoded({ alg: "RS256" })}.${encoded(claims)}.${btoa("signed").replaceAll("=", "")}`;

/** Returns a token of the Worker's account. `id` distinguishes tokens of the same time. */
export function tokenOf(issuedAtMs: number, lifeMs: number, id = ""): string {
  const [iat, exp] = [issuedAtMs / 1000, (issuedAtMs + lifeMs) / 1000];
  return jwtOf({ sub: SUBJECT, iat, exp, jti: id });
}
