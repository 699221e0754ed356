// Whether messages may be sent to an address: not to where only the Worker's own surroundings can reach. Looks at the
// text alone and resolves no name.
import { contains, parseCidr } from "../../shared/kubernetes/cidr.ts";
import { isIpv4, isLoopback, parseIp } from "../../shared/kubernetes/ip.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { PrivateWebhooks } from "../env.ts";

const ranges = (texts: string) => texts.split(" ").flatMap((text) => parseCidr(text) ?? []);
/** IANA's special-purpose registry; and Azure's metadata service, which has a public address. */
const NOT_PUBLIC_V4 = ranges(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
);
/** All else is private, or has an IPv4 address in it; so have two parts of it: 6to4 and Teredo. */
const PUBLIC_V6 = ranges("2000::/3");
const NOT_PUBLIC_V6 = ranges("2001::/23 2001:db8::/32 2002::/16 3fff::/20");
/** Names that public DNS does not have, or that clouds give their metadata services. */
const NOT_PUBLIC_NAME = /^[^.]*$|(^|\.)(localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/;

/** The address as it will be asked; the error: why not, for operators. */
export function webhookAddress(text: string, allowed: PrivateWebhooks): Result<string> {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return failure("not a URL");
  }
  if (url.username !== "" || url.password !== "")
    return failure("a name or password in it: use `authorization` instead");
  // The parser has read what stands for an IPv4 address in whatever way (0x7f.1, 2130706433, 017700000001).
  const host = url.hostname.replace(/\.+$/, "").toLowerCase();
  const isAllowed = allowed === "on" || (allowed === "loopback" && isThisComputer(host));
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isAllowed)) return failure("not https://");
  if (!isAllowed && !isPublic(host))
    return failure("an address that is private, or a metadata service's (docs/notifications.md)");
  return success(url.href);
}

function isThisComputer(host: string): boolean {
  const ip = parseIp(unbracketed(host));
  return host === "localhost" || (ip !== null && isLoopback(ip));
}

function isPublic(host: string): boolean {
  const ip = parseIp(unbracketed(host));
  if (ip === null) return !host.startsWith("[") && !NOT_PUBLIC_NAME.test(host);
  if (isIpv4(ip)) return !NOT_PUBLIC_V4.some((range) => contains(range, ip));
  return (
    PUBLIC_V6.some((range) => contains(range, ip)) && !NOT_PUBLIC_V6.some((range) => contains(range, ip))
  );
}

const unbracketed = (host: string) => host.replaceAll(/^\[|\]$/g, "");
