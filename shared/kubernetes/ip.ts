// Parses, prints and classifies IP addresses as Go's net.IP does.

/** An IP address in its canonical text: `10.0.0.1`, `2001:db8::1`. An IPv4 address mapped into IPv6 becomes IPv4. */
export type Ip = string & { readonly kind: "ip" };

type Reader = (digits: string) => number | null;

/** Parses an address like Go's net.ParseIP, without leading zeros in IPv4 and without a zone; null if that fails. */
export function parseIp(text: string): Ip | null {
  return parse(text, strictOctet, strictGroup);
}

/** Parses an address like k8s.io/utils/net.ParseIPSloppy (010.0.0.1 is 10.0.0.1); null if that fails. */
export function parseIpSloppy(text: string): Ip | null {
  return parse(text, sloppyOctet, sloppyGroup);
}

export function isIpv4(ip: Ip): boolean {
  return !ip.includes(":");
}

/** Returns true for 0.0.0.0 and ::. */
export function isUnspecified(ip: Ip): boolean {
  return ip === "0.0.0.0" || ip === "::";
}

/** Returns true for 127.0.0.0/8 and ::1. */
export function isLoopback(ip: Ip): boolean {
  return isIpv4(ip) ? ip.startsWith("127.") : ip === "::1";
}

/** Returns true for 224.0.0.0/4 and ff00::/8. */
export function isMulticast(ip: Ip): boolean {
  if (!isIpv4(ip)) return firstGroup(ip) >= 0xff00;
  const octet = Number(ip.slice(0, ip.indexOf(".")));
  return octet >= 224 && octet <= 239;
}

/** Returns true for 169.254.0.0/16 and fe80::/10. */
export function isLinkLocalUnicast(ip: Ip): boolean {
  if (isIpv4(ip)) return ip.startsWith("169.254.");
  const group = firstGroup(ip);
  return group >= 0xfe80 && group <= 0xfebf;
}

/** Returns an IPv6 address's first 64 bits, the smallest network of a customer. Returns an IPv4 address unchanged. */
export function network(ip: Ip): Ip {
  if (isIpv4(ip)) return ip;
  const groups = parseIpv6(ip, strictOctet, strictGroup) ?? [];
  return printGroups([...groups.slice(0, 4), 0, 0, 0, 0]);
}

/** Returns the four or sixteen bytes of an address. */
export function bytesOf(ip: Ip): number[] {
  if (isIpv4(ip)) return parseIpv4(ip, strictOctet) ?? [];
  return (parseIpv6(ip, strictOctet, strictGroup) ?? []).flatMap((group) => [group >> 8, group & 255]);
}

function firstGroup(ip: Ip): number {
  return ip.startsWith(":") ? 0 : Number.parseInt(ip, 16);
}

function canonical(text: string): Ip {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place that brands a text as an Ip
  return text as Ip;
}

function parse(text: string, octet: Reader, group: Reader): Ip | null {
  const octets = parseIpv4(text, octet);
  if (octets) return canonical(octets.join("."));
  if (!text.includes(":")) return null;
  const groups = parseIpv6(text, octet, group);
  return groups && printGroups(groups);
}

function parseIpv4(text: string, octet: Reader): number[] | null {
  const parts = text.split(".");
  return parts.length === 4 ? readAll(parts, octet) : null;
}

/** Parses the eight groups of an IPv6 address, perhaps with IPv4 at its end; null if the text is no address. */
function parseIpv6(text: string, octet: Reader, group: Reader): number[] | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const parts = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = parts.at(-1)?.at(-1);
  let ending: number[] = [];
  if (last?.includes(".")) {
    const octets = parseIpv4(last, octet);
    if (!octets) return null;
    const [a = 0, b = 0, c = 0, d = 0] = octets;
    ending = [a * 256 + b, c * 256 + d];
    parts.at(-1)?.pop();
  }
  const front = readAll(parts[0] ?? [], group);
  const back = readAll(parts[1] ?? [], group);
  if (!front || !back) return null;
  const absent = 8 - front.length - back.length - ending.length;
  if (halves.length === 2 ? absent < 1 : absent !== 0) return null;
  return [...front, ...Array.from({ length: absent }, () => 0), ...back, ...ending];
}

function readAll(parts: string[], read: Reader): number[] | null {
  const numbers: number[] = [];
  for (const part of parts) {
    const number = read(part);
    if (number === null) return null;
    numbers.push(number);
  }
  return numbers;
}

function sloppyOctet(digits: string): number | null {
  return /^[0-9]+$/.test(digits) && Number(digits) <= 255 ? Number(digits) : null;
}

function strictOctet(digits: string): number | null {
  return digits.length > 1 && digits.startsWith("0") ? null : sloppyOctet(digits);
}

function sloppyGroup(digits: string): number | null {
  if (!/^[0-9a-fA-F]+$/.test(digits)) return null;
  const number = Number.parseInt(digits, 16);
  return number <= 0xffff ? number : null;
}

function strictGroup(digits: string): number | null {
  return digits.length <= 4 ? sloppyGroup(digits) : null;
}

/** Prints the groups by RFC 5952: `::` replaces the first of the longest runs of at least two zero groups. */
function printGroups(groups: number[]): Ip {
  const [, , , , , sixth = 0, high = 0, low = 0] = groups;
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return canonical(`${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`);
  }
  let start = 0;
  let length = 1;
  for (let from = 0; from < 8; from++) {
    let to = from;
    while (groups[to] === 0) to++;
    if (to - from > length) [start, length] = [from, to - from];
  }
  const texts = groups.map((group) => group.toString(16));
  if (length < 2) return canonical(texts.join(":"));
  return canonical(`${texts.slice(0, start).join(":")}::${texts.slice(start + length).join(":")}`);
}
