// A day of a machine's vitals as a short text: a line that says what it is, then a line for each heartbeat with what has
// changed of each signal, in the order of SIGNALS and in units; zeros at its end are left out. make.ts writes them.
import { SIGNALS, type Vitals } from "../../../../shared/protocol/report.ts";

export interface Day {
  /** From one heartbeat to the next. */
  everyMs: number;
  /** Of each signal: its capacity, how much was available before the first line, and what a line counts in; null: not observed. */
  signals: readonly (readonly [capacity: number, first: number, unit: number] | null)[];
  /** Of each signal, in units. */
  changes: readonly (readonly number[])[];
}

export function dayText({ changes, ...about }: Day): string {
  const lines = changes.map((each) =>
    each
      .map((change) => change || "")
      .join(",")
      .replace(/,+$/, ""),
  );
  return [JSON.stringify(about), ...lines, ""].join("\n");
}

export function readDay(text: string): Day {
  const [about = "", ...lines] = text.split("\n").slice(0, -1);
  return {
    ...(JSON.parse(about) as Omit<Day, "changes">),
    changes: lines.map((line) => line.split(",").map(Number)),
  };
}

/** What the machine says, heartbeat by heartbeat. */
export function vitalsOf({ signals, changes }: Day): Vitals[] {
  const available = signals.map((each) => each?.[1] ?? 0);
  return changes.map((line) => {
    const said: Vitals["signals"] = {};
    for (const [at, name] of SIGNALS.entries()) {
      const [capacity, , unit] = signals[at] ?? [];
      if (capacity === undefined || unit === undefined) continue;
      available[at]! += unit * (line[at] ?? 0);
      said[name] = [available[at]!, capacity];
    }
    return { signals: said };
  });
}
