// What is read between two reports. The loop decides when, and what follows from it.
import type { Vitals } from "../../shared/protocol/report.ts";

/** What was seen between two reports; what is absent was not looked at. */
export interface Seen extends Partial<Vitals> {
  /** Is there a container runtime? */
  hasRuntime?: boolean;
}

/** Something of this machine that a condition depends on. */
export interface Probe {
  /** From the end of one look to the next. null: every 100 ms until the Node's first Ready, and not afterwards. */
  everyMs: number | null;
  /** It may take long, and delays neither a report nor another probe. Never rejects. */
  look: () => Promise<Seen>;
}
