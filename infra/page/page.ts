// Provides the views' shared state as a context: place, operator, fleet, clock, preferences and messages.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type OpenRequest, requestOpener, type SendRequest, requestSender } from "./base/api.ts";
import { every, later, nowMs } from "./base/clock.ts";
import type { KeyBinding } from "./base/keys.ts";
import { leftPlace, type Places, placesOf, unknownView } from "./base/places.ts";
import { LiveFleet } from "./live/live-fleet.ts";
import { type SessionStore, sessionStore } from "./live/session.ts";

interface Page extends Messages, Places {
  ask: SendRequest;
  /** Sends a request whose answer comes part by part. */
  open: OpenRequest;
  session: SessionStore;
  live: LiveFleet;
  /** The present time in milliseconds since 1970, which changes each second while the page is visible. */
  clock: ReadonlySignal<number>;
  preferences: ReturnType<typeof preferencesIn>;
  /** The shortcuts of the shown view, which the view sets. */
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
/** Milliseconds between two checks that the session still exists: another browser may have ended it. */
const SESSION_REFRESH_MS = 60_000;

/** Makes the shared state for the browser's window. The session is read in the first request. */
export function openPage(window: Window & typeof globalThis): Page {
  const { location, history } = window;
  const clock = signal(nowMs());
  // The session store has its own sender: a refused request for the session must not cause another one.
  const fetch = window.fetch.bind(window);
  const session: SessionStore = sessionStore(requestSender(requestOpener(fetch)), nowMs);
  const open = requestOpener(fetch, () => void session.refresh());
  const ask = requestSender(open);
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
  const refreshSession = () => {
    if (session.session.value.kind === "in") void session.refresh();
  };
  every(TICK_MS, whileSeen(tick));
  every(SESSION_REFRESH_MS, whileSeen(refreshSession));
  window.document.addEventListener(
    "visibilitychange",
    whileSeen(() => {
      tick();
      refreshSession();
      live.wake();
    }),
  );
  window.addEventListener("online", () => live.wake());
  const onPopState = (act: () => void) => window.addEventListener("popstate", act);
  const messages = messagesOf(later);
  const unknown = unknownView(location.search);
  if (unknown !== null) messages.notify(`There is no view “${unknown}”: this is the fleet.`, "fault");
  return {
    ...placesOf({ location, history, readPlace: leftPlace, onPopState }),
    ask,
    open,
    session,
    live,
    clock,
    preferences: preferencesIn(storageOf(window)),
    viewKeys: signal<readonly KeyBinding[]>([]),
    ...messages,
  };
}

/** Returns the browser's storage, or undefined: a browser that forbids storage throws when the property is read. */
function storageOf(window: Window): Storage | undefined {
  try {
    return window.localStorage;
  } catch {
    return undefined;
  }
}

export const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const PREFIX = "rollcall.";

/** Returns this browser's preferences. Without `storage`, they last as long as the page. */
function preferencesIn(storage: Pick<Storage, "getItem" | "setItem"> | undefined) {
  const kept = new Map<string, string>();
  const get = (name: string) => {
    try {
      return kept.get(name) ?? storage?.getItem(PREFIX + name) ?? null;
    } catch {
      return null;
    }
  };
  const set = (name: string, text: string) => {
    kept.set(name, text);
    try {
      storage?.setItem(PREFIX + name, text);
    } catch {
      // The storage is full or forbidden, so the preference lasts as long as the page.
    }
  };
  const theme = signal<Theme>(THEMES.find((each) => each === get("theme")) ?? "system");
  return { theme, get, set };
}

/** A line about an action. A success disappears after a while; a fault stays until the operator closes it. */
type Message = { id: number; text: string; isFault: boolean };

interface Messages {
  messages: ReadonlySignal<readonly Message[]>;
  notify: (text: string, how?: "fault") => void;
  dismiss: (id: number) => void;
}

const SHOWN_FOR_MS = 6000;
/** The number of messages on the screen at most. */
const AT_ONCE = 4;

/** Returns the list of messages, and functions that change it. `later` is typically `later` of clock.ts. */
export function messagesOf(later: (act: () => void, ms: number) => void): Messages {
  const messages = signal<readonly Message[]>([]);
  let lastId = 0;
  const dismiss = (id: number) => {
    messages.value = messages.value.filter((each) => each.id !== id);
  };
  const notify = (text: string, how?: "fault") => {
    lastId += 1;
    const id = lastId;
    messages.value = [...messages.value.slice(1 - AT_ONCE), { id, text, isFault: how === "fault" }];
    if (how !== "fault") later(() => dismiss(id), SHOWN_FOR_MS);
  };
  return { messages, notify, dismiss };
}
