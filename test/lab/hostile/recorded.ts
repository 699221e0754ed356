// The requests that attacks are made of, as they were recorded.
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";

export interface Recording {
  requests: TransportRequest[];
  /**
   * What the Worker would take: enrolments of keys that stand and the last report of each machine, to no effect; and what
   * was withheld from it, once.
   */
  stillValid: TransportRequest[];
  /** Sockets that machines have opened. */
  upgrades: Upgrade[];
  /** Those that they were about to open: each would be taken, once. */
  withheldUpgrades: Upgrade[];
}

/** The request for a socket. */
export interface Upgrade {
  /** With its ticket. */
  path: string;
  token: string;
}

export function tokenOf({ headers }: TransportRequest): string {
  return (headers["authorization"] ?? "").slice("Bearer ".length);
}
