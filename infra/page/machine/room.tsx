// Draws the available memory, disk space and process IDs as bars, with the thresholds of a kubelet's eviction.
import { parseQuantity } from "../../../shared/kubernetes/quantity/parse.ts";
import { valueOf } from "../../../shared/kubernetes/quantity/quantity.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { amountText, type AmountUnit } from "../base/amounts.ts";
import { Nothing, Section } from "./section.tsx";
import { UsageFold } from "./usage.tsx";

export function RoomSection({ name, whole: { vitals, thresholds } }: { name: string; whole: WholeNode }) {
  const rows = roomRows(vitals, thresholds);
  return (
    <Section id="room" aside={<span class="quiet">available, as of the last report</span>}>
      {rows.length === 0 ? (
        <Nothing>
          {vitals === null
            ? "Not known: the machine’s object has slept since its last report. The next one brings it."
            : "The last report had none of it."}
        </Nothing>
      ) : (
        <ul class="machine-room">
          {rows.map((row) => (
            <RoomLine key={row.signal} row={row} />
          ))}
        </ul>
      )}
      <UsageFold name={name} />
    </Section>
  );
}

const percentOf = (amount: number, capacity: number) =>
  capacity > 0 ? Math.max(0, Math.min(100, (100 * amount) / capacity)) : 0;

function RoomLine({ row }: { row: RoomRow }) {
  const { signal, title, unit, available, capacity, hard, soft, below } = row;
  const percent = percentOf(available, capacity);
  return (
    <li class={below ? `machine-room-${below}` : undefined}>
      <div class="row spread">
        <strong title={signal}>{title}</strong>
        <span>
          {amountText(available, unit)} of {amountText(capacity, unit)}{" "}
          <span class="quiet">({Math.floor(percent)}%)</span>
        </span>
      </div>
      <div class="machine-bar" aria-hidden="true">
        <div class="machine-bar-left" style={{ width: `${percent}%` }} />
        <Mark threshold={soft} kind="soft" capacity={capacity} />
        <Mark threshold={hard} kind="hard" capacity={capacity} />
      </div>
      <p class="quiet">
        {below && (
          <strong class="machine-bad">
            {below === "hard" ? "✗ below its threshold. " : "▲ below its soft threshold. "}
          </strong>
        )}
        {thresholdText(row)}
      </p>
    </li>
  );
}

function thresholdText({ hard, soft, unit }: RoomRow): string {
  const thresholdText = ({ text, amount }: RoomThreshold) => {
    if (amount === null) return text;
    return text.endsWith("%") ? `${text}, which is ${amountText(amount, unit)}` : amountText(amount, unit);
  };
  const parts = [
    ...(hard ? [`counts as short below ${thresholdText(hard)}`] : []),
    ...(soft ? [`softly, after a while, below ${thresholdText(soft)}`] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : "no threshold";
}

interface MarkProps {
  threshold: RoomThreshold | null;
  kind: "hard" | "soft";
  capacity: number;
}

function Mark({ threshold, kind, capacity }: MarkProps) {
  if (threshold?.amount === undefined || threshold.amount === null) return null;
  return (
    <div
      class={`machine-mark machine-mark-${kind}`}
      style={{ left: `${percentOf(threshold.amount, capacity)}%` }}
    />
  );
}

interface RoomThreshold {
  /** The threshold as configured, like `100Mi` or `10%`. */
  text: string;
  /** The threshold in the signal's unit. null if it is invalid. */
  amount: number | null;
}

interface RoomRow {
  signal: string;
  /** The title of the row, like `Memory` or `Disk (nodefs)`. */
  title: string;
  unit: AmountUnit;
  available: number;
  capacity: number;
  hard: RoomThreshold | null;
  soft: RoomThreshold | null;
  /** The threshold that the available amount is below, or null. */
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

/** Returns the rows: those below a threshold first, otherwise in the order of the report. */
export function roomRows(vitals: object | null, { hard, soft }: WholeNode["thresholds"]): RoomRow[] {
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
  if (percent !== undefined) return { text, amount: Math.floor((capacity * Number(percent)) / 100) };
  const quantity = parseQuantity(text);
  return { text, amount: quantity.ok ? Number(valueOf(quantity.value)) : null };
}
