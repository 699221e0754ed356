// Defines the recorded requests from which attacks are made.
import type { TransportRequest } from "../../../node-shim/worker-link/exchange.ts";

export interface Recording {
  requests: TransportRequest[];
  /**
   * The requests that the Worker would accept without an effect: enrolments of pinned keys and the last report of
   * each machine. Also withheld requests, which would have an effect once.
   */
  stillValid: TransportRequest[];
  /** The upgrades of sockets that machines have opened. */
  upgrades: Upgrade[];
  /** The upgrades that no machine sent. The Worker would accept each of them once. */
  withheldUpgrades: Upgrade[];
}

/** A request that opens a socket. */
export interface Upgrade {
  /** The path of the upgrade, which contains its ticket. */
  path: string;
  token: string;
}

export function tokenOf({ headers }: TransportRequest): string {
  return (headers["authorization"] ?? "").slice("Bearer ".length);
}
