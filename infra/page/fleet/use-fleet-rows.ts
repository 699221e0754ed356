// The machines that match, as the feed changes them, for the table. Nothing moves while somebody points at the rows.
import type { ReadonlySignal } from "@preact/signals";
import { useMemo, useRef, useState } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import type { LiveFleet } from "../live/live-fleet.ts";
import { usePage } from "../page.ts";
import { firstRows, FleetList, inTheirPlaces, isSameOrder } from "./fleet-list.ts";
import { fleetOrder } from "./fleet-order.ts";
import { type FleetQuery, fleetTest } from "./fleet-query.ts";
import type { FleetSearch } from "./search-terms.ts";

interface FleetRows {
  /** All that match, in their order as of now. */
  matching: readonly FeedMachine[];
  /** The first MOST_ROWS of them, in the order in which they were when somebody began to point at them. */
  shown: readonly FeedMachine[];
  /** Shows the order as of now; null: it is shown. */
  settle: (() => void) | null;
}

export function useFleetRows(
  query: FleetQuery,
  search: FleetSearch,
  isHeld: ReadonlySignal<boolean>,
): FleetRows {
  const { live } = usePage();
  const { matching, key } = useMatching(live, query, search);
  const [, drawAgain] = useState(0);
  const held = useRef<{ key: string; matching: readonly FeedMachine[]; rows: readonly FeedMachine[] }>(null);
  const now = useMemo(() => firstRows(matching), [matching]);
  const before = isHeld.value && held.current?.key === key ? held.current : null;
  let shown = now;
  if (before) {
    const isSame = before.matching === matching;
    const kept = isSame ? before.rows : inTheirPlaces(before.rows, live.machines());
    if (!isSameOrder(kept, now)) shown = kept;
  }
  held.current = { key, matching, rows: shown };
  const settle = () => {
    held.current = null;
    drawAgain((round) => round + 1);
  };
  return { matching, shown, settle: shown === now ? null : settle };
}

/** The list is made anew where another one is asked for, and else goes on from what the last message changed. */
function useMatching(live: LiveFleet, query: FleetQuery, search: FleetSearch) {
  const revision = live.revision.value;
  const kept = useRef<{ key: string; revision: number; list: FleetList }>(null);
  const known = {
    addressOf: (name: string) => live.machines().get(name)?.address,
    outageOf: (id: number) => live.outages.peek().get(id),
  };
  // An outage, and the address of the machine that others are beside, may change as well.
  const outage = query.outage === null ? null : live.outages.value.get(query.outage);
  const { beside } = search.filter;
  const { text, states, sort, isDescending } = query;
  const key = JSON.stringify([
    text,
    [...states],
    outage ?? query.outage,
    sort,
    isDescending,
    beside === undefined ? null : known.addressOf(beside),
  ]);
  const before = kept.current;
  if (before?.key !== key || revision - before.revision > 1) {
    const list = new FleetList(
      live.machines(),
      fleetTest(query, search, known),
      fleetOrder(sort, isDescending),
    );
    kept.current = { key, revision, list };
    return { matching: list.rows, key };
  }
  if (before.revision !== revision) before.list.take(live.machines(), live.lastUpdate.peek());
  before.revision = revision;
  return { matching: before.list.rows, key };
}
