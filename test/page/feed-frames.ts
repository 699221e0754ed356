// What the feed told a page, and when, and what the page made of it: events with their times. No test of its own.
import type { Page } from "playwright-core";
import { type FeedMachine, FeedView } from "../../shared/fleet/feed-view.ts";
import type { FeedMessage } from "../../shared/protocol/feed.ts";

/** Before the page's own scripts: each text that comes over a WebSocket, as it comes. */
const RECORD = `window.rollcallFrames = [];
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      if (data !== "pong") rollcallFrames.push({ atMs: performance.timeOrigin + performance.now(), data });
    });
  }
};`;

interface Frame {
  /** Milliseconds since 1970. */
  atMs: number;
  message: FeedMessage;
}

/** To be called before the page is opened. */
export async function recordFrames(page: Page): Promise<void> {
  await page.addInitScript({ content: RECORD });
}

/** What came since the page was loaded. */
export async function framesOf(page: Page): Promise<Frame[]> {
  const frames = await page.evaluate<{ atMs: number; data: string }[]>("rollcallFrames");
  return frames.map(({ atMs, data }) => ({ atMs, message: JSON.parse(data) as FeedMessage }));
}

/** By which frame the page was first told this of a machine; -1: by none. */
export function frameThatTold(
  frames: readonly Frame[],
  name: string,
  isSo: (machine: FeedMachine) => boolean,
): number {
  const view = new FeedView();
  return frames.findIndex(({ message }) => {
    view.take(message);
    const machine = view.machines.get(name);
    return machine !== undefined && isSo(machine);
  });
}

export interface Shown {
  atMs: number;
  /** How many frames had come by then. */
  frames: number;
}

/**
 * Resolves once a row of the page's tables has both texts: when that was so, noted as the document changed and not as a
 * test looked at it.
 */
export async function noteRow(page: Page, name: string, text: string): Promise<() => Promise<Shown>> {
  await page.evaluate(`window.rollcallShown = new Promise((shown) => {
    const look = () => {
      const rows = [...document.querySelectorAll("tr")].map(({ textContent }) => textContent);
      if (!rows.some((row) => row.includes(${JSON.stringify(name)}) && row.includes(${JSON.stringify(text)}))) return;
      observer.disconnect();
      shown({ atMs: performance.timeOrigin + performance.now(), frames: rollcallFrames.length });
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { subtree: true, childList: true, characterData: true });
    look();
  }); 0`);
  return () => page.evaluate<Shown>("rollcallShown");
}
