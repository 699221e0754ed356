// Where one is in the page, which is all in the URL's query: a link shows the same to whoever opens it. Pure.

export const VIEWS = ["fleet", "approvals", "tokens", "audit", "notifications", "deployment"] as const;
export type ViewName = (typeof VIEWS)[number];

/** `rest`: what the view itself keeps there, as its search and its order. */
export type PageRoute =
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
