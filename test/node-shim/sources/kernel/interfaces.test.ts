// Tests which addresses the shim adds to those of Node.js, which leaves out interfaces without carrier.
import { describe, expect, it, test } from "vitest";
import { failure, success } from "../../../../shared/result.ts";
import { addresses } from "../../../../node-shim/sources/kernel/addresses.ts";
import type { Interfaces } from "../../../../node-shim/sources/kernel/host-ip.ts";
import { withDownInterfaces, withUnplugged } from "../../../../node-shim/sources/kernel/interfaces.ts";
import { rootWith } from "./tree.ts";

const on = (...list: string[]) => list.map((address) => ({ address, internal: false }));
const SEEN: Interfaces = { eth0: on("198.51.100.7") };

const ROUTE = `Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t016433C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
usb0\t0007A8C0\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0
wide0\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eth0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
`;
const leaf = (address: string, prefix = "/32 host LOCAL") =>
  `           |-- ${address}\n              ${prefix}\n`;
const trie = (...leaves: string[]) =>
  `Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n${leaves.join("")}`;
const rootOf = (files: Record<string, string>) =>
  rootWith(
    "vm",
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`/proc/net/${name}`, text])),
  );

describe("an interface without carrier", () => {
  it.each<[situation: string, files: Record<string, string>, added: Interfaces]>([
    ["no such files → nothing", {}, {}],
    [
      "its IPv4 address → added",
      { route: ROUTE, fib_trie: trie(leaf("192.168.7.2")) },
      { usb0: on("192.168.7.2") },
    ],
    [
      "an address in two networks → the smaller network's interface",
      { route: ROUTE, fib_trie: trie(leaf("192.168.7.2"), leaf("192.168.8.2")) },
      { usb0: on("192.168.7.2"), wide0: on("192.168.8.2") },
    ],
    [
      "an address whose prefixes are several → added",
      {
        route: ROUTE,
        fib_trie: trie(
          leaf("192.168.7.0", "/30 link UNICAST"),
          leaf("192.168.7.2", "/31 link UNICAST\n              /32 host LOCAL"),
        ),
      },
      { usb0: on("192.168.7.2") },
    ],
    [
      "networks and broadcasts → no addresses",
      {
        route: ROUTE,
        fib_trie: trie(leaf("192.168.7.0", "/30 link UNICAST"), leaf("192.168.7.3", "/32 link BROADCAST")),
      },
      {},
    ],
    [
      "a local route in no network, such as a load balancer's → nothing",
      { route: ROUTE, fib_trie: trie(leaf("203.0.113.9")) },
      {},
    ],
    [
      "an address of an interface that Node.js has → once",
      { route: ROUTE, fib_trie: trie(leaf("198.51.100.7")) },
      {},
    ],
    [
      "its IPv6 address → added",
      {
        if_inet6:
          "fd000000000000000000000000000002 04 40 00 c2     usb0\nfe8000000000000000fc00fffe000001 02 40 20 80     eth0\n",
      },
      { usb0: on("fd00:0000:0000:0000:0000:0000:0000:0002") },
    ],
    ["files of another form → nothing", { route: "?", fib_trie: "?\n", if_inet6: "? ?\n" }, {}],
  ])("%s", (_, files, added) => {
    expect(withUnplugged(rootOf(files), SEEN)).toEqual({ ...SEEN, ...added });
  });
});

describe("an interface that is down", () => {
  const LISTED = JSON.stringify([
    { ifname: "eth0", addr_info: [{ family: "inet", local: "198.51.100.8" }] },
    { ifname: "lan0", addr_info: [{ family: "inet", local: "192.168.9.2" }, {}] },
    { ifname: "lan1" },
  ]);
  it.each([
    ["ip lists its address → added", success(LISTED), { ...SEEN, lan0: on("192.168.9.2") }],
    ["there is no ip → nothing", failure("spawn ip ENOENT"), SEEN],
    ["an ip without JSON, as BusyBox has → nothing", success("1: lo:"), SEEN],
  ])("%s", async (_, output, interfaces) => {
    const listed = withDownInterfaces(
      () => Promise.resolve(output),
      () => 0,
    );
    expect(await listed(SEEN)).toEqual(interfaces);
  });

  it("asked again within a minute → no further process", async () => {
    let nowMs = 0;
    let runs = 0;
    const listed = withDownInterfaces(
      () => Promise.resolve((runs++, success(LISTED))),
      () => nowMs,
    );
    for (nowMs of [0, 59_999, 60_000]) await listed(SEEN);
    expect(runs).toBe(2);
  });
});

test.each<[situation: string, nodeIP: string, onInterface: string[], asks: number]>([
  ["of a known interface → ip is not run", "198.51.100.7", ["198.51.100.7"], 0],
  ["of an interface without carrier → found, and ip is not run", "192.168.7.2", ["192.168.7.2"], 0],
  ["of an interface that is down → found by ip", "192.168.9.2", ["192.168.9.2"], 1],
  ["of no interface → not found", "192.168.9.3", [], 1],
])("--node-ip %s", async (_, nodeIP, onInterface, asks) => {
  let asked = 0;
  const found = await addresses(
    {
      root: rootOf({ route: ROUTE, fib_trie: trie(leaf("192.168.7.2")) }),
      nodeName: "edge-1",
      hostname: "edge-1",
      nodeIPs: [nodeIP],
      networkInterfaces: () => SEEN,
      withDown: (seen) => Promise.resolve((asked++, { ...seen, lan0: on("192.168.9.2") })),
      lookup: () => Promise.resolve(success([])),
    },
    (source, message) => expect.unreachable(`${source}: ${message}`),
  );
  expect([found?.onInterface, asked]).toEqual([onInterface, asks]);
});
