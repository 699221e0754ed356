// What changed on a machine, newest first: in days, by kind, searched. What is searched for is in the URL.
import { useEffect, useState } from "preact/hooks";
import { HISTORY_KINDS } from "../../../shared/protocol/operator-api.ts";
import { later } from "../base/clock.ts";
import { absolute } from "../base/relative-time.ts";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { FaultNotice } from "../parts/notice.tsx";
import { byDay, type HistoryDay, timeOfDay } from "./history-pages.ts";
import { Nothing, Section } from "./section.tsx";
import { useHistory } from "./use-history.ts";

interface HistoryProps {
  name: string;
  change: string;
}

export function HistorySection({ name, change }: HistoryProps) {
  const { route } = usePage();
  const kind = route.value.rest.get("kind") ?? "";
  const text = route.value.rest.get("text") ?? "";
  const { entries, fault, hasOlder, isAskingOlder, older, again } = useHistory(name, { kind, text }, change);
  const isNarrowed = kind !== "" || text !== "";
  return (
    <Section id="history" aside={<HistoryFilter kind={kind} text={text} />}>
      {fault && <FaultNotice what="Its history could not be asked" fault={fault} again={again} />}
      {entries === null && !fault && <Nothing>Asking …</Nothing>}
      {entries?.length === 0 && (
        <Nothing>{isNarrowed ? "No line matches." : "Nothing has changed yet."}</Nothing>
      )}
      {entries && byDay(entries).map((day) => <Day key={day.day} {...day} />)}
      {hasOlder && (
        <button type="button" onClick={older} aria-disabled={isAskingOlder}>
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
      <select
        aria-label="Kind of change"
        value={kind}
        onChange={({ currentTarget }) => change({ kind: currentTarget.value })}
      >
        <option value="">all kinds</option>
        {kind.includes(",") && <option value={kind}>{kind}</option>}
        {HISTORY_KINDS.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
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
            <time dateTime={at} title={absolute(Date.parse(at))}>
              {timeOfDay(at)}
            </time>
            <span class="quiet machine-kind">{kind}</span>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
