// Opens the feed's sockets, sends changes, creates tickets. A socket's attachment stores its state across evictions.
import { base64url } from "jose";
import * as z from "zod/mini";
import { FEED_CLOSED } from "../../shared/protocol/feed-names.ts";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { PendingMachine } from "../../shared/protocol/operator-answers.ts";
import { after, currentMs } from "../clock.ts";
import { type Environment, registry } from "../env.ts";
import { type Credential, isGood } from "../identity/operator.ts";
import { digestOf } from "../identity/jwt.ts";
import { logFailure } from "../log.ts";
import { cursorText, type FeedCursor, type FeedPart, FeedSource, readCursor } from "./feed-source.ts";
import type { AlarmTask } from "./alarm-tasks.ts";
import type { FleetChange, MachineRows } from "./machine-rows.ts";
import type { Outages } from "./outages.ts";

/** The value of the header FEED_OPENING. The Worker has checked the client's credential, or passes on a ticket. */
export interface FeedOpening {
  /** An earlier version reads an opening with `holder` as an unknown ticket: it would ignore the holder's selector. */
  by: FeedHolder | { ticket: string; holder?: FeedHolder };
  /** The position of a client that resumes; null if the client has no data yet. */
  cursor: string | null;
}
export const FEED_OPENING = "x-rollcall-feed";

/** The reason why no socket is opened, which is the body of the answer. */
export type FeedRefusal = "bad ticket" | "no room";

/** The client's ping and its answer. The runtime answers without waking the object. */
const PING = ["ping", "pong"] as const;

export class Feed {
  readonly #ctx: DurableObjectState;
  readonly #source: FeedSource;
  readonly #feeds: Feeds;

  constructor(ctx: DurableObjectState, env: Environment, rows: MachineRows, outages: Outages) {
    this.#ctx = ctx;
    this.#source = new FeedSource(ctx.storage.sql, rows, outages);
    this.#feeds = new Feeds({
      source: this.#source,
      sockets: () => ctx.getWebSockets().filter(({ readyState }) => readyState === WebSocket.OPEN),
      isGood: ({ credential, selector }) =>
        isGood(credential, selector, env, currentMs(), {
          operatorWith: (sha256) => registry(env).useOperator(sha256, true),
          sessionWith: (id) => registry(env).session(id, true),
        }),
      nowMs: currentMs,
      after: env.timer ?? after,
    });
  }

  /** Records a change for the feeds. Call note in the transaction of the change. */
  note(change: FleetChange): void {
    this.#source.note(change);
  }

  /** Sends changes to the feeds. Call flush after the transaction. A failed sending is repeated at the next change. */
  flush(): void {
    try {
      this.#feeds.flush();
    } catch (error) {
      logFailure({ message: "the feeds could not be told", error: String(error) });
    }
  }

  /** Closes the feeds whose session or feed has reached its end, even if nothing changes. */
  task(): AlarmTask {
    return {
      name: "feeds",
      dueMs: () => this.#feeds.endMs(),
      run: () => {
        this.flush();
      },
    };
  }

  /** Checks the credentials of all feeds now, because one of the credentials may have ended. */
  recheck(): void {
    this.#feeds.recheck();
  }

  setPending(pending: readonly PendingMachine[]): void {
    this.#ctx.storage.transactionSync(() => {
      this.#source.setPending(pending);
    });
    this.flush();
  }

  /** Creates a ticket for a feed; null if too many tickets are unused. */
  ticket(holder: FeedHolder): Promise<{ ticket: string; endsMs: number } | null> {
    return mintTicket(this.#ctx.storage.sql, holder, currentMs());
  }

  /** Returns a response with a socket, or with a FeedRefusal. */
  async open(request: Request): Promise<Response> {
    const { by, cursor } = JSON.parse(request.headers.get(FEED_OPENING) ?? "") as FeedOpening;
    const { sql } = this.#ctx.storage;
    const holder = "ticket" in by ? (by.holder ?? (await redeemTicket(sql, by.ticket, currentMs()))) : by;
    if (!holder) return refusal("bad ticket");
    if (!this.#feeds.hasRoomFor(holder.who)) return refusal("no room");
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(...PING));
    this.#ctx.acceptWebSocket(server);
    this.#feeds.begin(server, holder, cursor === null ? null : readCursor(cursor));
    // The isolate that admitted the client may not know yet that the credential has ended.
    this.#feeds.recheck([server]);
    // The status 101 with `webSocket` is the runtime's way to return a socket.
    return new Response(null, { status: 101, webSocket: client });
  }

  receive(socket: WebSocket, frame: string | ArrayBuffer): void {
    this.#feeds.receive(socket, frame);
  }
}

