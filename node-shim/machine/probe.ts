// What is looked at between two reports. When it is looked at, and what becomes of it, is the loop's.
import type { Vitals } from "../../shared/protocol/report.ts";

/** Something of this machine that a condition depends on. */
export interface Probe {
  /** From the end of one look to the next. null: until the Node's first Ready, every 100 ms; others look after it then. */
  everyMs: number | null;
  /** May take its time: it holds up no report and no other probe. Never rejects. */
  look: () => Promise<Partial<Vitals>>;
}
