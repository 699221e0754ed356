// Who reports from the same place as a machine, and whether they are silent too. Pure.
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { networkOf } from "../../../shared/fleet/network.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";

export interface MachineNeighbours {
  /** `203.0.113.7`, `2001:db8::/64`; "": nobody knows from where it reports. */
  network: string;
  /** How many others report from there, and how many of these are silent. */
  others: number;
  silent: number;
  /** The open outage of that network. */
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