const refusal = (reason: FeedRefusal) => new Response(reason);

/** The time for which a credential's check is valid: before a later message, the credential is checked again. */
export const FEED_CHECK_MS = 60_000;
/** The deadline of the check of a credential. */
export const FEED_CHECK_WITHIN_MS = 5000;

/** The methods of a WebSocket that Feeds calls. */
export type FeedSocket = Pick<WebSocket, "send" | "close" | "serializeAttachment" | "deserializeAttachment">;

interface FeedState extends FeedHolder {
  openedMs: number;
  /** When the feed's credential was last checked. */
  checkedMs: number;
  /** The cursor of the last message that was sent. */
  cursor: string;
  /** When the last message was sent. */
  sentMs: number;
  /** The cursors of the messages that the client has not acknowledged, oldest first. */
  unacknowledged: string[];
  /** When the wait for the next acknowledgement began. Without meaning if `unacknowledged` is empty. */
  owesMs: number;
  /** true until the client has acknowledged the whole snapshot. */
  isLoading: boolean;
}

interface FeedSurroundings {
  source: Pick<FeedSource, "begin" | "hasNews" | "next">;
  /** Returns the open sockets, including those opened before an eviction. */
  sockets: () => FeedSocket[];
  isGood: (holder: FeedHolder) => Promise<boolean>;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** Calls `work` once after `ms` milliseconds; returns the call's cancellation. Typically `after` of clock.ts. */
  after: (ms: number, work: () => void) => () => void;
}

const frameSchema = z.strictObject({ ack: z.string() });

export class Feeds {
  readonly #in: FeedSurroundings;
  /** Cancels the timer. The timer is set, for at most ten seconds, while a message waits to be sent or acknowledged. */
  #disarm: () => void = () => undefined;
  /** The running check of each socket's credential. */
  readonly #inDoubt = new Map<FeedSocket, object>();
  /** The earliest end of a feed; null without feeds; undefined until the sockets are read. */
  #endMs: number | null | undefined;

  constructor(surroundings: FeedSurroundings) {
    this.#in = surroundings;
  }

  /** Reports whether the operator `who` may open another feed. */
  hasRoomFor(who: string): boolean {
    const sockets = this.#in.sockets();
    const own = sockets.filter((socket) => stateOf(socket).who === who);
    return sockets.length < FEED_LIMITS.feeds && own.length < FEED_LIMITS.feedsOfOperator;
  }

  /** Starts a feed on a new socket. `sockets` must already return the socket. */
  begin(socket: FeedSocket, holder: FeedHolder, asked: FeedCursor | null): void {
    const { hello, cursor } = this.#in.source.begin(asked, holder.selector);
    const nowMs = this.#in.nowMs();
    put(socket, {
      ...holder,
      openedMs: nowMs,
      checkedMs: nowMs,
      cursor: cursorText(cursor),
      sentMs: 0,
      unacknowledged: [],
      owesMs: 0,
      isLoading: cursor.through !== null,
    });
    this.#endMs = undefined;
    socket.send(JSON.stringify(hello));
    this.flush();
  }

  /** Returns the time at which the first feed ends, in milliseconds since 1970; null if there is no feed. */
  endMs(): number | null {
    if (this.#endMs === undefined) {
      const ends = this.#in.sockets().map((socket) => endOf(stateOf(socket)));
      this.#endMs = ends.length > 0 ? Math.min(...ends) : null;
    }
    return this.#endMs;
  }

  /** Checks the credentials of these feeds now. The result of a check that runs already is ignored. */
  recheck(sockets = this.#in.sockets()): void {
    for (const socket of sockets) {
      this.#inDoubt.delete(socket);
      this.#check(socket, stateOf(socket));
    }
  }

