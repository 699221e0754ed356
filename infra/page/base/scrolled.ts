// How the document is scrolled and what has the focus, to be found again when somebody goes back. Knows no view.
import { later } from "./clock.ts";
import type { LeftPlace } from "./places.ts";

/** What scrolls in itself, and is to be found as it was left, has a name: `data-scrolls="machines"`. */
const NAMED = "[data-scrolls]";

export function leftPlace(): LeftPlace {
  const scrolled: Record<string, number> = { page: scrollY };
  for (const element of document.querySelectorAll<HTMLElement>(NAMED))
    scrolled[element.dataset["scrolls"] ?? ""] = element.scrollTop;
  const link = document.activeElement?.closest("main a[href]") ?? null;
  return { scrolled, link: link && link.getAttribute("href") };
}

/** What is shown may come after the view: until then it is tried again, and no longer than somebody waits. */
const TRIED_FOR_MS = 3000;
/** Whoever does something by himself is not interrupted. */
const OWN_ACTS = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

/** Scrolls to where it was left. Returns what ends that. */
export function scrollBack(main: HTMLElement, left: LeftPlace): () => void {
  const attempt = () => {
    for (const element of document.querySelectorAll<HTMLElement>(NAMED))
      element.scrollTop = left.scrolled[element.dataset["scrolls"] ?? ""] ?? 0;
    scrollTo(0, left.scrolled["page"] ?? 0);
    const link = [...main.querySelectorAll("a")].find((each) => each.getAttribute("href") === left.link);
    if (document.activeElement === main) link?.focus({ preventScroll: true });
  };
  // Answers come in, and rows are drawn once the table has been scrolled to them.
  const drawn = new MutationObserver(attempt);
  const end = () => {
    drawn.disconnect();
    cancel();
    for (const act of OWN_ACTS) removeEventListener(act, end);
  };
  const cancel = later(end, TRIED_FOR_MS);
  for (const act of OWN_ACTS) addEventListener(act, end, { passive: true });
  attempt();
  drawn.observe(main, { childList: true, subtree: true });
  return end;
}
