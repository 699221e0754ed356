// Texts by which versions and addresses are compared and sorted as texts, in SQL as well. Reads nothing.
import { bytesOf, type Ip, isIpv4, parseIp } from "../kubernetes/ip.ts";
import { parseCidr } from "../kubernetes/cidr.ts";
import { networkOf } from "./network.ts";

const VERSION = /^v?(\d{1,6}(?:\.\d{1,6}){0,5})(?:-([0-9A-Za-z.-]{1,64}))?(?:\+.*)?$/;

/** By SemVer's precedence; `0.1` is `0.1.0`. "": not a version. */
export function versionKey(text: string): string {
  const [, numbers, preRelease] = VERSION.exec(text) ?? [];
  if (numbers === undefined) return "";
  const padded = `${numbers}.0.0`.split(".").slice(0, Math.max(3, numbers.split(".").length));
  const core = padded.map((number) => number.padStart(6, "0")).join(".");
  if (preRelease === undefined) return `${core}-`;
  // A number comes before a word, and "!" before whatever else can follow.
  const parts = preRelease
    .split(".")
    .map((part) => (/^\d+$/.test(part) ? `0${part.padStart(16, "0")}` : `1${part}`));
  return `${core}!${parts.join("!")}`;
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");

/** IPv4 before IPv6, each by its number. "": not an address. */
export function addressKey(text: string): string {
  const ip = parseIp(text);
  return ip === null ? "" : keyOf(ip);
}

const keyOf = (ip: Ip) => (isIpv4(ip) ? "4" : "6") + bytesOf(ip).map(hex).join("");

/** The keys of a range's first and last address. */
export interface AddressRange {
  from: string;
  to: string;
}

/** Of one address, or of a range in CIDR notation; null: neither. */
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

/** Whoever is behind the same address: of IPv6, the first 64 bits are one customer's. null: not an address. */
export function neighbourRange(text: string): AddressRange | null {
  return addressRange(networkOf(text));
}
