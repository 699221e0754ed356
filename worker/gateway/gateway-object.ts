// A gateway: the Durable Object that holds the sockets of many machines. It holds none yet.
import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../env.ts";

/** What a request to open a socket says, in the header of this name: the Worker has verified all of it. */
export interface GatewayOpening {
  /** The gateway's own number. */
  gateway: number;
  name: string;
  kid: string;
  /** The X25519 public key that the machine has made for this socket, base64url. */
  session: string;
  /** Good for one socket. */
  ticket: string;
  /** From which it came; "" where the platform does not provide it. */
  address: string;
}
export const GATEWAY_OPENING = "x-rollcall-gateway";

export class GatewayObject extends DurableObject<Environment> {
  override fetch(_request: Request): Response {
    return new Response("not built yet", { status: 501 });
  }

  /** Once a minute: sees that the alarm is set. */
  care(): void {
    // It has nothing to wait for yet.
  }
}
