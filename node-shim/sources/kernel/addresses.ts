// Gathers the addresses among which shared/setters/node-address.ts chooses the Node's address.
import { success } from "../../../shared/result.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { isUnspecified, parseIpSloppy } from "../../../shared/kubernetes/ip.ts";
import { hostIPs, interfaceIPs, type Interfaces } from "./host-ip.ts";
import { withUnplugged } from "./interfaces.ts";
import { oneAtATime } from "../../base/one-at-a-time.ts";
import { orWarn, type Reading, unread, type Warn } from "../../base/reading.ts";

/** The longest wait for the resolver, so that a resolver that hangs delays no report further. */
const LOOKUP_GIVE_UP_MS = 3000;

/** Resolves a name. Returns its addresses, or the resolver's error. */
type Lookup = (name: string) => Promise<Reading<string[]>>;

/** Returns the lookup of names. Must be called once in a process, since the lookup remembers a call that hangs. */
export function addressLookup(
  resolve: (name: string) => Promise<{ address: string }[]>, // typically dns.promises.lookup with all addresses
  giveUpMs: number = LOOKUP_GIVE_UP_MS,
): Lookup {
  return oneAtATime(
    "lookup of",
    async (name) => (await resolve(name)).map(({ address }) => withoutZone(address)),
    giveUpMs,
  );
}

export interface AddressSources {
  root: string;
  nodeName: string;
  hostname: string;
  /** The addresses of --node-ip, at most two. */
  nodeIPs: string[];
  /** Returns the interfaces. Throws if this process may not use netlink. */
  networkInterfaces: () => Interfaces; // typically os.networkInterfaces
  /** Adds interfaces that are down. Called only if an address is on no other interface. Absent: adds none. */
  withDown?: (seen: Interfaces) => Promise<Interfaces>; // typically withDownInterfaces
  lookup: Lookup;
}

/** Returns the addresses; undefined after a warning if interfaces cannot be listed, since none could be checked. */
export async function addresses(sources: AddressSources, warn: Warn): Promise<Facts["addresses"]> {
  const listed = orWarn(listInterfaces(sources.networkInterfaces), "network interfaces", warn);
  if (listed === undefined) return undefined;
  const interfaces = withUnplugged(sources.root, listed);
  const found = await lookupIfNeeded(sources);
  // Warns only about a resolver that hangs. A name that the resolver does not know is no fault of the machine.
  if (!found.ok && found.error.reason === "late")
    warn("resolver", `${found.error.message}: see to it, or pass --node-ip`);
  const candidates = [...sources.nodeIPs, ...(found.ok ? found.value : [])];
  const ips = new Set(candidates.flatMap((text) => parseIpSloppy(text) ?? []));
  let own = interfaceIPs(interfaces);
  if (sources.withDown && [...ips].some((ip) => !own.has(ip)))
    own = interfaceIPs(await sources.withDown(interfaces));
  return {
    nodeIPs: sources.nodeIPs,
    lookup: found.ok ? found.value : { error: found.error.message },
    onInterface: [...ips].filter((ip) => own.has(ip)),
    defaultRoute: orWarn(hostIPs(sources.root, interfaces), "default route", warn) ?? {},
  };
}

function listInterfaces(networkInterfaces: () => Interfaces): Reading<Interfaces> {
  try {
    return success(networkInterfaces());
  } catch (error) {
    return unread(error);
  }
}

/** Resolves the host name unless a node IP is given or the name is an address, as nodestatus.NodeAddress does. */
async function lookupIfNeeded({
  nodeIPs,
  hostname,
  nodeName,
  lookup,
}: AddressSources): Promise<Reading<string[]>> {
  const nodeIP = parseIpSloppy(nodeIPs[0] ?? "");
  const isGiven = nodeIP !== null && !isUnspecified(nodeIP);
  return isGiven || parseIpSloppy(hostname) !== null ? success([]) : lookup(nodeName);
}

/** Removes the zone of an address (`fe80::1%eth0`), which Go's net.IP does not have. */
function withoutZone(address: string): string {
  const zone = address.indexOf("%");
  return zone < 0 ? address : address.slice(0, zone);
}
