// The page's end of the feed: keeps one WebSocket open, acknowledges what was taken, and comes back where it stopped. Knows
// no view: what came is told to whoever made it.
import type { FeedMessage, FeedTicket } from "../../../shared/protocol/feed.ts";
import { FEED_CLOSED, FEED_PROTOCOL, TICKET_PROTOCOL } from "../../../shared/protocol/feed-names.ts";
import type { Ask, AskFault } from "../base/api.ts";

/** So often it is asked whether the line is there; the answer costs the Worker nothing. */
export const PING_EVERY_MS = 2000;
/** After so long without a word the fleet on the screen counts as stale. */
export const STALE_AFTER_MS = 5000;
/** After so long without a word the line is given up, and another one opened. */
const DEAD_AFTER_MS = 8000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

export interface FeedClientSurroundings {
  ask: Ask;
  /** Opens a WebSocket to this path of the page's own origin. */
  open: (path: string, protocols: string[]) => WebSocket;
  /** By which the feed goes on; null: it begins anew. */
  cursor: () => string | null;
  /** Acts on a message. Throws where it is none of this protocol: the feed begins anew. */
  take: (message: FeedMessage) => void;
  /** The line works: a message or an answer to a ping came. */
  onProof: (nowMs: number) => void;
  /** The line is gone; null: by itself. */
  onGone: (fault: AskFault | null) => void;
  /** Forget what the feed has told: it begins anew. */
  forget: () => void;
  now: () => number;
  random: () => number;
}

export class FeedClient {
  readonly #around: FeedClientSurroundings;
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pings: ReturnType<typeof setInterval> | undefined;
  #failures = 0;
  #provenMs = 0;
  /** Rises with each attempt, so that what comes late of an earlier one is passed over. */
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

  /** The page is looked at again, or the network is back: no waiting. */
  wake(): void {
    if (this.#isStopped) return;
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#ping();
    this.#failures = 0;
    void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#end();
    const attempt = this.#attempt;
    const { ask, open, cursor } = this.#around;
    const ticket = await ask<FeedTicket>("POST", "/v1/feed/tickets", { withinMs: 8000 });
    if (attempt !== this.#attempt || this.#isStopped) return;
    if (!ticket.ok) {
      this.#around.onGone(ticket.error);
      return this.#later();
    }
    const from = cursor();
    const path = from === null ? "/v1/feed" : `/v1/feed?cursor=${encodeURIComponent(from)}`;
    const socket = open(path, [FEED_PROTOCOL, TICKET_PROTOCOL + ticket.value.ticket]);
    this.#socket = socket;
    this.#provenMs = this.#around.now();
    const current = (act: () => void) => () => {
      if (attempt === this.#attempt) act();
    };
    socket.addEventListener(
      "open",
      current(() => this.#proven()),
    );
    socket.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      if (attempt === this.#attempt) this.#receive(socket, data);
    });
    socket.addEventListener("close", ({ code }) => current(() => this.#closed(code))());
    this.#pings = setInterval(
      current(() => this.#ping()),
      PING_EVERY_MS,
    );
  }

  #receive(socket: WebSocket, data: unknown): void {
    this.#proven();
    if (typeof data !== "string" || data === "pong") return;
    try {
      const message = JSON.parse(data) as FeedMessage;
      this.#around.take(message);
      this.#failures = 0;
      if ("cursor" in message) socket.send(JSON.stringify({ ack: message.cursor }));
    } catch (error) {
      console.warn("the feed begins anew:", error);
      this.#around.forget();
      this.#around.onGone(null);
      this.#end();
      this.#later();
    }
  }

  #ping(): void {
    if (document.visibilityState === "hidden") return;
    if (this.#around.now() - this.#provenMs > DEAD_AFTER_MS) return this.#closed(0);
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send("ping");
  }

  #proven(): void {
    this.#provenMs = this.#around.now();
    this.#around.onProof(this.#provenMs);
  }

  #closed(code: number): void {
    this.#end();
    const why = code === FEED_CLOSED.notAllowed ? NOT_ALLOWED : null;
    this.#around.onGone(why);
    this.#later();
  }

  /** Waits grow, and are random: pages do not come back all at once. */
  #later(): void {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 10);
    this.#timer = setTimeout(() => void this.#connect(), longest * (0.5 + this.#around.random() / 2));
  }

  #end(): void {
    this.#attempt += 1;
    clearTimeout(this.#timer);
    clearInterval(this.#pings);
    this.#socket?.close();
    this.#socket = undefined;
  }
}

const NOT_ALLOWED: AskFault = {
  reason: "forbidden",
  message: "the session is not good any more",
  status: 403,
};
