// What all views share, made once and passed by context: where one is, who looks, the fleet, the clock. No view is known here.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { LiveFleet } from "./live/live-fleet.ts";
import { type SessionStore, sessionStore } from "./session/session.ts";
import { type Ask, asker } from "./base/api.ts";
import { every, later, nowMs } from "./base/clock.ts";
import type { KeyBinding } from "./base/keys.ts";
import { type Preferences, preferencesIn } from "./base/preferences.ts";
import { type Places, placesOf } from "./base/places.ts";
import { type Sayings, sayingsOf } from "./base/sayings.ts";
import { leftPlace } from "./base/scrolled.ts";

export interface Page extends Sayings, Places {
  ask: Ask;
  session: SessionStore;
  live: LiveFleet;
  /** Now, in milliseconds since 1970; ticks each second while the page is looked at. */
  clock: ReadonlySignal<number>;
  preferences: Preferences;
  /** The keys of the view that is shown; it sets them. */
  viewKeys: Signal<readonly KeyBinding[]>;
}

const PageContext = createContext<Page | null>(null);
export const PageProvider = PageContext.Provider;

export function usePage(): Page {
  const page = useContext(PageContext);
  if (!page) throw new Error("a view outside of the page");
  return page;
}

const TICK_MS = 1000;
/** So often it is asked whether whoever looks may do so still: a session can be ended elsewhere. */
const SESSION_ASKED_EVERY_MS = 60_000;

/** Made of the browser's own; the first question is who looks. */
export function openPage(window: Window & typeof globalThis): Page {
  const { location, history } = window;
  const clock = signal(nowMs());
  // Who looks is not asked again because that very question was refused.
  const session: SessionStore = sessionStore(asker(window.fetch.bind(window)));
  const ask = asker(window.fetch.bind(window), () => void session.ask());
  const openSocket = (path: string, protocols: string[]) =>
    new WebSocket(`${location.origin.replace(/^http/, "ws")}${path}`, protocols);
  const live = new LiveFleet({
    ask,
    openSocket,
    clock,
    now: nowMs,
    isSeen: () => window.document.visibilityState === "visible",
    random: Math.random,
    later,
  });
  const whileSeen = (act: () => void) => () => {
    if (window.document.visibilityState === "visible") act();
  };
  const tick = () => {
    clock.value = nowMs();
  };
  const askAgain = () => {
    if (session.session.value.kind === "in") void session.ask();
  };
  every(TICK_MS, whileSeen(tick));
  every(SESSION_ASKED_EVERY_MS, whileSeen(askAgain));
  window.document.addEventListener(
    "visibilitychange",
    whileSeen(() => {
      tick();
      askAgain();
      live.wake();
    }),
  );
  window.addEventListener("online", () => live.wake());
  const onPopState = (act: () => void) => window.addEventListener("popstate", act);
  return {
    ...placesOf({ location, history, look: leftPlace, onPopState }),
    ask,
    session,
    live,
    clock,
    preferences: preferencesIn(storageOf(window)),
    viewKeys: signal<readonly KeyBinding[]>([]),
    ...sayingsOf(later),
  };
}

/** A browser that forbids storage throws where it is asked for. */
function storageOf(window: Window): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}
