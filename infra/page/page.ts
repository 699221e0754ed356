// What all views share, made once and passed by context: where one is, who looks, the fleet, the clock. No view is known here.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Ask, asker } from "./base/api.ts";
import { every, later, nowMs } from "./base/clock.ts";
import type { KeyBinding } from "./base/keys.ts";
import { leftPlace, type Places, placesOf } from "./base/places.ts";
import { LiveFleet } from "./live/live-fleet.ts";
import { type SessionStore, sessionStore } from "./live/session.ts";

interface Page extends Sayings, Places {
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

// What whoever looks has chosen for this browser: the theme, the columns. Kept in the browser alone; without storage it
// lasts as long as the page.

export const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

interface Preferences {
  theme: Signal<Theme>;
  /** Keeps a text under this name for the next time; null: not kept. */
  get: (name: string) => string | null;
  set: (name: string, text: string) => void;
}

const PREFIX = "rollcall.";

/** `storage`: typically localStorage; undefined where the browser has none to give. */
function preferencesIn(storage: Pick<Storage, "getItem" | "setItem"> | undefined): Preferences {
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
      // Full, or forbidden: it lasts as long as the page.
    }
  };
  const theme = signal<Theme>(THEMES.find((each) => each === get("theme")) ?? "system");
  return { theme, get, set };
}

// What has just happened, or failed, in one line each: news goes by itself after a while, a fault stays until it is put away.

interface Saying {
  id: number;
  text: string;
  isFault: boolean;
}

interface Sayings {
  sayings: ReadonlySignal<readonly Saying[]>;
  say: (text: string, how?: "fault") => void;
  unsay: (id: number) => void;
}

const SAID_FOR_MS = 6000;
/** More than these at once nobody reads. */
const AT_ONCE = 4;

/** `later`: typically that of clock.ts. */
export function sayingsOf(later: (act: () => void, ms: number) => void): Sayings {
  const sayings = signal<readonly Saying[]>([]);
  let said = 0;
  const unsay = (id: number) => {
    sayings.value = sayings.value.filter((each) => each.id !== id);
  };
  const say = (text: string, how?: "fault") => {
    said += 1;
    const id = said;
    sayings.value = [...sayings.value.slice(1 - AT_ONCE), { id, text, isFault: how === "fault" }];
    if (how !== "fault") later(() => unsay(id), SAID_FOR_MS);
  };
  return { sayings, say, unsay };
}
