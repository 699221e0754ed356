// What is left of memory, disk and process IDs, as bars with the thresholds below which pods would be evicted.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { amountText } from "../base/amounts.ts";
import { type RoomRow, roomRows, type RoomThreshold } from "./room.ts";
import { Nothing, Section } from "./section.tsx";

export function RoomSection({ whole: { vitals, thresholds } }: { whole: WholeNode }) {
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
  const said = ({ text, amount }: RoomThreshold) =>
    text.endsWith("%") && amount !== null
      ? `${text}, which is ${amountText(Math.round(amount), unit)}`
      : text;
  const parts = [
    ...(hard ? [`counts as short below ${said(hard)}`] : []),
    ...(soft ? [`softly, after a while, below ${said(soft)}`] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : "no threshold";
}

function Mark({
  threshold,
  kind,
  capacity,
}: {
  threshold: RoomThreshold | null;
  kind: "hard" | "soft";
  capacity: number;
}) {
  if (threshold?.amount === undefined || threshold.amount === null) return null;
  return (
    <div
      class={`machine-mark machine-mark-${kind}`}
      style={{ left: `${percentOf(threshold.amount, capacity)}%` }}
    />
  );
}
