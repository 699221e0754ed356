import { beforeEach, describe, expect, it } from "vitest";
import {
  hrefOf,
  type LeftPlace,
  type Places,
  placesOf,
  routeOf,
  unknownView,
  withRest,
} from "../../../../infra/page/base/places.ts";

interface Entry {
  href: string;
  state: unknown;
}

/** Returns a made-up browser: the part of its history that the page uses. */
function browser(search: string) {
  let entries: Entry[] = [{ href: search, state: null }];
  let [at, top] = [0, 0];
  let pop = () => undefined as void;
  const entry = () => entries[at] ?? { href: "", state: null };
  const move = (by: number) => {
    at += by;
    pop();
  };
  const places = placesOf({
    location: {
      get search() {
        return entry().href.replace(/^\//, "").replace(/#.*$/, "");
      },
    },
    history: {
      scrollRestoration: "auto",
      get state() {
        return entry().state;
      },
      pushState(state: unknown, _: string, href: string) {
        entries = [...entries.slice(0, at + 1), { href, state }];
        at += 1;
      },
      replaceState(state: unknown, _: string, href?: string) {
        entries[at] = { href: href ?? entry().href, state };
      },
    },
    readPlace: (): LeftPlace => ({ scrolled: top, link: null }),
    onPopState: (act) => (pop = act),
  });
  return {
    places,
    back: () => move(-1),
    forward: () => move(1),
    scroll: (to: number) => (top = to),
    entries: () => entries.length,
    /** Follows a link to a fragment, as the browser does without the page's scripts. */
    fragment(href: string) {
      entries = [...entries.slice(0, at + 1), { href, state: null }];
      move(1);
    },
  };
}

let places: Places;
let window: ReturnType<typeof browser>;
beforeEach(() => {
  window = browser("?q=berlin");
  places = window.places;
});

describe("going through the page", () => {
  it("another view → it is elsewhere, and new", () => {
    expect(places.arrival.value).toBe(null);
    places.go("/?machine=edge-1");
    expect(places.route.value).toMatchObject({ view: "machine", machine: "edge-1" });
    expect(places.arrival.value).toEqual({ isElsewhere: true, left: null });
    places.go("/?machine=edge-2");
    expect(places.arrival.value).toEqual({ isElsewhere: true, left: null });
  });

  it("another page of the same view → it is not elsewhere", () => {
    places.go("/?q=berlin&page=2");
    expect(places.arrival.value).toEqual({ isElsewhere: false, left: null });
  });

  it("in place of where one is → nobody has arrived, and going back does not lead there", () => {
    places.go("/?q=bremen", "replace");
    expect(places.route.value.rest.get("q")).toBe("bremen");
    expect(places.arrival.value).toBe(null);
    expect(window.entries()).toBe(1);
  });

  it("back, and forward again → each as it was left", () => {
    window.scroll(700);
    places.go("/?machine=edge-1");
    window.scroll(30);
    window.back();
    expect(places.route.value.rest.get("q")).toBe("berlin");
    expect(places.arrival.value).toEqual({
      isElsewhere: true,
      left: { scrolled: 700, link: null },
    });
    window.forward();
    expect(places.arrival.value?.left?.scrolled).toBe(30);
  });

  it("another fragment of the same place → nobody has arrived", () => {
    const route = places.route.value;
    window.fragment("?q=berlin#main");
    expect(places.route.value).toBe(route);
    expect(places.arrival.value).toBe(null);
  });

  it("another place after such a fragment, and back → the place that the fragment was of", () => {
    window.fragment("?q=berlin#main");
    places.go("/?machine=edge-1");
    window.back();
    expect(places.route.value.rest.get("q")).toBe("berlin");
    expect(places.arrival.value?.isElsewhere).toBe(true);
  });
});

describe("up to the fleet", () => {
  it("as it was left", () => {
    places.go("/?q=bremen&sort=name", "replace");
    places.go("/?machine=edge-1");
    expect(places.fleetHref()).toBe("/?q=bremen&sort=name");
  });

  it("where a machine was opened first → all of it", () => {
    expect(browser("?machine=edge-1").places.fleetHref()).toBe("/");
  });
});

describe("where a URL leads", () => {
  it.each([
    ["", { view: "fleet" }],
    ["?view=fleet", { view: "fleet" }],
    ["?view=approvals", { view: "approvals" }],
    ["?view=no-such-view", { view: "fleet" }],
    ["?machine=edge-1", { view: "machine", machine: "edge-1" }],
    ["?machine=edge-1&view=tokens", { view: "machine", machine: "edge-1" }],
    ["?machine=", { view: "fleet" }],
  ])("%s", (search, place) => {
    expect(routeOf(search)).toMatchObject(place);
  });

  it("what is the view's own is kept beside it", () => {
    expect([...routeOf("?view=audit&by=machines&q=a%2Bb").rest]).toEqual([
      ["by", "machines"],
      ["q", "a+b"],
    ]);
  });
});

describe("the URL of a place leads back to it", () => {
  it.each(["/", "/?q=edge+%26+shop", "/?machine=edge-1.example&range=7d", "/?view=tokens"])("%s", (href) => {
    const route = routeOf(href.slice(1));
    expect(withRest(route, {})).toBe(href);
  });

  it.each([
    ["another value", { range: "1h" }, "/?machine=edge-1&range=1h"],
    ["none any more", { range: undefined }, "/?machine=edge-1"],
    ["an empty one is none", { range: "" }, "/?machine=edge-1"],
    ["one more", { at: "5" }, "/?machine=edge-1&range=7d&at=5"],
  ])("%s", (_, changes, href) => {
    expect(withRest(routeOf("?machine=edge-1&range=7d"), changes)).toBe(href);
  });

  it("a name is escaped", () => {
    expect(hrefOf({ machine: "a&view=tokens" })).toBe("/?machine=a%26view%3Dtokens");
  });
});

it.each([
  ["", null],
  ["?view=audit", null],
  ["?view=audits", "audits"],
  ["?machine=edge-1", null],
])("%s → names the unknown view %s", (search, unknown) => {
  expect(unknownView(search)).toBe(unknown);
});
