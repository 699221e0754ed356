// Draws the last day of the fleet: for each group and hour the machines that were not ready, and what changed.
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { readSearch } from "../../../shared/fleet/search-language.ts";
import type { FleetHistoryAnswer, FleetHistoryEntry } from "../../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import type { RequestFault, SendRequest } from "../base/api.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { absolute } from "../base/relative-time.ts";
import { type GroupBy, groupByOf, groupChoices, groupTitle, groupValue } from "./fleet-groups.ts";
import { FleetMenu } from "./fleet-menu.tsx";
import { fleetQueryOf } from "./fleet-query.ts";
import { useMatching } from "./fleet-rows.ts";
import { usePage } from "../page.ts";
import { lazyView } from "../parts/lazy-view.tsx";
import { Link } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Changes } from "./day-changes.tsx";
import { type HeatRow, heatLevel, heatRows, HOUR_MS, lastHours, stateChanges } from "./day-heat.ts";

const GroupChoices = lazyView<{ always: GroupBy }>(
  async () => (await import("./group-table.tsx")).GroupChoices,
);

/** The most rows that are drawn. The worst groups come first. */
const MOST_ROWS = 100;
const MINUTE_MS = 60_000;

export function DayView() {
  const { live } = usePage();
  return live.isKnown.value ? <Day /> : <p class="quiet">Loading the fleet …</p>;
}

function Day() {
  const { live, route, clock } = usePage();
  const { rest } = route.value;
  const machines = useSearched(rest.get("q") ?? "");
  const hour = useComputed(() => Math.floor(clock.value / HOUR_MS));
  const minute = useComputed(() => Math.floor(clock.value / MINUTE_MS));
  const hours = useMemo(() => lastHours(clock.peek()), [hour.value]);
  const by = groupByOf(rest.get("group")) ?? groupChoices(live.machines().values())[0] ?? "role";
  const day = useStateLines(hours[0]!, live.machines(), minute.value);
  const rows = useMemo(
    () =>
      day.lines &&
      heatRows(machines, by, {
        hours,
        changes: stateChanges(live.machines(), day.lines),
        knownFromMs: day.knownFromMs,
      }),
    // The counts of the present hour follow the feed within a minute.
    [day.lines, machines.length, by, hours, minute.value],
  );
  const [chosenHour, chosenGroup] = chosenOf(rest, hours);
  const inGroup = useMemo(
    () => namesOf(machines, by, chosenGroup, rest.has("q")),
    [machines, by, chosenGroup, rest],
  );
  return (
    <div class="stack day">
      <header class="row spread">
        <h1>Last day</h1>
        <Searched />
        <FleetMenu title="Groups">
          <GroupChoices always={by} />
        </FleetMenu>
      </header>
      {day.fault && <FaultNotice what="The changes could not be read" fault={day.fault} again={day.again} />}
      <div class="day-parts">
        <section class="stack" aria-label="Machines that were not ready">
          {rows ? (
            <HeatMap rows={rows} by={by} hours={hours} />
          ) : (
            !day.fault && <p class="quiet">Loading …</p>
          )}
        </section>
        <Changes
          fromMs={chosenHour ?? hours[0]!}
          toMs={chosenHour === null ? null : chosenHour + HOUR_MS}
          group={chosenGroup}
          names={inGroup}
        />
      </div>
    </div>
  );
}

/** Returns the machines that match the search; all machines if the search is invalid. */
function useSearched(text: string): readonly FeedMachine[] {
  const { clock } = usePage();
  const search = useMemo(() => {
    const read = readSearch(text, clock.peek());
    return read.ok ? read.value : { filter: {}, parameters: {}, isRelative: false };
  }, [text]);
  const query = useMemo(() => fleetQueryOf(new Map([["q", text]])), [text]);
  return useMatching(query, search).matching;
}

/** Draws the search of the shown machines, with a link that shows all machines. */
function Searched() {
  const { route } = usePage();
  const text = route.value.rest.get("q");
  if (!text) return null;
  return (
    <p class="quiet">
      Only machines that match <Link href={hrefOf({ view: "fleet" }, { q: text })}>{text}</Link>.{" "}
      <Link href={withRest(route.value, { q: undefined })}>All machines</Link>
    </p>
  );
}

/** Returns the hour and the group in the URL; null for no choice. A group's parameter begins with `=`. */
function chosenOf(
  rest: ReadonlyMap<string, string>,
  hours: readonly number[],
): [hourMs: number | null, group: string | null] {
  const hour = hours.find((each) => each === Date.parse(rest.get("hour") ?? "")) ?? null;
  return [hour, rest.get("of")?.slice(1) ?? null];
}

/** Returns the names of the machines whose changes are shown; null for all machines, also those that have left. */
function namesOf(
  machines: readonly FeedMachine[],
  by: GroupBy,
  group: string | null,
  isSearched: boolean,
): ReadonlySet<string> | null {
  if (group === null && !isSearched) return null;
  const of = machines.filter((machine) => group === null || groupValue(machine, by) === group);
  return new Set(of.map(({ name }) => name));
}

/** The most requests for the changes of a day, each for PAGE_LIMITS.entries changes. */
const MOST_PAGES = 10;

