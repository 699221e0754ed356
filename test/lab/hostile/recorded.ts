// The recorded requests from which attacks are made.
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";

export interface Recording {
  requests: TransportRequest[];
  /**
   * Requests that the Worker would accept without an effect: enrolments of pinned keys and the last report of each
   * machine. Also withheld requests, which would have an effect once.
   */
  stillValid: TransportRequest[];
  /** Upgrades of sockets that machines have opened. */
  upgrades: Upgrade[];
  /** Upgrades that were never sent: each would be accepted, once. */
  withheldUpgrades: Upgrade[];
}

/** The request for a socket. */
export interface Upgrade {
  /** Path with its ticket. */
  path: string;
  token: string;
}

export function tokenOf({ headers }: TransportRequest): string {
  return (headers["authorization"] ?? "").slice("Bearer ".length);
}
