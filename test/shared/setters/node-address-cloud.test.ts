import { describe, expect, test } from "vitest";
import type { Ip } from "../../../shared/kubernetes/ip.ts";
import type { NodeAddress } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { nodeAddressCloud } from "../../../shared/setters/node-address-cloud.ts";
import { ip, runSetter } from "./run-setter.ts";

const INTERNAL = { type: "InternalIP", address: "10.0.0.5" };
const EXTERNAL = { type: "ExternalIP", address: "192.0.2.1" };

interface Situation {
  name: string;
  nodeIP?: string;
  /** An address that no interface of the machine has. */
  notHere?: string;
  /** true if the operator has configured the host name. */
  overridden?: boolean;
  external?: boolean;
  /** The cloud's addresses; a text is the cloud's error. Absent without a built-in provider. */
  cloud?: NodeAddress[] | string;
  before?: NodeAddress[];
  after: string[];
  error?: string;
}

const situations: Situation[] = [
  {
    name: "the cloud has addresses → they are the Node's; the host name, which it lacks, is left out",
    cloud: [INTERNAL, EXTERNAL],
    after: ["InternalIP 10.0.0.5", "ExternalIP 192.0.2.1"],
  },
  {
    name: "the cloud has the host name under another type → it is the Hostname too",
    cloud: [INTERNAL, { type: "InternalDNS", address: "host-1" }],
    after: ["InternalIP 10.0.0.5", "InternalDNS host-1", "Hostname host-1"],
  },
  {
    name: "the operator has set the host name → it replaces the cloud's",
    overridden: true,
    cloud: [{ type: "Hostname", address: "ip-10-0-0-5" }, INTERNAL],
    after: ["Hostname host-1", "InternalIP 10.0.0.5"],
  },
  {
    name: "the cloud has no addresses → the host name alone",
    cloud: [],
    after: ["Hostname host-1"],
  },
  {
    name: "a node IP among several of its type → the only one of its type, and the first",
    nodeIP: "10.0.0.6",
    cloud: [INTERNAL, EXTERNAL, { type: "InternalIP", address: "10.0.0.6" }],
    after: ["InternalIP 10.0.0.6", "ExternalIP 192.0.2.1"],
  },
  {
    name: "a node IP that the cloud lacks → the setter fails, the addresses stay",
    nodeIP: "10.0.0.9",
    cloud: [INTERNAL],
    before: [EXTERNAL],
    after: ["ExternalIP 192.0.2.1"],
    error: "failed to get node address from cloud provider that matches ip: 10.0.0.9",
  },
  {
    name: "the cloud does not answer → the setter fails with its error, the addresses stay",
    cloud: "metadata server is not there",
    before: [INTERNAL],
    after: ["InternalIP 10.0.0.5"],
    error: "metadata server is not there",
  },
  {
    name: "a node IP that no interface has → the setter fails, for any addresses of the cloud",
    nodeIP: "10.0.0.5",
    notHere: "10.0.0.5",
    cloud: [INTERNAL],
    after: [],
    error: "failed to validate nodeIP: 10.0.0.5 is not here",
  },
  {
    name: "no provider is built in → the address of the default route's interface, as without a cloud",
    after: ["InternalIP 10.0.0.7", "Hostname host-1"],
  },
  {
    name: "an external provider has set the addresses → they stay",
    external: true,
    nodeIP: "10.0.0.5",
    before: [EXTERNAL],
    after: ["ExternalIP 192.0.2.1"],
  },
];

describe("nodeAddressCloud", () => {
  test.each(situations)("$name", (situation) => {
    const { nodeIP, notHere, overridden = false, external = false, cloud, before } = situation;
    const nodeAddresses = (): ReturnType<NonNullable<Parameters<typeof nodeAddressCloud>[5]>> =>
      typeof cloud === "string" ? failure(cloud) : success(cloud ?? null);
    const { node, error } = runSetter(
      () =>
        nodeAddressCloud(
          nodeIP === undefined ? null : ip(nodeIP),
          (address: Ip) => (address === notHere ? `${address} is not here` : null),
          "host-1",
          overridden,
          external,
          cloud === undefined ? null : nodeAddresses,
          () => success(ip("10.0.0.7")),
          () => [],
        ),
      { metadata: { name: "node-1" }, status: before ? { addresses: before } : {} },
    );
    const after = (node.status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
    expect({ after, error }).toEqual({ after: situation.after, error: situation.error ?? null });
    const provided = node.metadata.annotations?.["alpha.kubernetes.io/provided-node-ip"];
    expect(provided).toBe(external ? nodeIP : undefined);
  });
});
