// Follows the Worker's feed: keeps a view of the fleet, acknowledges each message, and reconnects with the view's
// cursor. Uses the library ws, which can bound a message before the whole message has arrived.
import { WebSocket } from "ws";
import { abortAfter, after, pause } from "../../node-shim/base/clock.ts";
import { backOff } from "../../shared/back-off.ts";
import { type FeedUpdate, FeedView } from "../../shared/fleet/feed-view.ts";
import { FEED_CLOSED, FEED_PROTOCOL } from "../../shared/protocol/feed-names.ts";
import { FEED_LIMITS } from "../../shared/protocol/limits.ts";
import type { FeedMessage } from "../../shared/protocol/feed.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { WorkerConnection } from "./client.ts";

/** The functions of a WebSocket that a feed uses. */
export interface FeedLine {
  send: (text: string) => void;
  close: () => void;
  /** Calls `onText` with each text, and `onClose` once; the code is 1006 if the WebSocket never opened. */
  listen: (onText: (text: string) => void, onClose: (code: number, reason: string) => void) => void;
}

export interface Following {
  /** Opens a WebSocket, typically with feedLine. `cursor` is null for the first WebSocket. */
  open: (cursor: string | null) => FeedLine;
  /** Asks over HTTP whether the Worker would open the feed: a WebSocket has no status. An error ends followFeed. */
  mayOpen: () => Promise<Result<null>>;
  /** Called when the WebSocket has opened. The view is current, or becomes so with the next message. */
  onOpen?: () => void;
  onUpdate: (view: FeedView, update: FeedUpdate) => void;
  /** Called when the WebSocket has closed. followFeed reconnects after `againMs` milliseconds. */
  onGone?: (why: string, againMs: number) => void;
  /** Ends followFeed, which then returns a success. */
  signal: AbortSignal;
  /** Returns a random number from 0 up to 1. Typically Math.random. */
  random: () => number;
  /** Waits for `ms` milliseconds. Typically a timer that the signal cancels. */
  wait: (ms: number) => Promise<void>;
  /** Calls `work` after `ms` milliseconds; returns a function that cancels. Typically `after` of base/clock.ts. */
  after: (ms: number, work: () => void) => () => void;
}

/** The bounds of the random delay before the next WebSocket: the bound doubles from `first` up to `most`. */
export const AGAIN_MS = { first: 1000, most: 30_000 } as const;

/** Milliseconds without a message until a ping is sent, and then without an answer until the WebSocket closes. */
export const QUIET_MS = 30_000;
/** Milliseconds within which a WebSocket must open. */
const OPENS_WITHIN_MS = 30_000;
/** The limit in milliseconds for the Worker to end a connection that this side has closed. */
const ENDS_WITHIN_MS = 1000;

/** Follows the feed until the signal ends it. Returns an error if the Worker refuses the feed. */
export async function followFeed(following: Following): Promise<Result<FeedView>> {
  const { signal, onGone, random, wait } = following;
  const view = new FeedView();
  let attempts = 0;
  while (!signal.aborted) {
    const end = await followLine(following, view, () => {
      attempts = 0;
      following.onOpen?.();
    });
    if (signal.aborted) break;
    const may = await following.mayOpen();
    if (!may.ok) return may;
    const againMs = Math.round(random() * backOff(++attempts, AGAIN_MS.first, AGAIN_MS.most));
    onGone?.(end, againMs);
    await wait(againMs);
  }
  return success(view);
}

