// What the tests use of the package, which has no types of its own.
declare module "ws" {
  import type { EventEmitter } from "node:events";
  import type { IncomingMessage } from "node:http";
  import type { Duplex } from "node:stream";

  export interface Sending {
    fin?: boolean;
  }

  export class WebSocket extends EventEmitter {
    readonly readyState: number;
    send: (data: string | Buffer, options?: Sending) => void;
    ping: (data?: string) => void;
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
