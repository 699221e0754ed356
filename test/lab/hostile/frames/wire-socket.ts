// Opens a machine's WebSocket for hostile input. The socket sends any bytes, also invalid ones, and keeps the gateway's
// answers. Callers make the sessions.
import type { Duplex } from "node:stream";
import { WebSocket } from "ws";
import type { GatewayFrame } from "../../../../shared/protocol/frames.ts";

export interface WireEnd {
  code: number;
  reason: string;
}

/** The time limit of an answer in milliseconds: longer than any answer takes, also of a busy gateway. */
const DEADLINE_MS = 30_000;

export class WireSocket {
  readonly #socket: WebSocket;
  /** The stream that carries the WebSocket's bytes. */
  #stream: Duplex | undefined;
  readonly heard: GatewayFrame[] = [];
  pongs = 0;
  ended: WireEnd | null = null;
  #wake: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("upgrade", (response) => (this.#stream = response.socket));
    socket.on("message", (data: Buffer) => {
      this.heard.push(JSON.parse(data.toString()) as GatewayFrame);
      this.#wake();
    });
    socket.on("pong", () => {
      this.pongs++;
      this.#wake();
    });
    // An end in the middle of a message is an error for the client, but counts as an end here.
    socket.on("error", () => undefined);
    socket.on("close", (code, reason) => {
      this.ended = { code, reason: reason.toString() };
      this.#wake();
    });
  }

  /** Opens a socket. Rejects if the Worker refuses it. */
  static async open(url: string, path: string, token: string): Promise<WireSocket> {
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(new URL(path, url.replace("http", "ws")), {
      headers,
      perMessageDeflate: false,
      handshakeTimeout: DEADLINE_MS,
    });
    const wire = new WireSocket(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    return wire;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  /** Sends a text message in `pieces` frames. The bytes of `text` may be no UTF-8. */
  text(text: string | Uint8Array, pieces = 1): void {
    const data = Buffer.from(text);
    const size = Math.ceil(data.length / pieces);
    for (let piece = 0; piece < pieces; piece++) {
      const part = data.subarray(piece * size, (piece + 1) * size);
      this.#socket.send(part, { binary: false, fin: piece === pieces - 1 });
    }
  }

  binary(data: Uint8Array): void {
    this.#socket.send(data, { binary: true });
  }

  ping(data: Uint8Array): void {
    this.#socket.ping(data);
  }

  /** Sends bytes on the stream below the WebSocket, and ends the stream. */
  raw(data: Uint8Array): void {
    this.#stream?.end(data);
  }

  close(): void {
    this.#socket.close(1000);
  }

  /** Resolves with true once `isSo` returns true or the socket has ended. false if neither happens in time. */
  async until(isSo: () => boolean): Promise<boolean> {
    const late = setTimeout(() => this.#wake(), DEADLINE_MS);
    const beganMs = performance.now();
    const isOver = () => isSo() || this.ended !== null;
    while (!isOver() && performance.now() - beganMs < DEADLINE_MS)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    clearTimeout(late);
    return isOver();
  }

  /** Returns the next frame after the first `known` frames. Throws if there is none. */
  async next(known: number): Promise<GatewayFrame> {
    await this.until(() => this.heard.length > known);
    const frame = this.heard[known];
    if (!frame) throw new Error(`no answer on a socket: ${JSON.stringify(this.ended)}`);
    return frame;
  }

  /** Ends the socket on this side, even if the other side does not. */
  drop(): void {
    this.#socket.terminate();
  }
}