/** Follows one WebSocket to its end. Resolves with the reason of the end. */
function followLine(
  { open, onUpdate, signal, after }: Following,
  view: FeedView,
  onHello: () => void,
): Promise<string> {
  return new Promise((resolve) => {
    const line = open(view.cursor);
    let isOver = false;
    let disarm = () => {};
    const end = (why: string) => {
      if (isOver) return;
      isOver = true;
      disarm();
      signal.removeEventListener("abort", stop);
      line.close();
      resolve(why);
    };
    const stop = () => {
      end("stopped");
    };
    const arm = (work: () => void) => {
      disarm();
      disarm = after(QUIET_MS, work);
    };
    const ask = () => {
      line.send("ping");
      arm(() => {
        end("the line is dead");
      });
    };
    const take = (text: string) => {
      if (text === "pong") return;
      const message = JSON.parse(text) as FeedMessage;
      if (message.type === "hello") onHello();
      const update = view.take(message);
      if (message.type === "hello") return;
      onUpdate(view, update);
      line.send(JSON.stringify({ ack: message.cursor }));
    };
    signal.addEventListener("abort", stop);
    arm(ask);
    line.listen(
      (text) => {
        if (isOver) return;
        arm(ask);
        try {
          take(text);
        } catch (error) {
          view.cursor = null;
          end(`not understood: ${String(error)}`);
        }
      },
      (code, reason) => {
        // The Worker could not use the view's cursor, so the next WebSocket begins without one.
        if (code === FEED_CLOSED.badFrame) view.cursor = null;
        end(reason === "" ? `closed with ${code}` : reason);
      },
    );
  });
}

/** Opens a WebSocket to the feed of a Worker. A message of more than FEED_LIMITS.messageBytes ends the WebSocket. */
export function feedLine(
  { url, headers }: { url: string; headers: Record<string, string> },
  cursor: string | null,
): FeedLine {
  const query = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const address = `${url.replace(/^http/, "ws")}/v1/feed${query}`;
  const limits = { maxPayload: FEED_LIMITS.messageBytes, handshakeTimeout: OPENS_WITHIN_MS };
  const socket = new WebSocket(address, FEED_PROTOCOL, { headers, ...limits });
  // `onClose` is called after each error as well.
  socket.on("error", () => undefined);
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => {
      socket.close();
      after(ENDS_WITHIN_MS, () => socket.terminate(), { ref: false });
    },
    listen: (onText, onClose) => {
      socket.on("message", (data: Buffer) => {
        onText(data.toString());
      });
      socket.on("close", (code, reason) => {
        onClose(code, reason.toString());
      });
    },
  };
}

/** Asks whether the Worker would open its feed. A failed request is a yes: the Worker may answer later. */
async function mayFollow({
  url,
  headers,
}: {
  url: string;
  headers: Record<string, string>;
}): Promise<Result<null>> {
  try {
    const response = await fetch(`${url}/v1/feed`, {
      headers,
      redirect: "manual",
      signal: abortAfter(OPENS_WITHIN_MS),
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 426 || status === 429 || status >= 500) return success(null);
    return failure(`${url} does not let us follow its feed (HTTP ${status})`);
  } catch {
    return success(null);
  }
}

export interface FleetChanges {
  /** Resolves when the fleet may have changed, or after `mostMs` milliseconds. */
  next: (mostMs: number) => Promise<void>;
  end: () => void;
}

/** Milliseconds between two requests without a feed. */
const POLL_MS = 2000;
/** Milliseconds between two requests while the feed is open but reports nothing. The connection may be broken. */
const POLL_WITH_FEED_MS = 60_000;

/** Returns changes from the feed. Without changes, commands send no request. */
export function fedChanges(connection: WorkerConnection, open: typeof feedLine = feedLine): FleetChanges {
  const ended = new AbortController();
  const { signal } = ended;
  let isOpen = false;
  let isNew = false;
  let wake = () => {};
  const waitFor = (ms: number) =>
    new Promise<void>((resolve) => {
      const done = () => {
        disarm();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const disarm = after(ms, done);
      signal.addEventListener("abort", done);
      wake = done;
    });
  const noteNews = (opened: boolean) => {
    [isOpen, isNew] = [opened, true];
    wake();
  };
  void followFeed({
    open: (cursor) => open(connection, cursor),
    mayOpen: () => mayFollow(connection),
    onOpen: () => noteNews(true),
    onUpdate: () => noteNews(true),
    onGone: () => noteNews(false),
    signal,
    random: Math.random,
    wait: pause,
    after,
  }).then(() => noteNews(false));
  return {
    next: async (mostMs) => {
      if (!isNew) await waitFor(Math.min(mostMs, isOpen ? POLL_WITH_FEED_MS : POLL_MS));
      isNew = false;
    },
    end: () => ended.abort(),
  };
}