  /** Handles an acknowledgement. Any other frame closes the feed. */
  receive(socket: FeedSocket, frame: string | ArrayBuffer): void {
    const state = stateOf(socket);
    const at = state.unacknowledged.indexOf(ackOf(frame) ?? "");
    if (at < 0) {
      close(
        socket,
        FEED_CLOSED.badFrame,
        'expected {"ack": CURSOR} of a message that is not acknowledged yet',
      );
      return;
    }
    const unacknowledged = state.unacknowledged.slice(at + 1);
    const isLoading =
      state.isLoading && (unacknowledged.length > 0 || readCursor(state.cursor).through !== null);
    put(socket, { ...state, unacknowledged, isLoading, owesMs: this.#in.nowMs() });
    this.flush();
  }

  /** Sends each feed its due messages. Call flush after each change of the index, outside the transaction. */
  flush(): void {
    this.#disarm();
    const parts = new Map<string, FeedPart>();
    const due = this.#in.sockets().map((socket) => this.#serve(socket, parts));
    const nextMs = Math.min(...due);
    if (nextMs === Infinity) return;
    this.#disarm = this.#in.after(Math.max(0, nextMs - this.#in.nowMs()), () => {
      this.flush();
    });
  }

  /** Sends one feed's due messages. Returns when the feed is due next; Infinity: at a change or an acknowledgement. */
  #serve(socket: FeedSocket, parts: Map<string, FeedPart>): number {
    const nowMs = this.#in.nowMs();
    const state = stateOf(socket);
    for (;;) {
      const step = this.#stepOf(state, nowMs);
      if (step.kind === "close") {
        this.#endMs = undefined;
        close(socket, step.code, step.reason);
        return Infinity;
      }
      if (step.kind === "check") this.#check(socket, state);
      if (step.kind !== "send") return step.untilMs;
      const { selector = "" } = state;
      const key = `${state.cursor} ${selector}`;
      const part = parts.get(key) ?? this.#in.source.next(readCursor(state.cursor), selector);
      parts.set(key, part);
      const cursor = cursorText(part.cursor);
      if (part.text === null) {
        // Only machines of others have changed. The time of the last message stays, so that nothing shows their changes.
        put(socket, Object.assign(state, { cursor }));
        continue;
      }
      socket.send(part.text);
      if (state.unacknowledged.length === 0) state.owesMs = nowMs;
      state.unacknowledged.push(cursor);
      Object.assign(state, { cursor, sentMs: nowMs });
      put(socket, state);
    }
  }

  #stepOf(state: FeedState, nowMs: number): Step {
    const { unacknowledged, isLoading, owesMs, sentMs } = state;
    if (nowMs >= endOf(state)) return NOT_ALLOWED;
    const owedUntilMs = unacknowledged.length > 0 ? owesMs + FEED_LIMITS.acknowledgedMs : Infinity;
    if (nowMs >= owedUntilMs) return TOO_SLOW;
    const cursor = readCursor(state.cursor);
    if (!this.#in.source.hasNews(cursor)) return { kind: "wait", untilMs: owedUntilMs };
    const isFull = unacknowledged.length >= FEED_LIMITS.unacknowledged;
    // Changes after a snapshot wait until the client has acknowledged the snapshot: its connection may be slow.
    if (isLoading && (isFull || cursor.through === null)) return { kind: "wait", untilMs: owedUntilMs };
    const dueMs = isLoading ? 0 : sentMs + FEED_LIMITS.intervalMs;
    if (nowMs < dueMs) return { kind: "wait", untilMs: Math.min(dueMs, owedUntilMs) };
    if (isFull) return TOO_SLOW;
    const isChecked = nowMs < state.checkedMs + FEED_CHECK_MS;
    return isChecked ? { kind: "send" } : { kind: "check", untilMs: owedUntilMs };
  }

  #check(socket: FeedSocket, holder: FeedHolder): void {
    if (this.#inDoubt.has(socket)) return;
    const check = {};
    this.#inDoubt.set(socket, check);
    const decide = (isGood: boolean | null) => {
      disarm();
      // Another check has begun, or this check has exceeded its deadline: a late result is ignored.
      if (this.#inDoubt.get(socket) !== check) return;
      this.#inDoubt.delete(socket);
      const { code, reason } = isGood === null ? IN_DOUBT : NOT_ALLOWED;
      if (isGood) put(socket, { ...stateOf(socket), checkedMs: this.#in.nowMs() });
      else close(socket, code, reason);
      this.flush();
    };
    const giveUp = () => {
      decide(null);
    };
    const disarm = this.#in.after(FEED_CHECK_WITHIN_MS, giveUp);
    this.#in.isGood(holder).then(decide, giveUp);
  }
}

/** Returns when a feed ends: after its longest life, or with its session or assertion. */
function endOf({ openedMs, endsMs = Infinity, credential }: FeedState): number {
  const untilMs = "untilMs" in credential ? credential.untilMs : endsMs;
  return Math.min(openedMs + 1000 * FEED_LIMITS.lifeSeconds, untilMs);
}

/** One feed's next step. `untilMs`: when to serve the feed again; Infinity: at the next change or acknowledgement. */
type Step =
  | { kind: "wait"; untilMs: number }
  | { kind: "check"; untilMs: number }
  | { kind: "close"; code: number; reason: string }
  | { kind: "send" };

const TOO_SLOW = {
  kind: "close",
  code: FEED_CLOSED.tooSlow,
  reason: "two messages were not acknowledged, or nothing was for ten seconds",
} as const;
const NOT_ALLOWED = {
  kind: "close",
  code: FEED_CLOSED.notAllowed,
  reason: "the credential is not valid any more, or this feed is 12 hours old: open it again",
} as const;
const IN_DOUBT = {
  code: FEED_CLOSED.inDoubt,
  reason: "the credential could not be checked: open it again",
} as const;

/** Returns the cursor that a frame acknowledges; undefined if the frame is no acknowledgement. */
function ackOf(frame: string | ArrayBuffer): string | undefined {
  if (typeof frame !== "string" || frame.length > FEED_LIMITS.frameLength) return undefined;
  try {
    return frameSchema.safeParse(JSON.parse(frame)).data?.ack;
  } catch {
    return undefined;
  }
}

function close(socket: FeedSocket, code: number, reason: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // close() throws if the socket is closed already.
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `put` wrote
const stateOf = (socket: FeedSocket) => socket.deserializeAttachment() as FeedState;
const put = (socket: FeedSocket, state: FeedState) => {
  socket.serializeAttachment(state);
};

/** A client of the feed, with the credential that the Worker checks again while the feed is open. */
export interface FeedHolder {
  who: string;
  credential: Credential;
  /** The label selector of the operator's machines; absent for all machines. */
  selector?: string;
  /** When the session of the credential expires; absent for other credentials. */
  endsMs?: number;
}

/** Reports whether the text has the form of a ticket. Only such texts are looked up in the storage. */
export const isTicket = (text: string) => /^[\w-]{43}$/.test(text);

const SELECTED = "selected ";

/** Creates a ticket, valid once, and stores its hash. Returns null if too many tickets are unused. */
async function mintTicket(
  sql: SqlStorage,
  holder: FeedHolder,
  nowMs: number,
): Promise<{ ticket: string; endsMs: number } | null> {
  const ticket = base64url.encode(crypto.getRandomValues(new Uint8Array(32)));
  // An earlier version would ignore the selector; with the prefix it does not find the ticket.
  const hash = (holder.selector === undefined ? "" : SELECTED) + (await digestOf(ticket));
  sql.exec("DELETE FROM feed_tickets WHERE ends_ms <= ?", nowMs);
  const query = "SELECT COUNT(*) AS out, TOTAL(holder ->> 'who' = ?) AS own FROM feed_tickets";
  const { out, own } = sql.exec<{ out: number; own: number }>(query, holder.who).one();
  if (out >= FEED_LIMITS.tickets || own >= FEED_LIMITS.ticketsOfOperator) return null;
  const endsMs = nowMs + 1000 * FEED_LIMITS.ticketSeconds;
  sql.exec("INSERT INTO feed_tickets VALUES (?, ?, ?)", hash, JSON.stringify(holder), endsMs);
  return { ticket, endsMs };
}

/** Deletes a ticket and returns the client that it was created for; null if the ticket is unknown, used or expired. */
async function redeemTicket(sql: SqlStorage, ticket: string, nowMs: number): Promise<FeedHolder | null> {
  const query = "DELETE FROM feed_tickets WHERE hash IN (?1, ?2 || ?1) RETURNING holder, ends_ms";
  const [row] = sql.exec<{ holder: string; ends_ms: number }>(query, await digestOf(ticket), SELECTED);
  return row && nowMs < row.ends_ms ? (JSON.parse(row.holder) as FeedHolder) : null;
}
