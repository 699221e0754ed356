// Defines the types of a soak's surroundings: workerd, and the apiserver that it writes to.
import type { LeaseWatch } from "./lease-watch.ts";

/** A Worker whose process can be killed, and started again on its stored data. */
export interface SoakWorker {
  url: string;
  /** A join token for `sim-*`. */
  joinToken: string;
  /** Returns the CPU time of the process that runs now, in seconds. */
  cpuSeconds: () => number;
  residentBytes: () => number;
  /** Returns the text of the Worker's GET /metrics. */
  metrics: () => Promise<string>;
  /** Kills the Worker and starts it again. Resolves once the Worker answers. */
  killAndStart: () => Promise<void>;
}

export interface SoakPlace {
  worker: SoakWorker;
  apiserverCpuSeconds: () => number;
  /** Aborted once a process has ended by itself. */
  died: AbortSignal;
}

/**
 * Runs `work` in the surroundings of a soak, and stops everything once `work` is done. Renewals are recorded in
 * `leases`.
 */
export type InPlace = <Outcome>(
  machines: number,
  leases: Pick<LeaseWatch, "renewed">,
  work: (place: SoakPlace) => Promise<Outcome>,
) => Promise<Outcome>;
