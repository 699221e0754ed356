// Constants that the Worker under hostile input shares with the recording of its machines.
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";

/** The Worker's origin for machines, which is not its address. */
export const ORIGIN = "https://rollcall.test";
/** The generator makes challenges with this alone, as the Worker does for any client. */
export const MAC_KEYS = `1:${"A".repeat(43)}`;
/** POST ?SEED creates a join token and seeds the Worker's randomness. */
export const PLANT_PATH = "/hostile/plant";

/** A join token whose key the recording has. */
export interface Planted {
  id: string;
  key: string;
  request: TokenRequest;
}

/** Returns the content of the first gateway. With ?ring its alarm rings first. */
export const LOOK_PATH = "/hostile/gateway";

export interface GatewayLook {
  /** Machines with an accepted socket, in the gateway's memory. */
  members: number;
  sockets: number;
  /** Frames that the platform has passed to gateways, and how many of them came after the socket was closed. */
  messages: number;
  late: number;
}
