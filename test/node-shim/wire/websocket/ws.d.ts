// What the tests use of the package, which has no types of its own.
declare module "ws" {
  import type { EventEmitter } from "node:events";
  import type { IncomingMessage } from "node:http";
  import type { Duplex } from "node:stream";

  export interface Sending {
    fin?: boolean;
    binary?: boolean;
  }

  export interface Opening {
    headers: Record<string, string>;
    perMessageDeflate: boolean;
    handshakeTimeout: number;
  }

  export class WebSocket extends EventEmitter {
    static readonly OPEN: number;
    readonly readyState: number;
    constructor(url: URL, options: Opening);
    send: (data: string | Uint8Array, options?: Sending) => void;
    ping: (data?: string | Uint8Array) => void;
    close: (code?: number, reason?: string) => void;
    terminate: () => void;
  }

  export class WebSocketServer extends EventEmitter {
    constructor(options: { noServer: true; perMessageDeflate?: boolean; maxPayload?: number });
    handleUpgrade: (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      opened: (socket: WebSocket, request: IncomingMessage) => void,
    ) => void;
  }
}
