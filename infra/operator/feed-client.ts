// Follows the feed: keeps a view of the fleet by it, acknowledges what it has taken in, and comes back by its cursor when
// the line is gone. Prints nothing. Node's own WebSocket (from Node 22 on) carries it, since it takes headers, as
// Cloudflare Access wants them, and is no dependency; on Node 20 there is none, and whoever calls this asks again and again instead.
import { abortAfter, after, pause } from "../../node-shim/base/clock.ts";
import { type FeedUpdate, FeedView } from "../../shared/fleet/feed-view.ts";
import { FEED_CLOSED, FEED_PROTOCOL } from "../../shared/protocol/feed-names.ts";
import type { FeedMessage } from "../../shared/protocol/feed.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { WorkerConnection } from "./client.ts";

/** A WebSocket as the platform has it, as far as a feed needs it. */
export interface FeedLine {
  send: (text: string) => void;
  close: () => void;
  /** Calls back with each text, and once when it is closed: with 1006 where it never opened. */
  listen: (onText: (text: string) => void, onClose: (code: number, reason: string) => void) => void;
}

export interface Following {
  /** Typically feedLine of a connection. `cursor`: null: nothing is known. */
  open: (cursor: string | null) => FeedLine;
  /** What a line cannot say: why it does not open. A failure ends it all. */
  mayOpen: () => Promise<Result<null>>;
  /** The line is open: what the fleet is like is known, or told next. */
  onOpen?: () => void;
  onUpdate: (view: FeedView, update: FeedUpdate) => void;
  /** The line is gone, and how long until it is tried again. */
  onGone?: (why: string, againMs: number) => void;
  /** Ends it, with success. */
  signal: AbortSignal;
  /** Typically Math.random. */
  random: () => number;
  /** Typically a timer that the signal ends. */
  wait: (ms: number) => Promise<void>;
  /** Calls back after a while, and returns what ends that; typically `after` of node-shim/base/clock.ts. */
  after: (ms: number, work: () => void) => () => void;
}

/** From one attempt to the next: at random up to a bound that doubles with each. */
export const AGAIN_MS = { first: 1000, most: 30_000 } as const;

/** A line on which nothing has come for so long is asked, and is gone where it does not answer for as long again. */
export const QUIET_MS = 30_000;

/** Follows until the signal ends it. The error: the Worker does not let us. */
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
    const againMs = Math.round(random() * Math.min(AGAIN_MS.most, AGAIN_MS.first * 2 ** attempts++));
    onGone?.(end, againMs);
    await wait(againMs);
  }
  return success(view);
}

/** Returns why it is over. */
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
        // What it had is not what the Worker thinks it had.
        if (code === FEED_CLOSED.badFrame) view.cursor = null;
        end(reason === "" ? `closed with ${code}` : reason);
      },
    );
  });
}

/** The line to a Worker: its origin, and who asks. The error: this Node has no WebSocket. */
export function feedLine(
  { url, headers }: { url: string; headers: Record<string, string> },
  cursor: string | null,
): FeedLine {
  const query = cursor === null ? "" : `?cursor=${encodeURIComponent(cursor)}`;
  const address = `${url.replace(/^http/, "ws")}/v1/feed${query}`;
  const socket = new WebSocket(address, { headers, protocols: [FEED_PROTOCOL] });
  return {
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    close: () => {
      socket.close();
    },
    listen: (onText, onClose) => {
      socket.addEventListener("message", ({ data }) => {
        onText(String(data));
      });
      socket.addEventListener("close", ({ code, reason }) => {
        onClose(code, reason);
      });
    },
  };
}

/** False: on Node 20 and older. */
export const canFollow = () => typeof globalThis.WebSocket === "function";

/** Asks over HTTP whether a feed would open, for the status that a WebSocket does not tell. What cannot be asked may be well later. */
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
      signal: abortAfter(30_000),
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
  /** Resolves when something may have changed, or after so many milliseconds. */
  next: (mostMs: number) => Promise<void>;
  end: () => void;
}

/** What is noticed is shown within two seconds. */
const LOOK_EVERY_MS = 2000;
/** Of a feed on which nothing has come: it may be a line that nobody has seen break. */
const LOOK_ANYHOW_MS = 60_000;

/** `pause` is typically a timer. */
export const polledChanges = (pause: (ms: number) => Promise<void>): FleetChanges => ({
  next: (mostMs) => pause(Math.min(mostMs, LOOK_EVERY_MS)),
  end: () => undefined,
});

/** While the feed is open and nothing happens, the Worker is asked nothing. Call it where there are WebSockets (canFollow). */
export function fedChanges(connection: WorkerConnection): FleetChanges {
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
    open: (cursor) => feedLine(connection, cursor),
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
      if (!isNew) await waitFor(Math.min(mostMs, isOpen ? LOOK_ANYHOW_MS : LOOK_EVERY_MS));
      isNew = false;
    },
    end: () => ended.abort(),
  };
}
