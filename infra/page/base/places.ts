// Keeps the page's place in the browser's history. The URL's query names the view, so that links can be shared.
import { type ReadonlySignal, signal } from "@preact/signals";
import { later } from "./clock.ts";

export const VIEWS = [
  "fleet",
  "day",
  "approvals",
  "tokens",
  "rollout",
  "audit",
  "notifications",
  "deployment",
] as const;
export type ViewName = (typeof VIEWS)[number];

/** The view that the URL names. `rest` has the view's own parameters, such as a search or an order. */
type PageRoute =
  | { view: ViewName; rest: ReadonlyMap<string, string> }
  | { view: "machine"; machine: string; rest: ReadonlyMap<string, string> };

/** Parses `?machine=NAME` or `?view=VIEW`; any other query is the fleet. */
export function routeOf(search: string): PageRoute {
  const rest = new Map(new URLSearchParams(search));
  const machine = rest.get("machine");
  const view = VIEWS.find((each) => each === rest.get("view")) ?? "fleet";
  rest.delete("machine");
  rest.delete("view");
  return machine ? { view: "machine", machine, rest } : { view, rest };
}

/** Returns the view that the query names, if the page has no such view, else null. */
export function unknownView(search: string): string | null {
  const view = new URLSearchParams(search).get("view");
  return VIEWS.some((each) => each === view) ? null : view;
}

/** Returns the query of a place, with its question mark. Leaves out entries of `rest` that are undefined or "". */
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

/** Returns the query of a route with changed parameters. undefined or "" removes a parameter. */
export function withRest(route: PageRoute, changes: Readonly<Record<string, string | undefined>>): string {
  const place = route.view === "machine" ? { machine: route.machine } : { view: route.view };
  return hrefOf(place, { ...Object.fromEntries(route.rest), ...changes });
}

/** The state of a place at the time when the operator left it: scroll position and focus. */
export interface LeftPlace {
  /** The page's scroll position, in pixels. */
  scrolled: number;
  /** The link that had the focus, or null. */
  link: string | null;
}

interface Arrival {
  /** true if the place shows another view or another machine than the place before it. */
  isElsewhere: boolean;
  /** The state in which the operator left the place. null unless the operator went back or forward to the place. */
  left: LeftPlace | null;
}

export interface Places {
  route: ReadonlySignal<PageRoute>;
  /** Opens the place of a query (hrefOf). `replace` adds no entry to the history. */
  go: (href: string, how?: "replace") => void;
  /** The way in which the operator came to the present place. null if the page was opened there. */
  arrival: ReadonlySignal<Arrival | null>;
  /** Returns the last query of the fleet view, with its search, filters and order. */
  fleetHref: () => string;
}

interface PlacesSurroundings {
  location: { readonly search: string };
  history: {
    readonly state: unknown;
    scrollRestoration: "auto" | "manual";
    pushState: (state: unknown, unused: string, href: string) => void;
    replaceState: (state: unknown, unused: string, href?: string) => void;
  };
  /** Returns the scroll position and focus that the screen has now. */
  readPlace: () => LeftPlace;
  onPopState: (act: () => void) => void;
}

export function placesOf({ location, history, readPlace, onPopState }: PlacesSurroundings): Places {
  const route = signal(routeOf(location.search));
  const arrival = signal<Arrival | null>(null);
  const left = new Map<number, LeftPlace>();
  let fleet = route.value.view === "fleet" ? location.search : "";
  let current = numberOf(history.state) ?? 0;
  // The browser's own restoration is off, because it happens before the view is drawn.
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
    // An entry without a place is the browser's, after a change of the fragment, as by the link to the content.
    if (next === null) history.replaceState({ place: current }, "");
    if (next === null || next === current) return;
    left.set(current, readPlace());
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
      left.set(current, readPlace());
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

export function leftPlace(): LeftPlace {
  const link = document.activeElement?.closest("main a[href]") ?? null;
  return { scrolled: scrollY, link: link && link.getAttribute("href") };
}

/** Milliseconds during which the scroll position is restored again, because content may arrive late. */
const TRIED_FOR_MS = 3000;
/** The events of an operator who scrolls, clicks or types. Any of these events ends the restoration. */
const OWN_ACTS = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

/** Restores the scroll position and the focus of a place. Returns a function that stops the restoration. */
export function scrollBack(main: HTMLElement, left: LeftPlace): () => void {
  const attempt = () => {
    scrollTo(0, left.scrolled);
    const link = [...main.querySelectorAll("a")].find((each) => each.getAttribute("href") === left.link);
    if (document.activeElement === main) link?.focus({ preventScroll: true });
  };
  // Answers arrive late, and the table draws rows when it is scrolled to them, so each change needs an attempt.
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
