// Which interfaces have a default route. Parses the kernel's route tables; chooses no address.
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

const IPV4_ROUTES = "/proc/net/route";
const IPV6_ROUTES = "/proc/net/ipv6_route";
const IPV6_ZERO = "0".repeat(32);

/** Names of interfaces, in the order of their routes. */
interface DefaultRoutes {
  ipv4: string[];
  ipv6: string[];
}

/**
 * The default routes of both tables (apimachinery util/net getAllDefaultRoutes). `missing` where there is no IPv4
 * table; an IPv6 table that is missing or unreadable counts as empty.
 */
export function defaultRoutes(root: string): Reading<DefaultRoutes> {
  const table4 = readKernelFile(root, IPV4_ROUTES);
  if (!table4.ok) return table4;
  const ipv4 = ipv4Interfaces(table4.value);
  if (ipv4 === null) return unreadable(`${IPV4_ROUTES} has a line that is not a route`);
  const table6 = readKernelFile(root, IPV6_ROUTES);
  const ipv6 = table6.ok ? ipv6Interfaces(table6.value) : null;
  return success({ ipv4, ipv6: ipv6 ?? [] });
}

/** Columns: interface, destination, gateway. Null if a line is malformed (getIPv4DefaultRoutes). */
function ipv4Interfaces(table: string): string[] | null {
  const interfaces: string[] = [];
  for (const line of lines(table)) {
    if (line.startsWith("Iface")) continue;
    const [name = "", destination = "", gateway = ""] = line.split(/\s+/);
    if (!isHex(destination, 8) || !isHex(gateway, 8)) return null;
    if (destination === "00000000") interfaces.push(name);
  }
  return interfaces;
}

/** Columns: destination first, gateway fifth, interface last. A route needs a gateway (getIPv6DefaultRoutes). */
function ipv6Interfaces(table: string): string[] | null {
  const interfaces: string[] = [];
  for (const line of lines(table)) {
    const columns = line.split(/\s+/);
    const [destination = "", , , , gateway = ""] = columns;
    const name = columns[9];
    if (name === undefined || !isHex(destination, 32) || !isHex(gateway, 32)) return null;
    if (destination === IPV6_ZERO && gateway !== IPV6_ZERO) interfaces.push(name);
  }
  return interfaces;
}

function lines(table: string): string[] {
  return table.split("\n").flatMap((line) => line.trim() || []);
}

function isHex(text: string, digits: number): boolean {
  return text.length === digits && /^[0-9a-fA-F]+$/.test(text);
}
