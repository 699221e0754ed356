// When to look at the fleet again: as soon as its feed tells of something, or every two seconds where there is no feed. What
// has changed is then asked for, by filters that the Worker knows.
import { after, pause } from "../../../node-shim/base/clock.ts";
import type { WorkerConnection } from "../client.ts";
import { feedLine, followFeed, mayFollow } from "../feed-client.ts";

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
