// Counts the other machines of a machine's network: if all of them are silent, the network has the fault.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { networkOf } from "../../../shared/fleet/sort-keys.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";

export interface MachineNeighbours {
  /** The network, like `203.0.113.7` or `2001:db8::/64`. "" if the machine's address is not known. */
  network: string;
  /** The number of other machines in this network. `silent` is the number of silent machines among them. */
  others: number;
  silent: number;
  /** The open outage of this network, or null. */
  outage: Outage | null;
}

export function neighboursOf(
  machine: FeedMachine,
  machines: Iterable<FeedMachine>,
  outages: Iterable<Outage>,
): MachineNeighbours {
  const network = networkOf(machine.address);
  if (network === "") return { network, others: 0, silent: 0, outage: null };
  let [others, silent] = [0, 0];
  for (const { name, address, state } of machines) {
    if (name === machine.name || networkOf(address) !== network) continue;
    others += 1;
    if (state === "silent") silent += 1;
  }
  const open = [...outages].filter((each) => each.endedAt === null && each.network === network);
  const outage = open.toSorted((a, b) => b.id - a.id)[0] ?? null;
  return { network, others, silent, outage };
}
