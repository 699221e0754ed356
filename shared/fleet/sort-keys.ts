// Makes sort keys for versions and addresses, comparable as texts, also in SQL. Finds the network of an address.
import { parseCidr } from "../kubernetes/cidr.ts";
import { bytesOf, type Ip, isIpv4, network, parseIp } from "../kubernetes/ip.ts";

const VERSION = /^v?(\d{1,6}(?:\.\d{1,6}){0,5})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+.*)?$/;

/** Returns a key that sorts by SemVer's precedence; `0.1` counts as `0.1.0`. "" if the text is not a version. */
export function versionKey(text: string): string {
  const [, numbers, preRelease] = VERSION.exec(text) ?? [];
  if (numbers === undefined) return "";
  const padded = `${numbers}.0.0`.split(".").slice(0, Math.max(3, numbers.split(".").length));
  const core = padded.map((number) => number.padStart(6, "0")).join(".");
  if (preRelease === undefined) return `${core}-`;
  // SemVer sorts a number before a word. "!" sorts before every other character that can follow.
  const parts = preRelease
    .split(".")
    .map((part) => (/^\d+$/.test(part) ? `0${part.padStart(16, "0")}` : `1${part}`));
  return `${core}!${parts.join("!")}`;
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");

/** Returns a key that sorts IPv4 before IPv6, and each by number. "" if the text is not an address. */
export function addressKey(text: string): string {
  const ip = parseIp(text);
  return ip === null ? "" : keyOf(ip);
}

const keyOf = (ip: Ip) => (isIpv4(ip) ? "4" : "6") + bytesOf(ip).map(hex).join("");

/** The keys of the first and the last address of a range. */
export interface AddressRange {
  from: string;
  to: string;
}

/** Returns the range of a single address, or of a range in CIDR notation; null if the text is neither. */
export function addressRange(text: string): AddressRange | null {
  const ip = parseIp(text);
  const range = ip === null ? parseCidr(text) : { address: ip, bits: isIpv4(ip) ? 32 : 128 };
  if (!range) return null;
  const { address, bits } = range;
  const filled = (fill: number) => {
    const bytes = bytesOf(address).map((byte, index) => {
      const own = 0xff & (0xff << (8 - Math.min(8, Math.max(0, bits - index * 8))));
      return (byte & own) | (fill & ~own);
    });
    return (isIpv4(address) ? "4" : "6") + bytes.map(hex).join("");
  };
  return { from: filled(0), to: filled(0xff) };
}

/** Returns the range of an address's network: the IPv4 address, or the first 64 bits of IPv6. null for no address. */
export function neighbourRange(text: string): AddressRange | null {
  return addressRange(networkOf(text));
}

/** Returns true if `version` is lower than `other` by SemVer's precedence. A text that is no version is never lower. */
export function isBehind(version: string, other: string): boolean {
  const [key, otherKey] = [versionKey(version), versionKey(other)];
  return key !== "" && otherKey !== "" && key < otherKey;
}

/** Returns an address's network: `203.0.113.7`, or the first 64 bits of IPv6: `2001:db8::/64`; "" if no address. */
export function networkOf(address: string): string {
  const ip = parseIp(address);
  if (!ip) return "";
  return isIpv4(ip) ? ip : `${network(ip)}/64`;
}
