import { success } from "../../../../shared/result.ts";
import { unreadable } from "../../../../node-shim/base/reading.ts";
import { expect, test } from "vitest";
import {
  addresses,
  addressLookup,
  type AddressSources,
} from "../../../../node-shim/sources/kernel/addresses.ts";
import { hostIPs, type Interfaces } from "../../../../node-shim/sources/kernel/host-ip.ts";
import { rootOf, rootWith, type Machine } from "./tree.ts";

const on = (...list: string[]) => list.map((address) => ({ address, internal: false }));
const loopback = (...list: string[]) => list.map((address) => ({ address, internal: true }));
const lo = loopback("127.0.0.1", "::1");
const VM: Interfaces = { lo, eth0: on("198.51.100.7", "2001:db8::7", "fe80::7") };

test.each<[situation: string, Machine, Interfaces, outcome: object]>([
  [
    "default routes of both families → an address of each",
    "vm",
    VM,
    { ipv4: "198.51.100.7", ipv6: "2001:db8::7" },
  ],
  [
    "an interface without default route → ignored",
    "vm",
    { lo, docker0: on("172.17.0.1"), ...VM },
    { ipv4: "198.51.100.7", ipv6: "2001:db8::7" },
  ],
  [
    "an IPv6 default route only → no IPv4",
    "ipv6-only",
    { lo, enp1s0: on("198.51.100.7", "fe80::7", "2001:db8:1::7") },
    { ipv6: "2001:db8:1::7" },
  ],
  [
    "link-local addresses before the global one → the global one",
    "vm",
    { eth0: on("169.254.1.1", "198.51.100.7") },
    { ipv4: "198.51.100.7" },
  ],
  [
    "an address with a label → the interface's as well",
    "vm",
    { lo, "eth0:1": on("198.51.100.8"), eth01: on("198.51.100.9") },
    { ipv4: "198.51.100.8" },
  ],
  [
    "only link-local on the route's interface → the loopback's global address (RFC 5549)",
    "ipv6-only",
    { lo: loopback("127.0.0.1", "203.0.113.1", "::1", "2001:db8:2::1"), enp1s0: on("fe80::7") },
    { ipv6: "2001:db8:2::1" },
  ],
  ["no global address anywhere → none", "vm", { lo, eth0: on("169.254.1.1", "fe80::7") }, {}],
  [
    "two default routes, the first's interface is down → the second's address",
    "arm-board",
    { lo, eth0: on("192.168.2.20") },
    { ipv4: "192.168.2.20" },
  ],
  [
    "two default routes → the first's address",
    "arm-board",
    { eth0: on("192.168.2.20"), wlan0: on("192.168.1.20") },
    { ipv4: "192.168.1.20" },
  ],
])("host IPs: %s", (_, machine, interfaces, outcome) => {
  expect(hostIPs(rootOf(machine), interfaces)).toEqual(success(outcome));
});

const ROUTE = "/proc/net/route";
const ZERO = "0".repeat(32);
const HEADER = "Iface\tDestination\tGateway \tFlags\n";

test.each<[situation: string, Record<string, string | null>, Interfaces, outcome: object]>([
  ["no default route → none", { [ROUTE]: HEADER, "/proc/net/ipv6_route": null }, VM, success({})],
  ["no IPv6 table → IPv4 only", { "/proc/net/ipv6_route": null }, VM, success({ ipv4: "198.51.100.7" })],
  [
    "a broken IPv6 table → IPv4 only",
    { "/proc/net/ipv6_route": "?\n" },
    VM,
    success({ ipv4: "198.51.100.7" }),
  ],
  [
    "an IPv6 default route without gateway → none",
    {
      [ROUTE]: HEADER,
      "/proc/net/ipv6_route": `${ZERO} 00 ${ZERO} 00 ${ZERO} 00000400 00000002 00000000 00000001 eth0\n`,
    },
    VM,
    success({}),
  ],
  [
    "a malformed gateway → error",
    { [ROUTE]: `${HEADER}eth0\t00000000\tnone\n` },
    VM,
    unreadable(expect.any(String) as string),
  ],
  [
    "a broken IPv4 table → error",
    { [ROUTE]: `${HEADER}eth0\t0000\t00000000\n` },
    VM,
    unreadable(expect.any(String) as string),
  ],
  [
    "no route tables → the first interface that is neither loopback nor point to point",
    { [ROUTE]: null, "/sys/class/net/tun0/flags": "0x10d1\n" },
    { lo: loopback("203.0.113.1"), tun0: on("10.8.0.2"), eth0: on("198.51.100.7") },
    success({ ipv4: "198.51.100.7" }),
  ],
])("host IPs: %s", (_, changes, interfaces, outcome) => {
  expect(hostIPs(rootWith("vm", changes), interfaces)).toEqual(outcome);
});

