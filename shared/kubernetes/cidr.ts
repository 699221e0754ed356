// Parses ranges of IP addresses in CIDR notation, as Go's net.ParseCIDR does.
import { bytesOf, type Ip, isIpv4, parseIp } from "./ip.ts";

export interface Cidr {
  address: Ip;
  /** The number of leading bits that all addresses of the range have in common. */
  bits: number;
}

/** Parses `10.0.0.0/8` or `2001:db8::/32`; null if the text is no range. Ignores the bits after the prefix. */
export function parseCidr(text: string): Cidr | null {
  const [, ip = "", digits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseIp(ip);
  const bits = Number(digits);
  if (address === null || String(bits) !== digits) return null;
  return bits <= (isIpv4(address) ? 32 : 128) ? { address, bits } : null;
}

/** Returns true if the address is in the range; false for an address of the other family. */
export function contains({ address, bits }: Cidr, ip: Ip): boolean {
  const [range, bytes] = [bytesOf(address), bytesOf(ip)];
  if (range.length !== bytes.length) return false;
  return range.every((byte, index) => {
    const unused = 8 - Math.min(8, Math.max(0, bits - index * 8));
    return byte >> unused === (bytes[index] ?? 0) >> unused;
  });
}
