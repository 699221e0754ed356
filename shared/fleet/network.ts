// Which machines report from the same place, as far as addresses say.
import { isIpv4, network, parseIp } from "../kubernetes/ip.ts";

/**
 * The network of an address: `203.0.113.7`, or of IPv6 the first 64 bits, which a provider gives one customer:
 * `2001:db8::/64`. "": none is known.
 */
export function networkOf(address: string): string {
  const ip = parseIp(address);
  if (!ip) return "";
  return isIpv4(ip) ? ip : `${network(ip)}/64`;
}
