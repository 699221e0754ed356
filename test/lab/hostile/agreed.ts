// Defines the constants that the Worker under hostile input shares with the recording of its machines.
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";

/** The Worker's origin for machines, which differs from the address that it listens on. */
export const ORIGIN = "https://rollcall.test";
/**
 * The Worker's MAC keys. The generator uses them only to make challenges, as the Worker makes them for any client.
 */
export const MAC_KEYS = `1:${"A".repeat(43)}`;
/** The path where POST ?SEED creates a join token and seeds the Worker's randomness. */
export const PLANT_PATH = "/hostile/plant";

/** A join token whose key the recording has. */
export interface Planted {
  id: string;
  key: string;
  request: TokenRequest;
}

/** The path that returns the content of the first gateway. With ?ring, the gateway's alarm rings first. */
export const LOOK_PATH = "/hostile/gateway";

export interface GatewayLook {
  /** The number of machines in the gateway's memory, which have an accepted socket each. */
  members: number;
  sockets: number;
  /**
   * The number of frames that the platform has passed to gateways; `late` is how many of these came after the
   * gateway closed the socket.
   */
  messages: number;
  late: number;
}
