// Describes in words how a machine's facts have changed, for its history.
import type { Facts } from "../protocol/facts.ts";
import { INVENTORY_WORDS } from "../protocol/inventory.ts";

export interface FactsChange {
  kind: "reboot" | "version" | "capacity" | "address" | "runtime" | "cloud" | "hardware";
  text: string;
}

type Read = (facts: Facts) => string | number | undefined;

/** A fact whose changes are recorded, unless its value was or becomes unknown. */
type WatchedFact = [kind: FactsChange["kind"], name: string, read: Read];
const WATCHED: WatchedFact[] = [
  ["reboot", "boot ID", ({ machine }) => machine?.bootID],
  ["version", "kernel", ({ versions }) => versions?.kernel],
  ["version", "OS image", ({ versions }) => versions?.osImage],
  ["version", "shim", ({ versions }) => versions?.shim],
  [
    "runtime",
    "container runtime",
    ({ runtime }) => (runtime ? `${runtime.name} ${runtime.version}` : runtime === null ? "none" : undefined),
  ],
  ["capacity", "cores", ({ machine }) => machine?.cores],
  ["capacity", "memory bytes", ({ machine }) => machine?.memoryBytes],
  ["capacity", "swap bytes", ({ machine }) => machine?.swapBytes],
  ["capacity", "huge pages", ({ machine }) => machine?.hugePages.map(hugePages).join(", ")],
  ["capacity", "nodefs bytes", ({ storage }) => storage?.nodefsCapacityBytes],
  ["address", "IPv4", ({ addresses }) => addresses?.defaultRoute.ipv4],
  ["address", "IPv6", ({ addresses }) => addresses?.defaultRoute.ipv6],
  ["address", "cloud", ({ cloud }) => cloud?.addresses?.map(({ address }) => address).join(", ")],
  ["cloud", "provider ID", ({ cloud }) => cloud?.providerID],
  ["cloud", "instance type", ({ cloud }) => cloud?.instanceType],
  ["cloud", "zone", ({ cloud }) => cloud?.zone],
  ...INVENTORY_WORDS.map(([name, read]): WatchedFact => [
    "hardware",
    name,
    ({ inventory }) => (inventory ? read(inventory) : undefined),
  ]),
];

const hugePages = ({ pageSizeKiB, pages }: { pageSizeKiB: number; pages: number }) =>
  `${pages} of ${pageSizeKiB} KiB`;

/** Returns the recorded changes; none for a machine's first facts. */
export function factsChanges(before: Facts | undefined, after: Facts): FactsChange[] {
  if (!before) return [];
  return WATCHED.flatMap(([kind, name, read]) => {
    const [was, is] = [read(before), read(after)];
    if (was === undefined || is === undefined || was === is) return [];
    return { kind, text: `${name}: ${was} → ${is}` };
  });
}