function sources(changes: Partial<AddressSources>): AddressSources {
  return {
    root: rootOf("vm"),
    nodeName: "shop-7",
    hostname: "shop-7",
    nodeIPs: [],
    networkInterfaces: () => VM,
    lookup: addressLookup(() => Promise.resolve([{ address: "198.51.100.7" }])),
    ...changes,
  };
}

const unexpected = (source: string, message: string) => expect.unreachable(`${source}: ${message}`);

test("a name that resolves → its addresses, and those of them on an interface", async () => {
  const asked: string[] = [];
  const lookup = addressLookup((name) => {
    asked.push(name);
    return Promise.resolve([
      { address: "203.0.113.9" },
      { address: "2001:db8::7" },
      { address: "fe80::7%eth0" },
    ]);
  });
  expect(await addresses(sources({ lookup, nodeName: "shop-7.example" }), unexpected)).toEqual({
    nodeIPs: [],
    lookup: ["203.0.113.9", "2001:db8::7", "fe80::7"],
    onInterface: ["2001:db8::7", "fe80::7"],
    defaultRoute: { ipv4: "198.51.100.7", ipv6: "2001:db8::7" },
  });
  expect(asked).toEqual(["shop-7.example"]);
});

test("a name that does not resolve → the resolver's error, without a warning: most machines are not in DNS", async () => {
  const lookup = addressLookup(() => Promise.reject(new Error("getaddrinfo ENOTFOUND shop-7")));
  expect(await addresses(sources({ lookup }), unexpected)).toMatchObject({
    lookup: { error: "getaddrinfo ENOTFOUND shop-7" },
    onInterface: [],
  });
});

test("a resolver that does not answer → given up, logged", async () => {
  const said: string[] = [];
  const lookup = addressLookup(() => new Promise(() => {}), 1);
  const error = "lookup of shop-7 has not returned within 1 ms";
  expect(await addresses(sources({ lookup }), (...words) => said.push(...words))).toMatchObject({
    lookup: { error },
  });
  expect(said).toEqual(["resolver", `${error}: see to it, or pass --node-ip`]);
});

test.each<[situation: string, Partial<AddressSources>, outcome: "asked" | "not asked"]>([
  ["no node IP", {}, "asked"],
  ["a node IP", { nodeIPs: ["198.51.100.7"] }, "not asked"],
  ["the unspecified node IP, which only prefers a family", { nodeIPs: ["::"] }, "asked"],
  ["a hostname that is an address", { hostname: "198.51.100.7" }, "not asked"],
])("lookup: $0 → the resolver is $2", async (_, changes, outcome) => {
  let asked = 0;
  const lookup = addressLookup(() => Promise.resolve((asked++, [])));
  await addresses(sources({ ...changes, lookup }), unexpected);
  expect(asked === 0 ? "not asked" : "asked").toBe(outcome);
});

test("node IPs in any notation → reported as given, and on an interface in canonical text", async () => {
  const nodeIPs = ["198.051.100.007", "2001:DB8:0::7"];
  expect(await addresses(sources({ nodeIPs }), unexpected)).toMatchObject({
    nodeIPs,
    onInterface: ["198.51.100.7", "2001:db8::7"],
  });
});

test("interfaces that cannot be listed → no addresses, logged", async () => {
  const said: string[] = [];
  const networkInterfaces = () => {
    throw new Error("EAFNOSUPPORT");
  };
  expect(await addresses(sources({ networkInterfaces }), (...words) => said.push(...words))).toBeUndefined();
  expect(said).toEqual(["network interfaces", "EAFNOSUPPORT"]);
});
