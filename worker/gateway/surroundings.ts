// What a gateway has around it, as its parts are given it. Types alone.
import type { Timer } from "../clock.ts";
import type { LendingMachine } from "../machine/lease-loan.ts";
import type { LazyAlarm } from "../storage/lazy-alarm.ts";
import type { GatewayCounters } from "./counters.ts";
import type { Members } from "./members.ts";
import type { PutLease } from "./put-lease.ts";
import type { ServerSocket, HeldSockets } from "./sockets.ts";
import type { Log } from "../log.ts";

/** What the platform has, and tests make up. */
export interface GatewaySurroundings {
  /** A machine's object. */
  node: (name: string) => LendingMachine;
  putLease: PutLease;
  /** Those that are open or closing: of one machine, or all. */
  sockets: (name?: string) => ServerSocket[];
  sql: SqlStorage;
  alarm: Pick<LazyAlarm, "atLatest" | "rang">;
  /** GATEWAY_SIZE */
  size: () => number;
  counters: GatewayCounters;
  /** Typically sharedTimer: by it ends what is not answered in time. */
  timer: Timer;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically Math.random. */
  random: () => number;
  /** 128 random bits, base64url. */
  nonce: () => string;
  /** Typically writes a line of JSON to the console. */
  log: Log;
}

/** With what a gateway knows. */
export interface GatewayParts extends GatewaySurroundings {
  held: HeldSockets;
  members: Members;
}
