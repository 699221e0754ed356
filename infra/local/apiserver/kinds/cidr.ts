// CIDR texts as netutils.ParseCIDRSloppy and netip.ParsePrefix read them. Pure.
import { isIPv4, isIPv6 } from "node:net";

export interface Cidr {
  family: 4 | 6;
  /** An IPv4 number begins with a zero. */
  hasLeadingZeros: boolean;
  /** "::ffff:10.0.0.0/104" */
  isMapped: boolean;
  /** There are bits set beyond the prefix. */
  hasHostBits: boolean;
  /** As it should be written (RFC 5952). */
  canonical: string;
}

function bitsOf(groups: number[], base: bigint): bigint {
  return groups.reduce((total, group) => total * base + BigInt(group), 0n);
}

/** The canonical form of an IPv6 address, and its value. */
function parseIpv6(address: string): { text: string; value: bigint } {
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = "", tail = ""] = text.split("::");
  const groups = (part: string) =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const [first, last] = [groups(head), groups(tail)];
  const middle = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return { text, value: bitsOf([...first, ...middle, ...last], 0x1_0000n) };
}

function hasBitsBeyond(value: bigint, width: number, prefix: number): boolean {
  return BigInt.asUintN(width - prefix, value) !== 0n;
}

/** Undefined for text that is no CIDR. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", length = "", ...rest] = text.split("/");
  if (rest.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const prefix = Number(length);
  const decimal = address.replaceAll(/(^|\.)0+(?=\d)/g, "$1");
  const hasZeroPrefix = length.length > 1 && length.startsWith("0");
  if (isIPv4(decimal) && prefix <= 32) {
    const value = bitsOf(decimal.split(".").map(Number), 256n);
    return {
      family: 4,
      hasLeadingZeros: decimal !== address || hasZeroPrefix,
      isMapped: false,
      hasHostBits: hasBitsBeyond(value, 32, prefix),
      canonical: `${decimal}/${prefix}`,
    };
  }
  if (!isIPv6(address) || address.includes("%") || prefix > 128) return undefined;
  const { text: canonical, value } = parseIpv6(address);
  return {
    family: 6,
    hasLeadingZeros: hasZeroPrefix,
    isMapped: value >> 32n === 0xffffn,
    hasHostBits: hasBitsBeyond(value, 128, prefix),
    canonical: `${canonical}/${prefix}`,
  };
}
