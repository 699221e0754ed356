// Runs a bare gateway as the yardstick of our gateway: the minimum that a Durable Object does for a heartbeat over a
// hibernatable WebSocket. The bare gateway checks one HMAC, and PUTs one lease. The bare gateway is no product.
//
// The bare gateway omits sessions with their key agreement (the key comes with the upgrade, unsigned), the number n of
// a heartbeat, nonces, freshness, lease loans and quiet heartbeats. It also omits samples, members and silence, pace,
// deadlines, suspensions, counters, token renewal and the treatment of failures.
import { DurableObject } from "cloudflare:workers";
import { base64url, type CryptoKey } from "jose";
import { type BareKube, type BareLease, createLease, renewLease } from "./bare-kube.ts";

interface Attachment {
  name: string;
  /** The machine's key as base64url. */
  key: string;
}

/** The data of a socket that the gateway keeps in memory. */
interface Held {
  key: CryptoKey;
  lease: BareLease;
}

const HMAC = { name: "HMAC", hash: "SHA-256" };
const encoder = new TextEncoder();

export class BareGatewayObject extends DurableObject<BareKube> {
  readonly #held = new Map<WebSocket, Held>();

  override fetch(request: Request): Response {
    const { searchParams } = new URL(request.url);
    const [name, key] = [searchParams.get("name") ?? "", searchParams.get("key") ?? ""];
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server, [name]);
    server.serializeAttachment({ name, key } satisfies Attachment);
    return new Response(null, { status: 101, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, frame: string): Promise<void> {
    const held = this.#held.get(socket) ?? (await this.#hold(socket));
    const [payload = "", mac = ""] = frame.split("\n");
    const signature = new Uint8Array(base64url.decode(mac));
    if (!(await crypto.subtle.verify(HMAC, held.key, signature, encoder.encode(payload)))) return;
    const { n } = JSON.parse(payload) as { n: number };
    held.lease = await renewLease(this.env, held.lease);
    socket.send(JSON.stringify({ type: "answer", n, nextInMs: 9600 }));
  }

  /** Reads the key and the lease into memory at the first heartbeat. */
  async #hold(socket: WebSocket): Promise<Held> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `fetch` has written this attachment
    const { name, key } = socket.deserializeAttachment() as Attachment;
    const raw = new Uint8Array(base64url.decode(key));
    const imported = await crypto.subtle.importKey("raw", raw, HMAC, false, ["verify"]);
    const held = { key: imported, lease: await createLease(this.env, name, name) };
    this.#held.set(socket, held);
    return held;
  }
}
