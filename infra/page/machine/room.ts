// How much room a machine has left of each thing, beside the thresholds below which it counts as short. Pure.
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { valueOf } from "../../../shared/kubernetes/quantity/quantity.ts";
import { type AmountUnit, bytesText } from "../base/amounts.ts";

export interface RoomThreshold {
  /** As configured: `100Mi`, `10%`. */
  text: string;
  /** In the signal's own unit; null: it cannot be read. */
  amount: number | null;
}

export interface RoomRow {
  signal: string;
  /** `Memory`, `Disk (nodefs)` */
  title: string;
  unit: AmountUnit;
  available: number;
  capacity: number;
  hard: RoomThreshold | null;
  soft: RoomThreshold | null;
  /** Which threshold it is below. */
  below: "hard" | "soft" | null;
}

const TITLES: Readonly<Record<string, string>> = {
  "memory.available": "Memory",
  "nodefs.available": "Disk (nodefs)",
  "nodefs.inodesFree": "Inodes (nodefs)",
  "imagefs.available": "Disk (imagefs)",
  "imagefs.inodesFree": "Inodes (imagefs)",
  "pid.available": "Process IDs",
};

interface Thresholds {
  hard: Readonly<Record<string, string>>;
  soft: Readonly<Record<string, string>>;
}

/** Those that are short first, then in the order in which the machine says them. */
export function roomRows(vitals: object | null, { hard, soft }: Thresholds): RoomRow[] {
  const { signals = {} } = (vitals ?? {}) as { signals?: Record<string, [number, number]> };
  const rows = Object.entries(signals).map(([signal, [available, capacity]]): RoomRow => {
    const limits = { hard: threshold(hard[signal], capacity), soft: threshold(soft[signal], capacity) };
    const isBelow = (limit: RoomThreshold | null) => available < (limit?.amount ?? 0);
    return {
      signal,
      title: TITLES[signal] ?? signal,
      unit: /inodes|pid/.test(signal) ? "count" : "bytes",
      available,
      capacity,
      ...limits,
      below: isBelow(limits.hard) ? "hard" : isBelow(limits.soft) ? "soft" : null,
    };
  });
  const rank = ({ below }: RoomRow) => (below === "hard" ? 0 : below === "soft" ? 1 : 2);
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

function threshold(text: string | undefined, capacity: number): RoomThreshold | null {
  if (text === undefined) return null;
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(text)?.[1];
  if (percent !== undefined) return { text, amount: (capacity * Number(percent)) / 100 };
  const quantity = parseQuantity(text);
  return { text, amount: quantity.ok ? Number(valueOf(quantity.value)) : null };
}

/** A quantity of memory or of a disk in the form of bytesText, other ones as they are. */
export function quantityWords(resource: string, quantity: string): string {
  if (!/^(memory|ephemeral-storage|hugepages-.*)$/.test(resource)) return quantity;
  const parsed = parseQuantity(quantity);
  return parsed.ok ? bytesText(Number(valueOf(parsed.value))) : quantity;
}
