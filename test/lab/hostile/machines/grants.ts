// Lists the join tokens of the hostile machines: from the narrow default to one that allows everything a kubelet may
// set.
import type { Granted } from "./beyond-grant.ts";

const GRANTS: readonly Granted[] = [
  { mayAll: false },
  {
    mayAll: false,
    labels: { tier: "front" },
    taints: [{ key: "tenant", value: "shop", effect: "NoSchedule" }],
    mayAddress: ["10.20.0.0/16"],
  },
  {
    mayAll: false,
    labels: { tier: "edge", "topology.kubernetes.io/zone": "shop-17" },
    roles: ["edge"],
    mayLabel: ["example.com/*", "node.kubernetes.io/instance-type"],
    mayTaint: ["example.com/*"],
    mayCondition: ["Example*"],
    mayResource: ["example.com/*"],
    mayAddress: ["10.0.0.0/8", "fd00::/8", ".shop.example.com"],
    mayCloud: ["aws:///eu-west-1*"],
  },
  {
    mayAll: true,
    withoutFactsOnlyTaint: true,
    mayTaint: ["example.com/*", "node.cloudprovider.kubernetes.io/uninitialized"],
  },
  {},
  { mayAll: false, withoutFactsOnlyTaint: true, mayAddress: ["*"] },
];

/** Returns the grant of a hostile machine by its number. */
export function grantOf(machine: number): Granted {
  return GRANTS[machine % GRANTS.length]!;
}
