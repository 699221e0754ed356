// Which hosts NO_PROXY excepts, by the rules of Go's x/net/http/httpproxy, so that one text says the same to all
// programs of a machine. Resolves no name.
import { BlockList, isIP } from "node:net";
import { domainToASCII } from "node:url";
import { hostOf } from "./origin.ts";

/** Whether requests to this https:// URL go past the proxy. `list` is NO_PROXY's text. */
export function isExcepted(url: URL, list: string): boolean {
  const host = hostOf(url);
  if (host === "localhost" || isIn("127.0.0.0/8", host) || isIn("::1", host)) return true;
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry === "*" || matches(entry, host, url.port || "443"));
}

/** As Go's, an entry that means nothing excepts nothing: other programs read the same text. */
function matches(entry: string, host: string, port: string): boolean {
  if (isIP(host) !== 0 && isIn(entry, host)) return true;
  // An IPv6 address has a port only behind brackets.
  const [, bracketed, plain = "", ofPort] =
    /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(entry) ?? ([] as string[]);
  if (ofPort && ofPort !== port) return false;
  const named = bracketed ?? plain;
  if (isIP(named) !== 0) return isIP(host) !== 0 && isIn(named, host);
  const suffix = named.replace(/^\*(?=\.)/, "");
  if (suffix === "" || isIP(host) !== 0) return false;
  const domain = domainToASCII(suffix) || suffix;
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

/** Whether an address is in a network (10.0.0.0/8), or the address itself; false where `network` is neither. */
function isIn(network: string, address: string): boolean {
  const [of = "", bits, ...more] = network.split("/");
  const [family, length] = [isIP(of), isIP(of) === 4 ? 32 : 128];
  if (family === 0 || more.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return false;
  if (isIP(address) === 0 || Number(bits ?? 0) > length) return false;
  const list = new BlockList();
  list.addSubnet(of, bits === undefined ? length : Number(bits), family === 4 ? "ipv4" : "ipv6");
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
