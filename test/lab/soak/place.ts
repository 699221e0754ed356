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
  /** Returns the number of files and sockets that the process has open. */
  openFiles: () => number;
  /** Returns the text of the Worker's GET /metrics. */
  metrics: () => Promise<string>;
  /** Kills the Worker and starts it again. Resolves once the Worker answers. */
  killAndStart: () => Promise<void>;
  /** Lets the Worker's process run for a tenth of the time, for `forMs`. Rejects if `signal` is aborted. */
  slow: (forMs: number, signal: AbortSignal) => Promise<void>;
}

/** The ways in which a made-up apiserver is slow or refuses. */
export const APISERVER_TROUBLES = ["300ms", "2s", "429"] as const;
export type ApiserverTrouble = (typeof APISERVER_TROUBLES)[number];

export interface SoakPlace {
  worker: SoakWorker;
  apiserverCpuSeconds: () => number;
  /** Begins a trouble of the apiserver; null ends it. Absent if the apiserver is real. */
  trouble?: (trouble: ApiserverTrouble | null) => void;
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
