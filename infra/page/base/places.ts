// The way through the page, as the browser's history has it: where one is, and for going back, how each place was left.
import { type ReadonlySignal, signal } from "@preact/signals";
import { type PageRoute, routeOf } from "./route.ts";

/** How a place was left: what of it was on the screen, and what had the focus. */
export interface LeftPlace {
  /** How far what scrolls was scrolled, by its name; `page` is the page itself. */
  scrolled: Readonly<Record<string, number>>;
  /** Of the link that had the focus, which most often led away; null: none had. */
  link: string | null;
}

export interface Arrival {
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

export interface PlacesSurroundings {
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
