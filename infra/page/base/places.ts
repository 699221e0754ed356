// Where one is in the page, which is all in the URL's query: a link shows the same to whoever opens it. Pure.
import { type ReadonlySignal, signal } from "@preact/signals";
import { later } from "./clock.ts";

export const VIEWS = ["fleet", "approvals", "tokens", "audit", "notifications", "deployment"] as const;
export type ViewName = (typeof VIEWS)[number];

/** `rest`: what the view itself keeps there, as its search and its order. */
type PageRoute =
  | { view: ViewName; rest: ReadonlyMap<string, string> }
  | { view: "machine"; machine: string; rest: ReadonlyMap<string, string> };

/** `?machine=NAME`, `?view=VIEW`; whatever else is the fleet. */
export function routeOf(search: string): PageRoute {
  const rest = new Map(new URLSearchParams(search));
  const machine = rest.get("machine");
  const view = VIEWS.find((each) => each === rest.get("view")) ?? "fleet";
  rest.delete("machine");
  rest.delete("view");
  return machine ? { view: "machine", machine, rest } : { view, rest };
}

/** The query of this place, with its question mark; entries of `rest` that are undefined or "" are left out. */
export function hrefOf(
  place: { view: ViewName } | { machine: string },
  rest: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams();
  if ("machine" in place) query.set("machine", place.machine);
  else if (place.view !== "fleet") query.set("view", place.view);
  for (const [name, value] of Object.entries(rest)) if (value) query.set(name, value);
  const text = query.toString();
  return text === "" ? "/" : `/?${text}`;
}

/** This place, with other values of `rest`; undefined or "" removes one. */
export function withRest(route: PageRoute, changes: Readonly<Record<string, string | undefined>>): string {
  const place = route.view === "machine" ? { machine: route.machine } : { view: route.view };
  return hrefOf(place, { ...Object.fromEntries(route.rest), ...changes });
}

// The way through the page, as the browser's history has it: where one is, and for going back, how each place was left.

/** How a place was left: what of it was on the screen, and what had the focus. */
export interface LeftPlace {
  /** How far what scrolls was scrolled, by its name; `page` is the page itself. */
  scrolled: Readonly<Record<string, number>>;
  /** Of the link that had the focus, which most often led away; null: none had. */
  link: string | null;
}

interface Arrival {
  /** Is it another view, or another machine? */
  isElsewhere: boolean;
  /** Gone back, or forward again, to where one was; null: come anew. */
  left: LeftPlace | null;
}

export interface Places {
  route: ReadonlySignal<PageRoute>;
  /** Goes to a place (hrefOf). `replace`: going back does not lead here. */
  go: (href: string, how?: "replace") => void;
  /** null: the page was opened here. */
  arrival: ReadonlySignal<Arrival | null>;
  /** The fleet with the search, the filters and the order that it was left with. */
  fleetHref: () => string;
}

interface PlacesSurroundings {
  location: { readonly search: string };
  /** The browser's, as far as it is needed. */
  history: {
    readonly state: unknown;
    scrollRestoration: "auto" | "manual";
    pushState: (state: unknown, unused: string, href: string) => void;
    replaceState: (state: unknown, unused: string, href?: string) => void;
  };
  /** Of what is on the screen now. */
  look: () => LeftPlace;
  onPopState: (act: () => void) => void;
}

export function placesOf({ location, history, look, onPopState }: PlacesSurroundings): Places {
  const route = signal(routeOf(location.search));
  const arrival = signal<Arrival | null>(null);
  const left = new Map<number, LeftPlace>();
  let fleet = route.value.view === "fleet" ? location.search : "";
  let current = numberOf(history.state) ?? 0;
  // A browser that scrolls by itself does so before the view is there.
  history.scrollRestoration = "manual";
  history.replaceState({ place: current }, "");
  const arrive = (of: LeftPlace | null) => {
    const before = route.value;
    route.value = routeOf(location.search);
    if (route.value.view === "fleet") fleet = location.search;
    return { isElsewhere: placeOf(before) !== placeOf(route.value), left: of };
  };
  onPopState(() => {
    const next = numberOf(history.state);
    // Another fragment of this place, as the link to the content has it: an entry of its own, to which going back may lead.
    if (next === null) history.replaceState({ place: current }, "");
    if (next === null || next === current) return;
    left.set(current, look());
    current = next;
    arrival.value = arrive(left.get(next) ?? null);
  });
  return {
    route,
    arrival,
    go(href, how) {
      if (how === "replace") {
        history.replaceState({ place: current }, "", href);
        arrive(null);
        return;
      }
      left.set(current, look());
      current += 1;
      history.pushState({ place: current }, "", href);
      arrival.value = arrive(null);
    },
    fleetHref: () => `/${fleet}`,
  };
}

const placeOf = (route: PageRoute) => (route.view === "machine" ? `machine ${route.machine}` : route.view);

function numberOf(state: unknown): number | null {
  const { place } = (state ?? {}) as { place?: unknown };
  return typeof place === "number" ? place : null;
}

// How the document is scrolled and what has the focus, to be found again when somebody goes back. Knows no view.

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
