// Recognizes DNS names that lead to an address of the name-giver's choice, which would evade a limit on IP addresses.

/** Matches names of public services that resolve to the address in the name or to loopback: `10.0.0.1.nip.io`. */
const EVADING =
  /(^|\.)(nip\.io|sslip\.io|xip\.io|backname\.io|traefik\.me|localtest\.me|lvh\.me|vcap\.me|lacolhost\.com|fuf\.me|local\.gd|localhost)$/;

/** Matches a name whose last label is a number. URL parsers read such a name as an IPv4 address: `127.1`, `0x7f000001`. */
const ENDS_IN_A_NUMBER = /(^|\.)(\d+|0x[0-9a-f]*)$/;

/** Matches characters that no host name has. Go reads some of them as an address: full-width digits, a zone's `%`. */
const FOREIGN_CHARACTER = /[^\w.-]/;

/** Returns the name in lower case, without the dot of the root. */
export function canonicalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, "");
}

/** Returns true if a program may read the name as an address, or if a public service resolves the name to one. */
export function isAddressInDisguise(name: string): boolean {
  const canonical = canonicalName(name);
  return [EVADING, ENDS_IN_A_NUMBER, FOREIGN_CHARACTER].some((pattern) => pattern.test(canonical));
}
