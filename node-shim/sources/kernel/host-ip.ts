// Finds the machine's own IPv4 and IPv6 address, as apimachinery's util/net ResolveBindAddress does.
import {
  type Ip,
  isIpv4,
  isLinkLocalUnicast,
  isLoopback,
  isMulticast,
  isUnspecified,
  parseIp,
} from "../../../shared/kubernetes/ip.ts";
import { success } from "../../../shared/result.ts";
import { type Reading, readKernelFile, unreadable } from "../../base/reading.ts";

/** The addresses of each interface that is up: the result of os.networkInterfaces. */
export type Interfaces = Record<string, InterfaceAddress[] | undefined>;
interface InterfaceAddress {
  address: string;
  /** true on a loopback interface. */
  internal: boolean;
}

interface HostIPs {
  ipv4?: string;
  ipv6?: string;
}

type Family = keyof HostIPs;

/**
 * Returns, for each family, the first global-unicast address of a default route's interface, or of a loopback
 * interface (RFC 5549). Without route tables, searches all interfaces (chooseHostInterface).
 */
export function hostIPs(root: string, interfaces: Interfaces): Reading<HostIPs> {
  const routes = defaultRoutes(root);
  if (!routes.ok && routes.error.reason !== "missing") return routes;
  const choose = (family: Family): Ip | undefined =>
    routes.ok
      ? fromRoutes(routes.value[family], interfaces, family)
      : fromAnyInterface(root, interfaces, family);
  const ipv4 = choose("ipv4");
  const ipv6 = choose("ipv6");
  return success({ ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) });
}

export function interfaceIPs(interfaces: Interfaces): Set<Ip> {
  return new Set(allAddresses(interfaces).flatMap(({ address }) => parseIp(address) ?? []));
}

/** Returns the first global address on the default routes' interfaces: upstream chooseHostInterfaceFromRoute. */
function fromRoutes(names: string[], interfaces: Interfaces, family: Family): Ip | undefined {
  for (const name of names) {
    const ip = globalIP(addressesOf(interfaces, name), family) ?? loopbackIP(interfaces, family);
    if (ip !== undefined) return ip;
  }
  return undefined;
}

/** Returns the first global address on a loopback interface: upstream getIPFromLoopbackInterface. */
function loopbackIP(interfaces: Interfaces, family: Family): Ip | undefined {
  const addresses = allAddresses(interfaces).filter(({ internal }) => internal);
  return globalIP(addresses, family);
}

/** Returns the first global address of an interface, no loopback or point to point (chooseIPFromHostInterfaces). */
function fromAnyInterface(root: string, interfaces: Interfaces, family: Family): Ip | undefined {
  for (const [name, addresses = []] of Object.entries(interfaces)) {
    if (addresses.some(({ internal }) => internal) || isPointToPoint(root, name)) continue;
    const ip = globalIP(addresses, family);
    if (ip !== undefined) return ip;
  }
  return undefined;
}

function allAddresses(interfaces: Interfaces): InterfaceAddress[] {
  return Object.values(interfaces).flatMap((addresses) => addresses ?? []);
}

/** Returns an interface's addresses, including the addresses with a label (`eth0:1`). */
function addressesOf(interfaces: Interfaces, name: string): InterfaceAddress[] {
  return Object.entries(interfaces)
    .filter(([label]) => label === name || label.startsWith(`${name}:`))
    .flatMap(([, addresses]) => addresses ?? []);
}

const IFF_POINTOPOINT = 0x10;

function isPointToPoint(root: string, name: string): boolean {
  const flags = readKernelFile(root, `/sys/class/net/${name.split(":", 1)[0]}/flags`);
  return flags.ok && (Number.parseInt(flags.value, 16) & IFF_POINTOPOINT) !== 0;
}

/** Returns the first global-unicast address of the family: upstream getMatchingGlobalIP. */
function globalIP(addresses: InterfaceAddress[], family: Family): Ip | undefined {
  for (const { address } of addresses) {
    const ip = parseIp(address);
    if (ip !== null && isIpv4(ip) === (family === "ipv4") && isGlobalUnicast(ip)) return ip;
  }
  return undefined;
}

/** Returns whether an address is global unicast, as Go's net.IP.IsGlobalUnicast: private addresses count too. */
function isGlobalUnicast(ip: Ip): boolean {
  if (ip === "255.255.255.255") return false;
  return !isUnspecified(ip) && !isLoopback(ip) && !isMulticast(ip) && !isLinkLocalUnicast(ip);
}

const IPV4_ROUTES = "/proc/net/route";
const IPV6_ROUTES = "/proc/net/ipv6_route";
const IPV6_ZERO = "0".repeat(32);

/** The names of the interfaces with a default route, in the order of the routes. */
interface DefaultRoutes {
  ipv4: string[];
  ipv6: string[];
}

/** Reads the IPv4 and IPv6 default routes (getAllDefaultRoutes); an IPv6 table that cannot be read counts as empty. */
function defaultRoutes(root: string): Reading<DefaultRoutes> {
  const table4 = readKernelFile(root, IPV4_ROUTES);
  if (!table4.ok) return table4;
  const ipv4 = ipv4Interfaces(table4.value);
  if (ipv4 === null) return unreadable(`${IPV4_ROUTES} has a line that is not a route`);
  const table6 = readKernelFile(root, IPV6_ROUTES);
  const ipv6 = table6.ok ? ipv6Interfaces(table6.value) : null;
  return success({ ipv4, ipv6: ipv6 ?? [] });
}

/** Returns the default routes' interfaces, or null if malformed. Columns: interface, destination, gateway. */
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

/** Returns the default routes' interfaces, or null if malformed. Columns: 1 destination, 5 gateway, last interface. */
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
