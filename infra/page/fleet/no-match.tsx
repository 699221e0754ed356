// Draws the place of the rows if no machine matches: which of the terms to leave out, and how many machines then match.
import { useMemo } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { readSearch, searchTerms } from "../../../shared/fleet/search-language.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { type FleetQuery, fleetTest, restOf } from "./fleet-query.ts";
import { counted } from "./needs-words.ts";

interface Wider {
  /** The words around the conditions that are left out, or that stay alone. */
  how: "without" | "with only";
  /** A term, or the chosen states. */
  condition: string;
  query: FleetQuery;
  count: number;
}

/** The number of conditions that are tried one by one. More of them would take long in a large fleet. */
const TRIED = 6;

/** Returns the queries with one condition less that match any machine. Without such queries: those with one alone. */
export function widerQueries(
  query: FleetQuery,
  machines: ReadonlyMap<string, FeedMachine>,
  nowMs: number,
): Wider[] {
  const terms = searchTerms(query.text).map(({ term }) => term);
  const conditions = [...terms, ...(query.states.size > 0 ? [[...query.states].join(" or ")] : [])];
  const queryOf = (isKept: (at: number) => boolean): FleetQuery => ({
    ...query,
    text: terms.filter((_, at) => isKept(at)).join(" "),
    states: isKept(terms.length) ? query.states : new Set(),
  });
  const known = { addressOf: (name: string) => machines.get(name)?.address, outageOf: () => undefined };
  const found = (how: Wider["how"], of: (at: number) => FleetQuery) =>
    conditions.slice(0, TRIED).flatMap((condition, at): Wider[] => {
      const wider = of(at);
      const read = readSearch(wider.text, nowMs);
      if (!read.ok) return [];
      const test = fleetTest(wider, read.value, known);
      let count = 0;
      for (const machine of machines.values()) count += Number(test(machine));
      return count === 0 ? [] : [{ how, condition, query: wider, count }];
    });
  const without = found("without", (at) => queryOf((other) => other !== at));
  if (without.length > 0 || conditions.length <= 2) return without;
  return found("with only", (at) => queryOf((other) => other === at));
}

/** The parameters of the URL that a link without filters removes. The order stays. */
const EVERYTHING = { q: undefined, state: undefined, outage: undefined };

export function NoMatch({ query }: { query: FleetQuery }) {
  const { live, route, clock } = usePage();
  const wider = useMemo(
    () => widerQueries(query, live.machines(), clock.peek()),
    [query, live.revision.value],
  );
  return (
    <div class="fleet-none">
      <p>
        <strong>No machine matches.</strong>{" "}
        <Link href={withRest(route.value, EVERYTHING)}>Show all machines</Link>
      </p>
      {wider.length > 0 && (
        <ul>
          {wider.map(({ how, condition, query: next, count }) => (
            <li key={condition}>
              <Link href={withRest(route.value, restOf(next))}>{counted(count, "machine")}</Link> {how}{" "}
              <code>{condition}</code>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
