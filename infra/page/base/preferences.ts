// What whoever looks has chosen for this browser: the theme, the columns. Kept in the browser alone; without storage it
// lasts as long as the page.
import { type Signal, signal } from "@preact/signals";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export interface Preferences {
  theme: Signal<Theme>;
  /** Keeps a text under this name for the next time; null: not kept. */
  get: (name: string) => string | null;
  set: (name: string, text: string) => void;
}

const PREFIX = "rollcall.";

/** `storage`: typically localStorage; undefined where the browser has none to give. */
export function preferencesIn(storage: Pick<Storage, "getItem" | "setItem"> | undefined): Preferences {
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
