// Receives the feed: keeps one WebSocket open, acknowledges messages, and resumes at the last message.
import { backOff } from "../../../shared/back-off.ts";
import { FEED_CLOSED, FEED_PROTOCOL, TICKET_PROTOCOL } from "../../../shared/protocol/feed-names.ts";
import type { FeedMessage, FeedTicket } from "../../../shared/protocol/feed.ts";
import type { SendRequest, RequestFault } from "../base/api.ts";

/** Milliseconds between two pings. The answers to pings cost the Worker nothing. */
export const PING_EVERY_MS = 2000;
/** Milliseconds without a message until the client opens another WebSocket. */
export const DEAD_AFTER_MS = 8000;
export const FEED_WAITS = { firstMs: 500, longestMs: 30_000 } as const;
/** Milliseconds for which a WebSocket must have worked to reset the back-off. */
export const STEADY_AFTER_MS = 10_000;
const TICKET_WITHIN_MS = 8000;

export type PageSocket = Pick<WebSocket, "readyState" | "send" | "close"> & {
  addEventListener: (type: "open" | "message" | "close", listen: (event: PageSocketEvent) => void) => void;
};
export interface PageSocketEvent {
  data?: unknown;
  code?: number;
}
/** The readyState of an open WebSocket (WebSocket.OPEN). */
const OPEN = 1;

export interface FeedClientSurroundings {
  ask: SendRequest;
  /** Opens a WebSocket to this path of the page's own origin. */
  open: (path: string, protocols: string[]) => PageSocket;
  /** Returns the cursor to resume from, or null to receive the whole fleet. */
  cursor: () => string | null;
  /** Processes a message. If it throws, the feed begins again with the whole fleet. */
  take: (message: FeedMessage) => void;
  /** Called when a message or the answer to a ping arrives, which proves that the connection works. */
  onProof: (nowMs: number) => void;
  /** Called when the connection ends, with the error if one is known. */
  onGone: (fault: RequestFault | null) => void;
  /** Called when the Worker refuses the cursor. */
  forget: () => void;
  /** Returns true if the page is visible. A hidden page sends no pings. */
  isSeen: () => boolean;
  now: () => number;
  random: () => number;
  /** Calls `act` once after `ms` milliseconds; returns a function that cancels. Typically `later` of clock.ts. */
  later: (act: () => void, ms: number) => () => void;
}

export class FeedClient {
  readonly #around: FeedClientSurroundings;
  #socket: PageSocket | undefined;
  #callOff = () => {};
  #failures = 0;
  #openedMs = 0;
  #provenMs = 0;
  /** The number of the connection attempt, so that late events of earlier connections are ignored. */
  #attempt = 0;
  #isStopped = true;

  constructor(around: FeedClientSurroundings) {
    this.#around = around;
  }

  start(): void {
    this.#isStopped = false;
    void this.#connect();
  }

  stop(): void {
    this.#isStopped = true;
    this.#end();
  }

  /** Connects at once, because the page is visible again or the network is back. */
  wake(): void {
    if (this.#isStopped) return;
    this.#failures = 0;
    if (this.#socket?.readyState !== OPEN) return void this.#connect();
    // A hidden page sends no pings, so the time limit for an answer begins now.
    this.#provenMs = this.#around.now();
    this.#socket.send("ping");
  }

  async #connect(): Promise<void> {
    this.#end();
    const attempt = this.#attempt;
    const { ask, open, cursor, now } = this.#around;
    const ticket = await ask<FeedTicket>("POST", "/v1/feed/tickets", { withinMs: TICKET_WITHIN_MS });
    if (attempt !== this.#attempt) return;
    if (!ticket.ok) return this.#gone(ticket.error);
    const from = cursor();
    const path = from === null ? "/v1/feed" : `/v1/feed?cursor=${encodeURIComponent(from)}`;
    const socket = open(path, [FEED_PROTOCOL, TICKET_PROTOCOL + ticket.value.ticket]);
    this.#socket = socket;
    this.#openedMs = this.#provenMs = now();
    const listen = (type: "open" | "message" | "close", act: (event: PageSocketEvent) => void) =>
      socket.addEventListener(type, (event) => {
        if (attempt === this.#attempt) act(event);
      });
    listen("open", () => this.#proven());
    listen("message", ({ data }) => this.#receive(socket, data));
    listen("close", ({ code }) => this.#gone(code === FEED_CLOSED.notAllowed ? NOT_ALLOWED : null));
    this.#pingLater();
  }

  #receive(socket: PageSocket, data: unknown): void {
    this.#proven();
    if (typeof data !== "string" || data === "pong") return;
    try {
      const message = JSON.parse(data) as FeedMessage;
      this.#around.take(message);
      if ("cursor" in message) socket.send(JSON.stringify({ ack: message.cursor }));
    } catch (error) {
      console.warn("the feed starts over:", error);
      this.#around.forget();
      this.#gone(NOT_READ);
    }
  }

  #pingLater(): void {
    this.#callOff = this.#around.later(() => {
      const isDead = this.#around.now() - this.#provenMs > DEAD_AFTER_MS;
      if (this.#around.isSeen() && isDead) return this.#gone(null);
      if (this.#around.isSeen() && this.#socket?.readyState === OPEN) this.#socket.send("ping");
      this.#pingLater();
    }, PING_EVERY_MS);
  }

  #proven(): void {
    this.#provenMs = this.#around.now();
    if (this.#provenMs - this.#openedMs >= STEADY_AFTER_MS) this.#failures = 0;
    this.#around.onProof(this.#provenMs);
  }

  /** The waits are random and grow, so that not all pages reconnect at once. */
  #gone(fault: RequestFault | null): void {
    this.#end();
    this.#around.onGone(fault);
    const { firstMs, longestMs } = FEED_WAITS;
    this.#failures += 1;
    const longest = backOff(this.#failures, firstMs, longestMs);
    this.#callOff = this.#around.later(
      () => void this.#connect(),
      longest * (0.5 + this.#around.random() / 2),
    );
  }

  #end(): void {
    this.#attempt += 1;
    this.#callOff();
    this.#socket?.close();
    this.#socket = undefined;
  }
}

const NOT_READ: RequestFault = {
  reason: "unexpected",
  message: "its message cannot be read (if this does not pass, reload the page: it may be an old one)",
  status: 0,
};
const NOT_ALLOWED: RequestFault = { reason: "forbidden", message: "the session has ended", status: 403 };
