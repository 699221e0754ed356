// The open feeds: who is sent what when, and who is closed. What a feed has got is in its socket's attachment, which
// outlives an eviction, so that a feed on which nothing happens costs nothing. What there is to say the source knows.
import * as z from "zod/mini";
import { FEED_CLOSED } from "../../shared/protocol/feed-names.ts";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { Credential } from "../identity/operator.ts";
import { cursorText, type FeedCursor, readCursor } from "./feed-cursor.ts";
import type { FeedPart, FeedSource } from "./feed-source.ts";
import type { FeedHolder } from "./feed-tickets.ts";

/** How often a credential is looked at again, at most, and only before a message. */
export const FEED_CHECK_MS = 60_000;
/** How long that may take. */
export const FEED_CHECK_WITHIN_MS = 5000;

/** A WebSocket, as far as feeds need it. */
export type FeedSocket = Pick<WebSocket, "send" | "close" | "serializeAttachment" | "deserializeAttachment">;

interface FeedState extends FeedHolder {
  openedMs: number;
  /** When the credential was looked at. */
  checkedMs: number;
  /** Of the last message. */
  cursor: string;
  /** When that was sent. */
  sentMs: number;
  /** Cursors, oldest first. */
  unacknowledged: string[];
  /** Since when the client owes an acknowledgement, if it does: it has sent none since then. */
  owesMs: number;
  /** Not all of the snapshot is acknowledged. */
  isLoading: boolean;
}

export interface FeedSurroundings {
  source: Pick<FeedSource, "begin" | "hasNews" | "next">;
  /** The open ones, after an eviction as well. */
  sockets: () => FeedSocket[];
  isGood: (credential: Credential) => Promise<boolean>;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically `after` of clock.ts; calls back once, and returns what ends it. */
  after: (ms: number, work: () => void) => () => void;
}

const frameSchema = z.strictObject({ ack: z.string() });

export class Feeds {
  readonly #in: FeedSurroundings;
  /** Ends the timer. There is one while a message waits to be sent or acknowledged, for ten seconds at most. */
  #disarm: () => void = () => undefined;
  /** Those whose credential is being looked at. */
  readonly #inDoubt = new Set<FeedSocket>();

  constructor(surroundings: FeedSurroundings) {
    this.#in = surroundings;
  }

  /** Is there room for another one of this operator? */
  hasRoomFor(who: string): boolean {
    const sockets = this.#in.sockets();
    const own = sockets.filter((socket) => stateOf(socket).who === who);
    return sockets.length < FEED_LIMITS.feeds && own.length < FEED_LIMITS.feedsOfOperator;
  }

  /** `socket` is one of `sockets` by now, and new. */
  begin(socket: FeedSocket, { who, credential }: FeedHolder, asked: FeedCursor | null): void {
    const { hello, cursor } = this.#in.source.begin(asked);
    const nowMs = this.#in.nowMs();
    put(socket, {
      who,
      credential,
      openedMs: nowMs,
      checkedMs: nowMs,
      cursor: cursorText(cursor),
      sentMs: 0,
      unacknowledged: [],
      owesMs: 0,
      isLoading: cursor.through !== null,
    });
    socket.send(JSON.stringify(hello));
    this.flush();
  }

  /** Takes an acknowledgement; whatever else it is closes the feed. */
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

  /** Sends what is due. Call it after each change of the index, outside of its transaction. */
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

  /** Returns when to look again; Infinity: when something happens. */
  #serve(socket: FeedSocket, parts: Map<string, FeedPart>): number {
    const nowMs = this.#in.nowMs();
    const state = stateOf(socket);
    for (;;) {
      const step = this.#stepOf(state, nowMs);
      if (step.kind === "close") {
        close(socket, step.code, step.reason);
        return Infinity;
      }
      if (step.kind === "check") this.#check(socket, state.credential);
      if (step.kind !== "send") return step.untilMs;
      const part = parts.get(state.cursor) ?? this.#in.source.next(readCursor(state.cursor));
      parts.set(state.cursor, part);
      socket.send(part.text);
      const cursor = cursorText(part.cursor);
      if (state.unacknowledged.length === 0) state.owesMs = nowMs;
      state.unacknowledged.push(cursor);
      Object.assign(state, { cursor, sentMs: nowMs });
      put(socket, state);
    }
  }

  #stepOf(state: FeedState, nowMs: number): Step {
    const { unacknowledged, isLoading, owesMs, sentMs } = state;
    const owedUntilMs = unacknowledged.length > 0 ? owesMs + FEED_LIMITS.acknowledgedMs : Infinity;
    if (nowMs >= owedUntilMs) return TOO_SLOW;
    const cursor = readCursor(state.cursor);
    if (!this.#in.source.hasNews(cursor)) return { kind: "wait", untilMs: owedUntilMs };
    const isFull = unacknowledged.length >= FEED_LIMITS.unacknowledged;
    // What comes behind a snapshot waits until the client has all of it: on a slow line that takes its time.
    if (isLoading && (isFull || (cursor.through === null && unacknowledged.length > 0)))
      return { kind: "wait", untilMs: owedUntilMs };
    const dueMs = isLoading ? 0 : sentMs + FEED_LIMITS.intervalMs;
    if (nowMs < dueMs) return { kind: "wait", untilMs: Math.min(dueMs, owedUntilMs) };
    if (isFull) return TOO_SLOW;
    if (nowMs >= state.openedMs + 1000 * FEED_LIMITS.lifeSeconds) return NOT_ALLOWED;
    const isChecked = nowMs < state.checkedMs + FEED_CHECK_MS;
    return isChecked ? { kind: "send" } : { kind: "check", untilMs: owedUntilMs };
  }

  #check(socket: FeedSocket, credential: Credential): void {
    if (this.#inDoubt.has(socket)) return;
    this.#inDoubt.add(socket);
    const decide = (isGood: boolean | null) => {
      disarm();
      // An answer that came too late decides nothing.
      if (!this.#inDoubt.delete(socket)) return;
      const { code, reason } = isGood === null ? IN_DOUBT : NOT_ALLOWED;
      if (isGood) put(socket, { ...stateOf(socket), checkedMs: this.#in.nowMs() });
      else close(socket, code, reason);
      this.flush();
    };
    const giveUp = () => {
      decide(null);
    };
    const disarm = this.#in.after(FEED_CHECK_WITHIN_MS, giveUp);
    this.#in.isGood(credential).then(decide, giveUp);
  }
}

/** `untilMs`: when to look again; Infinity: when something happens. */
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
  reason: "the credential is not good any more, or this feed is 12 hours old: open it again",
} as const;
const IN_DOUBT = {
  code: FEED_CLOSED.inDoubt,
  reason: "the credential could not be looked at: open it again",
} as const;

/** undefined: it is no acknowledgement. */
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
    // It is closed.
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what `put` wrote
const stateOf = (socket: FeedSocket) => socket.deserializeAttachment() as FeedState;
const put = (socket: FeedSocket, state: FeedState) => {
  socket.serializeAttachment(state);
};
