import { describe, expect, test } from "vitest";
import type { Ip } from "../../../shared/kubernetes/ip.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { nodeAddress } from "../../../shared/setters/node-address.ts";
import { ip, runSetter } from "./run-setter.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const fromCloud = [{ type: "ExternalIP", address: "192.0.2.1" }];

interface Situation {
  name: string;
  nodeIPs?: string[];
  /** An address that no interface of the machine has. */
  notHere?: string;
  hostname?: string;
  external?: boolean;
  dns?: string[];
  defaultRoute?: string;
  before?: Node;
  addresses: string[];
  annotations?: Record<string, string>;
  error?: string;
}

const situations: Situation[] = [
  {
    name: "a node IP → it is the address; neither DNS nor the default route counts",
    nodeIPs: ["10.0.0.5"],
    dns: ["10.0.0.6"],
    defaultRoute: "10.0.0.7",
    addresses: ["InternalIP 10.0.0.5", "Hostname host-1"],
  },
  {
    name: "two node IPs (dual stack) → both, in their order",
    nodeIPs: ["2001:db8::5", "10.0.0.5"],
    addresses: ["InternalIP 2001:db8::5", "InternalIP 10.0.0.5", "Hostname host-1"],
  },
  {
    name: "a node IP that no interface has → the setter fails, the addresses stay",
    nodeIPs: ["10.0.0.5"],
    notHere: "10.0.0.5",
    before: { status: { addresses: fromCloud } },
    addresses: ["ExternalIP 192.0.2.1"],
    error: "failed to validate nodeIP: 10.0.0.5 is not here",
  },
  {
    name: "a second node IP that no interface has → the setter fails and names it",
    nodeIPs: ["10.0.0.5", "2001:db8::5"],
    notHere: "2001:db8::5",
    addresses: [],
    error: "failed to validate secondaryNodeIP: 2001:db8::5 is not here",
  },
  {
    name: "no node IP, the host is named after its address → that address, in its canonical text",
    hostname: "010.0.0.9",
    dns: ["10.0.0.6"],
    addresses: ["InternalIP 10.0.0.9", "Hostname 010.0.0.9"],
  },
  {
    name: "no node IP, DNS has several → the first IPv4 one that the machine has",
    dns: ["2001:db8::6", "10.0.0.6", "10.0.0.8"],
    notHere: "10.0.0.6",
    addresses: ["InternalIP 10.0.0.8", "Hostname host-1"],
  },
  {
    name: "the node IP :: (any IPv6 one), DNS has both families → the IPv6 one",
    nodeIPs: ["::"],
    dns: ["10.0.0.6", "2001:db8::6"],
    addresses: ["InternalIP 2001:db8::6", "Hostname host-1"],
  },
  {
    name: "no node IP, no DNS record → the address of the default route's interface",
    defaultRoute: "10.0.0.7",
    addresses: ["InternalIP 10.0.0.7", "Hostname host-1"],
  },
  {
    name: "nothing is found → the setter fails",
    addresses: [],
    error: "can't get ip address of node node-1. error: no default routes found",
  },
  {
    name: "an external cloud provider has set the addresses → they stay, and an annotation names the node IPs for it",
    external: true,
    nodeIPs: ["10.0.0.5", "2001:db8::5"],
    before: { status: { addresses: fromCloud } },
    addresses: ["ExternalIP 192.0.2.1"],
    annotations: { [PROVIDED]: "10.0.0.5,2001:db8::5" },
  },
  {
    name: "an external cloud provider has not started yet, and there is no node IP → the host name alone",
    external: true,
    defaultRoute: "10.0.0.7",
    addresses: ["Hostname host-1"],
  },
  {
    name: "no external cloud provider any more → the annotation of node IPs is removed; others stay",
    nodeIPs: ["10.0.0.5"],
    before: { metadata: { annotations: { [PROVIDED]: "10.0.0.5", other: "x" } } },
    addresses: ["InternalIP 10.0.0.5", "Hostname host-1"],
    annotations: { other: "x" },
  },
];

describe("nodeAddress", () => {
  test.each(situations)("$name", (situation) => {
    const {
      nodeIPs = [],
      notHere,
      hostname = "host-1",
      external = false,
      dns = [],
      defaultRoute,
    } = situation;
    const { node, error } = runSetter(
      () =>
        nodeAddress(
          nodeIPs.map(ip),
          (address: Ip) => (address === notHere ? `${address} is not here` : null),
          hostname,
          external,
          () => (defaultRoute === undefined ? failure("no default routes found") : success(ip(defaultRoute))),
          (name) => (name === "node-1" ? dns.map(ip) : []),
        ),
      { ...situation.before, metadata: { name: "node-1", ...situation.before?.metadata } },
    );
    expect({
      addresses: (node.status.addresses ?? []).map(({ type, address }) => `${type} ${address}`),
      annotations: node.metadata.annotations ?? {},
      error,
    }).toEqual({
      addresses: situation.addresses,
      annotations: situation.annotations ?? {},
      error: situation.error ?? null,
    });
  });
});
