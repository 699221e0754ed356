// Converts a day of a machine's vitals to a short text and back; make.ts makes the days. The first line describes the
// day. Each further line is a heartbeat: the change of each signal, in the order of SIGNALS and in units, without
// zeros at the end.
import { SIGNALS, type Vitals } from "../../../../shared/protocol/report.ts";

export interface Day {
  /** Milliseconds between two heartbeats. */
  everyMs: number;
  /**
   * The capacity of each signal, its available amount before the first heartbeat, and the unit of its changes; null
   * if the signal is not observed.
   */
  signals: readonly (readonly [capacity: number, first: number, unit: number] | null)[];
  /** The changes of all signals, in units, for each heartbeat. */
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

/** Returns the machine's vitals at each heartbeat. */
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
