// Ranges of IP addresses in CIDR notation, as Go's net.ParseCIDR reads them.
import { bytesOf, type Ip, isIpv4, parseIp } from "./ip.ts";

export interface Cidr {
  address: Ip;
  /** The number of leading bits that are equal in all addresses of the range. */
  bits: number;
}

/** Parses `10.0.0.0/8` or `2001:db8::/32`; null if it is no range. Ignores the bits after the prefix. */
export function parseCidr(text: string): Cidr | null {
  const [, ip = "", digits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseIp(ip);
  const bits = Number(digits);
  if (address === null || String(bits) !== digits) return null;
  return bits <= (isIpv4(address) ? 32 : 128) ? { address, bits } : null;
}

/** Is the address in the range? An address of the other family never is. */
export function contains({ address, bits }: Cidr, ip: Ip): boolean {
  const [range, bytes] = [bytesOf(address), bytesOf(ip)];
  if (range.length !== bytes.length) return false;
  return range.every((byte, index) => {
    const unused = 8 - Math.min(8, Math.max(0, bits - index * 8));
    return byte >> unused === (bytes[index] ?? 0) >> unused;
  });
}
