// What has just happened, or failed, in one line each: news goes by itself after a while, a fault stays until it is put away.
import { type ReadonlySignal, signal } from "@preact/signals";

export interface Saying {
  id: number;
  text: string;
  isFault: boolean;
}

export interface Sayings {
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
