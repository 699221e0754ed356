// Lists addresses of interfaces that Node.js leaves out: without carrier (a pulled cable, a bond without members), or down.
import type { RunProgram } from "../../base/child.ts";
import { readKernelFile } from "../../base/reading.ts";
import type { Interfaces } from "./host-ip.ts";

/** Adds the interfaces that are up but have no carrier. Their addresses and routes are in /proc/net. */
export function withUnplugged(root: string, seen: Interfaces): Interfaces {
  const text = (file: string) => {
    const read = readKernelFile(root, `/proc/net/${file}`);
    return read.ok ? read.value : "";
  };
  const ipv4 = localAddresses(text("fib_trie"));
  const networks = connectedNetworks(text("route"));
  const named = ipv4.map((address) => ({ address, name: interfaceOf(address, networks) }));
  return withOthers(seen, [...named, ...ipv6Addresses(text("if_inet6"))]);
}

interface Named {
  name: string | undefined;
  address: string;
}

/** Adds the addresses of the interfaces of which `seen` has none. */
export function withOthers(seen: Interfaces, found: readonly Named[]): Interfaces {
  const others: Record<string, { address: string; internal: boolean }[]> = {};
  for (const { name, address } of found) {
    if (name === undefined || Object.hasOwn(seen, name)) continue;
    (others[name] ??= []).push({ address, internal: name === "lo" });
  }
  return { ...seen, ...others };
}

/** Returns the IPv4 addresses of this machine in /proc/net/fib_trie: a line `|-- ADDRESS` and a line `/32 host LOCAL`. */
function localAddresses(trie: string): string[] {
  const found = trie.matchAll(
    /\|-- (\d+\.\d+\.\d+\.\d+)\n(?:\s+\/\d+ (?!host LOCAL).*\n)*\s+\/32 host LOCAL/g,
  );
  return [...new Set([...found].flatMap(([, address]) => address ?? []))];
}

interface Network {
  name: string;
  destination: number;
  mask: number;
}

/** Returns the networks of /proc/net/route that an interface is in, the smallest first. */
function connectedNetworks(table: string): Network[] {
  const rows = table.split("\n").map((line) => line.split(/\s+/));
  return rows
    .flatMap(([name = "", destination = "", gateway, , , , , mask = ""]) =>
      gateway === "00000000" && mask !== "00000000"
        ? { name, destination: numberOf(destination), mask: numberOf(mask) }
        : [],
    )
    .toSorted((a, b) => b.mask - a.mask);
}

/** Returns the number of an address in /proc/net/route, which has the last byte first. */
const numberOf = (hex: string) => Number.parseInt(hex.match(/../g)?.reverse().join("") ?? "", 16);

function interfaceOf(address: string, networks: readonly Network[]): string | undefined {
  const number = address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
  return networks.find(({ destination, mask }) => (number & mask) >>> 0 === destination)?.name;
}

/** Reads /proc/net/if_inet6. Columns: 1 address, last interface. */
function ipv6Addresses(table: string): Named[] {
  return table.split("\n").flatMap((line) => {
    const [hex = "", , , , , name] = line.trim().split(/\s+/);
    const groups = /^[0-9a-f]{32}$/.test(hex) ? hex.match(/.{4}/g) : null;
    return groups === null ? [] : { name, address: groups.join(":") };
  });
}

/** Milliseconds for which the answer of `ip` counts. */
const FRESH_MS = 60_000;

/**
 * Returns a function that adds the interfaces that are down and keep an address, which only netlink lists: by `ip` of
 * iproute2. Without that program, adds nothing. Never rejects.
 */
export function withDownInterfaces(
  run: RunProgram, // typically runChild
  nowMs: () => number, // typically monotonicMs
): (seen: Interfaces) => Promise<Interfaces> {
  let last = { atMs: -Infinity, found: [] as Named[] };
  return async (seen) => {
    if (nowMs() - last.atMs >= FRESH_MS) {
      const args = ["-json", "addr", "show"];
      const output = await run({ program: "ip", args, deadlineMs: 2000, maxBytes: 1024 * 1024 });
      last = { atMs: nowMs(), found: output.ok ? namedIn(output.value) : [] };
    }
    return withOthers(seen, last.found);
  };
}

interface Listed {
  ifname?: string;
  addr_info?: { local?: string }[];
}

function namedIn(json: string): Named[] {
  let listed: Listed[];
  try {
    listed = JSON.parse(json) as Listed[];
  } catch {
    return [];
  }
  return listed.flatMap(({ ifname: name, addr_info: all = [] }) =>
    all.flatMap(({ local: address }) => (address === undefined ? [] : { name, address })),
  );
}
