// Draws the machine's history by day, newest first, with a filter by kind and a search. The URL has the filter.
import { useEffect, useState } from "preact/hooks";
import type { HistoryAnswer, HistoryEntry } from "../../../shared/protocol/operator-answers.ts";
import { HISTORY_KINDS } from "../../../shared/protocol/history-kinds.ts";
import { type RequestFault, machinePath } from "../base/api.ts";
import { later } from "../base/clock.ts";
import { withRest } from "../base/places.ts";
import { absolute, type ZoneOffset } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { useAgainOnChange, useAnswer } from "../parts/answer.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Nothing, Section } from "./section.tsx";

export function HistorySection({ name, change }: { name: string; change: string }) {
  const { route } = usePage();
  const kind = route.value.rest.get("kind") ?? "";
  const text = route.value.rest.get("text") ?? "";
  const { entries, fault, hasOlder, isLoadingOlder, older, again } = useHistory(name, { kind, text }, change);
  const isNarrowed = kind !== "" || text !== "";
  return (
    <Section id="history" aside={<HistoryFilter kind={kind} text={text} />}>
      {fault && <FaultNotice what="Its history could not be read" fault={fault} again={again} />}
      {entries === null && !fault && <Nothing>Loading …</Nothing>}
      {entries?.length === 0 && (
        <Nothing>{isNarrowed ? "No line matches." : "Nothing has changed yet."}</Nothing>
      )}
      {entries && byDay(entries).map((day) => <Day key={day.day} {...day} />)}
      {hasOlder && (
        <button type="button" onClick={older} aria-disabled={isLoadingOlder}>
          Older lines
        </button>
      )}
    </Section>
  );
}

const SEARCH_AFTER_MS = 300;

function HistoryFilter({ kind, text }: { kind: string; text: string }) {
  const { route, go } = usePage();
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const change = (rest: Record<string, string>) => go(`${withRest(route.peek(), rest)}#history`, "replace");
  useEffect(() => {
    if (typed.trim() === text) return undefined;
    return later(() => change({ text: typed.trim() }), SEARCH_AFTER_MS);
  }, [typed]);
  return (
    <div class="row machine-filter">
      <label class="row">
        Kind
        <select value={kind} onChange={({ currentTarget }) => change({ kind: currentTarget.value })}>
          <option value="">all kinds</option>
          {kind.includes(",") && <option value={kind}>{kind}</option>}
          {HISTORY_KINDS.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <input
        type="search"
        aria-label="Search in its history"
        placeholder="Search"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
    </div>
  );
}

function Day({ day, entries }: HistoryDay) {
  return (
    <section class="machine-day">
      <h3>{day}</h3>
      <ul>
        {entries.map(({ id, at, kind, text }) => (
          <li key={id}>
            <time dateTime={at}>{timeOfDay(at)}</time>
            <span class="quiet machine-kind">{kind}</span>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const PAGE_OF_HISTORY = 20;

/** Returns the history lines that match. A search asks the fleet index, whose lines are those of the node object. */
function useHistory(name: string, { kind, text }: { kind: string; text: string }, change: string) {
  const { ask } = usePage();
  const path = text === "" ? machinePath(name, "/history") : "/v1/history";
  const query: Record<string, string> = {
    limit: String(PAGE_OF_HISTORY),
    ...(kind !== "" && { kind }),
    ...(text !== "" && { name, text }),
  };
  const newest = useAnswer<HistoryAnswer>(path, query);
  const wanted = JSON.stringify([path, kind, text]);
  const [known, setKnown] = useState<{
    wanted: string;
    entries: readonly HistoryEntry[];
    isAll: boolean;
  } | null>(null);
  const [isLoadingOlder, setLoading] = useState(false);
  const [fault, setFault] = useState<RequestFault | null>(null);
  useAgainOnChange(newest, change);
  useEffect(() => {
    const entries = newest.value?.entries;
    if (!entries || newest.isLoading) return;
    setKnown((before) => {
      const isSame = before?.wanted === wanted;
      const all = isSame ? withNewest(before.entries, entries) : entries;
      const isAll = isSame && all.length > entries.length ? before.isAll : entries.length < PAGE_OF_HISTORY;
      return { wanted, entries: all, isAll };
    });
  }, [newest.value, newest.isLoading]);
  const older = async () => {
    const last = known?.entries.at(-1);
    if (!last || isLoadingOlder) return;
    setLoading(true);
    const page = await ask<HistoryAnswer>("GET", path, { query: { ...query, before: String(last.id) } });
    setLoading(false);
    setFault(page.ok ? null : page.error);
    if (!page.ok) return;
    const { entries } = page.value;
    setKnown((before) =>
      before?.wanted === wanted && before.entries.at(-1)?.id === last.id
        ? { wanted, entries: [...before.entries, ...entries], isAll: entries.length < PAGE_OF_HISTORY }
        : before,
    );
  };
  return {
    /** The history lines, newest first. null before the first answer. */
    entries: known?.entries ?? null,
    fault: newest.fault ?? fault,
    hasOlder: known !== null && !known.isAll,
    isLoadingOlder,
    older: () => void older(),
    again: newest.again,
  };
}

/** Returns the page `newest`, followed by the older lines of `known` unless lines between the two may be missing. */
export function withNewest(known: readonly HistoryEntry[], newest: readonly HistoryEntry[]): HistoryEntry[] {
  const meets = newest.some(({ id }) => id === known[0]?.id);
  const oldestNew = newest.at(-1)?.id ?? 0;
  return meets ? [...newest, ...known.filter(({ id }) => id < oldestNew)] : [...newest];
}

interface HistoryDay {
  /** The day in the operator's time zone, like `2026-11-22`. */
  day: string;
  entries: HistoryEntry[];
}

/** Groups history lines by the operator's days. The order stays. */
export function byDay(entries: readonly HistoryEntry[], offset?: ZoneOffset): HistoryDay[] {
  const days: HistoryDay[] = [];
  for (const entry of entries) {
    const day = absolute(Date.parse(entry.at), offset).slice(0, 10);
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}

/** Returns the time of day, like `14:03:09`. */
const timeOfDay = (at: string): string => absolute(Date.parse(at)).slice(11);
