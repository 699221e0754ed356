// Where a soak takes place: workerd, and the apiserver that it writes to. Types alone.
import type { LeaseWatch } from "./lease-watch.ts";

/** A process that can be killed, and started again on what it has stored. */
export interface SoakWorker {
  url: string;
  /** For `sim-*`. */
  joinToken: string;
  /** Of the process that runs now. */
  cpuSeconds: () => number;
  residentBytes: () => number;
  /** The text of its GET /metrics. */
  metrics: () => Promise<string>;
  /** Kills it, and starts it again. Resolves once it answers. */
  killAndStart: () => Promise<void>;
}

export interface SoakPlace {
  worker: SoakWorker;
  apiserverCpuSeconds: () => number;
  /** Aborted once a process has ended by itself. */
  died: AbortSignal;
}

/** Renewals go into `leases`. All is stopped once `work` is done. */
export type InPlace = <Outcome>(
  machines: number,
  leases: Pick<LeaseWatch, "renewed">,
  work: (place: SoakPlace) => Promise<Outcome>,
) => Promise<Outcome>;
