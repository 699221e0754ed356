// The feed as a whole, for the index's object: opens sockets, has changes told, and mints tickets. Decides nothing.
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { type Environment, registry } from "../env.ts";
import { isGood } from "../identity/operator.ts";
import { readCursor } from "./feed-cursor.ts";
import { FeedSource } from "./feed-source.ts";
import { type FeedHolder, FeedTickets } from "./feed-tickets.ts";
import { Feeds } from "./feeds.ts";
import type { FleetChange, MachineRows } from "./machine-rows.ts";
import type { Outages } from "./outages.ts";
import { logFailure } from "../log.ts";
import { after, currentMs } from "../clock.ts";

/** What a request to open a feed says, in the header of this name: the Worker has let its sender in, or has a ticket. */
export interface FeedOpening {
  by: FeedHolder | { ticket: string };
  /** null: the client has nothing. */
  cursor: string | null;
}
export const FEED_OPENING = "x-rollcall-feed";

/** The body of an answer that is no socket. */
export type FeedRefusal = "bad ticket" | "no room";

/** Answers to pings, so that the object is not woken. */
const PING = ["ping", "pong"] as const;

export class Feed {
  readonly #ctx: DurableObjectState;
  readonly #source: FeedSource;
  readonly #tickets: FeedTickets;
  readonly #feeds: Feeds;

  constructor(ctx: DurableObjectState, env: Environment, rows: MachineRows, outages: Outages) {
    this.#ctx = ctx;
    this.#source = new FeedSource(ctx.storage.sql, rows, outages);
    this.#tickets = new FeedTickets(ctx.storage.sql);
    this.#feeds = new Feeds({
      source: this.#source,
      sockets: () => ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN),
      isGood: (credential) =>
        isGood(credential, env, currentMs(), {
          operatorWith: (sha256) => registry(env).useOperator(sha256),
          sessionWith: (id) => registry(env).session(id),
        }),
      nowMs: currentMs,
      after,
    });
  }

  /** In the transaction of the change. */
  note(change: FleetChange): void {
    this.#source.note(change);
  }

  /** Behind it: has the feeds told. What fails here has changed nothing, and is told with the next change. */
  told(): void {
    try {
      this.#feeds.flush();
    } catch (error) {
      logFailure({ message: "the feeds could not be told", error: String(error) });
    }
  }

  setPending(pending: readonly PendingMachine[]): void {
    this.#ctx.storage.transactionSync(() => {
      this.#source.setPending(pending);
    });
    this.told();
  }

  /** null: too many are out. */
  ticket(holder: FeedHolder): Promise<{ ticket: string; endsMs: number } | null> {
    return this.#tickets.mint(holder, currentMs());
  }

  /** A response with a socket, or else with a FeedRefusal. */
  async open(request: Request): Promise<Response> {
    const { by, cursor } = JSON.parse(request.headers.get(FEED_OPENING) ?? "") as FeedOpening;
    const holder = "ticket" in by ? await this.#tickets.redeem(by.ticket, currentMs()) : by;
    if (!holder) return refusal("bad ticket");
    if (!this.#feeds.hasRoomFor(holder.who)) return refusal("no room");
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(...PING));
    this.#ctx.acceptWebSocket(server);
    this.#feeds.begin(server, holder, cursor === null ? null : readCursor(cursor));
    // The runtime's way to hand a socket over.
    return new Response(null, { status: 101, webSocket: client });
  }

  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#feeds.receive(socket, frame);
  }
}

const refusal = (reason: FeedRefusal) => new Response(reason);