interface DayLines {
  /** The history of the kind `state`, newest first. null before the first answer. */
  lines: FleetHistoryEntry[] | null;
  /** The time from which on `lines` has all changes. */
  knownFromMs: number;
  fault: RequestFault | null;
}

async function readLines(ask: SendRequest, sinceMs: number, signal: AbortSignal): Promise<DayLines> {
  const lines: FleetHistoryEntry[] = [];
  const since = new Date(sinceMs).toISOString();
  for (let page = 0; page < MOST_PAGES; page++) {
    const before = lines.at(-1)?.id;
    const query = {
      kind: "state",
      since,
      limit: String(PAGE_LIMITS.entries),
      before: before === undefined ? before : String(before),
    };
    const answer = await ask<FleetHistoryAnswer>("GET", "/v1/history", { query, signal });
    if (!answer.ok) return { lines: null, knownFromMs: sinceMs, fault: answer.error };
    lines.push(...answer.value.entries);
    if (answer.value.entries.length < PAGE_LIMITS.entries)
      return { lines, knownFromMs: sinceMs, fault: null };
  }
  return { lines, knownFromMs: Date.parse(lines.at(-1)!.at), fault: null };
}

/** Reads the changes of states since a time, and again in another minute if the feed has a later change. */
function useStateLines(sinceMs: number, machines: ReadonlyMap<string, FeedMachine>, minute: number) {
  const { ask } = usePage();
  const [day, setDay] = useState<DayLines>({ lines: null, knownFromMs: sinceMs, fault: null });
  const [round, setRound] = useState(0);
  const changedMs = useMemo(() => {
    let latest = 0;
    for (const each of machines.values()) latest = Math.max(latest, each.sinceMs);
    return latest;
  }, [minute, machines.size]);
  useEffect(() => {
    const stop = new AbortController();
    void readLines(ask, sinceMs, stop.signal).then((read) => {
      if (stop.signal.aborted) return;
      setDay((before) => (read.fault ? { ...before, fault: read.fault } : read));
    });
    return () => stop.abort();
  }, [sinceMs, changedMs, round]);
  return { ...day, again: () => setRound((before) => before + 1) };
}

/** Returns the time of an hour, like `14`, or `14:30` in a zone whose offset has minutes. */
const hourText = (atMs: number) => absolute(atMs).slice(11, 16).replace(":00", "");

function HeatMap({ rows, by, hours }: { rows: readonly HeatRow[]; by: GroupBy; hours: readonly number[] }) {
  const { route } = usePage();
  const chosen = chosenOf(route.value.rest, hours);
  const columns: Column<HeatRow>[] = [
    {
      head: groupTitle(by),
      isRowHead: true,
      class: "day-group",
      cell: ({ value, machines }) => (
        <>
          {value === null ? "All" : value || "without"}{" "}
          <span class="quiet">{machines.toLocaleString("en")}</span>
        </>
      ),
    },
    ...hours.map((atMs, at) => ({
      head: hourText(atMs),
      hint: absolute(atMs),
      class: "day-hour",
      cell: (row: HeatRow) => (
        <HeatCell row={row} at={at} atMs={atMs} isChosen={chosen[0] === atMs && chosen[1] === row.value} />
      ),
    })),
  ];
  useEffect(() => {
    // A narrow screen shows the latest hours first.
    document.querySelector(".day-map")?.parentElement?.scrollTo({ left: 10_000 });
  }, []);
  const title = `Machines that were not ready, by ${groupTitle(by)} and hour`;
  return (
    <>
      <CardTable
        label={title}
        rows={rows.slice(0, MOST_ROWS + 1)}
        columns={columns}
        keyOf={({ value }) => value ?? "*all*"}
        class="day-map"
        narrow="scrolls"
      />
      <p class="quiet">
        The most machines of any state but ready at one time of the hour. Groups are those of now. Click on a
        number to see what changed in the hour.
        {rows.length > MOST_ROWS + 1 && ` Here are ${MOST_ROWS} of ${rows.length - 1} groups.`}
      </p>
    </>
  );
}

interface HeatCellProps {
  row: HeatRow;
  at: number;
  atMs: number;
  isChosen: boolean;
}

function HeatCell({ row: { value, machines, cells }, at, atMs, isChosen }: HeatCellProps) {
  const { route } = usePage();
  const count = cells[at] ?? null;
  if (count === null) return <span class="day-unknown" title="More changes than the page reads" />;
  // All machines' hours are links even if all machines were ready, since something may have changed.
  if (count === 0 && value !== null) return <span class="quiet">·</span>;
  const place = {
    hour: isChosen ? undefined : new Date(atMs).toISOString(),
    of: isChosen || value === null ? undefined : `=${value}`,
  };
  const whose = value === null ? "all machines" : value || "without";
  return (
    <Link
      href={withRest(route.value, place)}
      class={`day-heat day-heat-${heatLevel(count, machines)}`}
      title={`${whose}, ${absolute(atMs).slice(0, 16)}: ${count.toLocaleString("en")} of ${machines.toLocaleString("en")}`}
      isCurrent={isChosen}
    >
      {count === 0 ? "·" : count.toLocaleString("en")}
    </Link>
  );
}
