// What the Worker under hostile input and the recording of its machines agree on.
import type { TokenRequest } from "../../../shared/protocol/join-tokens.ts";

/** As machines know the Worker: not where it happens to listen. */
export const ORIGIN = "https://rollcall.test";
/** The generator makes challenges with it alone, as the Worker does for whoever asks. */
export const MAC_KEYS = `1:${"A".repeat(43)}`;
/** POST ?SEED plants a join token and begins what is random from the seed. */
export const PLANT_PATH = "/hostile/plant";

/** A join token whose key the recording knows. */
export interface Planted {
  id: string;
  key: string;
  request: TokenRequest;
}

/** What is in the first gateway. With ?ring its alarm rings before, as it does in time. */
export const LOOK_PATH = "/hostile/gateway";

export interface GatewayLook {
  /** Machines that have an accepted socket, as far as it knows. */
  members: number;
  sockets: number;
  /** Frames that the platform has handed to gateways, and those of them that came when the socket was closed. */
  messages: number;
  late: number;
}
