// Plays the two ends of a WebSocket between a client and a Durable Object.
import type { Host } from "./objects.ts";

/** Carries frames between the two ends. Calls `arrive` when a frame arrives; never if the frame is lost. */
interface Wire {
  toServer: (arrive: () => void) => void;
  toClient: (arrive: () => void) => void;
}

const AT_ONCE: Wire = { toServer: queueMicrotask, toClient: queueMicrotask };
/** The wire of a half-open connection, which loses all frames. */
export const NOWHERE: Wire = { toServer: () => undefined, toClient: () => undefined };

const STATES = { open: 1, closing: 2, closed: 3 } as const;
/** The code of a connection that ended without a close frame. */
export const LOST = 1006;

/** The object's end. Its attachment outlives an eviction. */
export class ServerSocket {
  readyState: number = STATES.open;
  host: Host | null = null;
  readonly #client: ClientSocket;
  #attachment: unknown = null;

  constructor(client: ClientSocket) {
    this.#client = client;
  }

  send(text: string): void {
    if (this.readyState !== STATES.open) throw new Error("the socket is closed");
    this.#client.observer?.answered(text);
    this.#client.wire.toClient(() => this.#client.received(text));
  }

  /** Closes the socket. The client's answer is the end of the socket. */
  close(code = 1000, reason = ""): void {
    if (this.readyState !== STATES.open) return;
    this.readyState = STATES.closing;
    this.#client.wire.toClient(() => {
      this.#client.ended(code, reason);
      this.#client.wire.toServer(() => this.closed(code, reason));
    });
  }

  /** Ends the connection without a close frame. Calls no method of the object. */
  lose(): void {
    this.readyState = STATES.closed;
    this.#client.wire.toClient(() => this.#client.ended(LOST, ""));
  }

  serializeAttachment(value: unknown): void {
    this.#attachment = structuredClone(value);
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }

  /** Handles a frame that the client sent. */
  take(text: string): void {
    if (this.readyState !== STATES.open) return;
    const auto = this.host?.autoResponse;
    if (auto && auto.request === text) this.#client.wire.toClient(() => this.#client.received(auto.response));
    else this.host?.deliver("webSocketMessage", this, text);
  }

  closed(code: number, reason: string): void {
    if (this.readyState === STATES.closed) return;
    this.readyState = STATES.closed;
    this.host?.deliver("webSocketClose", this, code, reason, code !== LOST);
  }
}

interface ClientListener {
  received: (text: string) => void;
  ended: (code: number, reason: string) => void;
}

/** The client's end. Frames that arrive before `listen` wait. */
export class ClientSocket {
  readonly server = new ServerSocket(this);
  wire: Wire = AT_ONCE;
  /** Called when a frame of the client arrives, and when the object sends one. */
  observer: { sent: (text: string) => void; answered: (text: string) => void } | null = null;
  #listener: ClientListener | null = null;
  readonly #waiting: ((listener: ClientListener) => void)[] = [];
  #isOpen = true;

  listen(listener: ClientListener): void {
    this.#listener = listener;
    for (const each of this.#waiting.splice(0)) each(listener);
  }

  send(text: string): void {
    if (!this.#isOpen) return;
    this.wire.toServer(() => {
      this.observer?.sent(text);
      this.server.take(text);
    });
  }

  /** Sends a ping, which the platform answers. */
  ping(ponged: () => void): void {
    if (this.#isOpen) this.wire.toServer(() => this.wire.toClient(ponged));
  }

  close(code = 1000, reason = ""): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.wire.toServer(() => this.server.closed(code, reason));
  }

  received(text: string): void {
    if (this.#isOpen) this.#notify((listener) => listener.received(text));
  }

  ended(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#notify((listener) => listener.ended(code, reason));
  }

  #notify(act: (listener: ClientListener) => void): void {
    if (this.#listener) act(this.#listener);
    else this.#waiting.push(act);
  }
}

/** The class that workerd has as a global. */
export class WebSocketPair {
  readonly 0: ClientSocket;
  readonly 1: ServerSocket;

  constructor() {
    this[0] = new ClientSocket();
    this[1] = this[0].server;
  }
}

export class WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;

  constructor(request: string, response: string) {
    this.request = request;
    this.response = response;
  }
}
