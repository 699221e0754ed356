// Draws what changed in a time: lines of the fleet's history, with one line for the same change of many machines.
import { useMemo } from "preact/hooks";
import { parseStateBefore, parseStateChange, stateText } from "../../../shared/fleet/state.ts";
import type { FleetHistoryAnswer } from "../../../shared/protocol/fleet-answers.ts";
import { PAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import { hrefOf } from "../base/places.ts";
import { absolute } from "../base/relative-time.ts";
import { AnsweredSection, useAnswer } from "../parts/answer.tsx";
import { Link } from "../parts/link.tsx";
import { Time } from "../parts/time.tsx";
import { type FoldedChange, foldedChanges } from "./day-heat.ts";

interface ChangesProps {
  fromMs: number;
  /** The end of the time in milliseconds since 1970; null for now. */
  toMs: number | null;
  /** The value of the group, for the title; null for all machines. */
  group: string | null;
  /** The names of the machines; null for all. */
  names: ReadonlySet<string> | null;
}

const MOST_SHOWN = 100;

export function Changes({ fromMs, toMs, group, names }: ChangesProps) {
  const answer = useAnswer<FleetHistoryAnswer>("/v1/history", {
    since: new Date(fromMs).toISOString(),
    until: toMs === null ? undefined : new Date(toMs).toISOString(),
    limit: String(PAGE_LIMITS.entries),
  });
  const entries = answer.value?.entries;
  const changes = useMemo(
    () => foldedChanges((entries ?? []).filter(({ name }) => !names || names.has(name))),
    [entries, names],
  );
  const when =
    toMs === null ? "" : ` from ${absolute(fromMs).slice(11, 16)} to ${absolute(toMs).slice(11, 16)}`;
  return (
    <AnsweredSection
      id="day-changes"
      title={`What changed${when}${group === null ? "" : `: ${group || "without"}`}`}
      answer={answer}
      what="The changes could not be listed"
    >
      {(value) => (
        <>
          {value.entries.length === PAGE_LIMITS.entries && (
            <p class="quiet">Only the latest {PAGE_LIMITS.entries.toLocaleString("en")} lines are read.</p>
          )}
          {changes.length === 0 ? (
            <p class="card">Nothing changed.</p>
          ) : (
            <ul class="card day-changes">
              {changes.slice(0, MOST_SHOWN).map((change) => (
                <ChangeLine key={`${change.kind} ${change.text}`} change={change} />
              ))}
            </ul>
          )}
          {changes.length > MOST_SHOWN && <p class="quiet">{changes.length - MOST_SHOWN} more changes.</p>}
        </>
      )}
    </AnsweredSection>
  );
}

const NAMES_SHOWN = 3;

function ChangeLine({ change: { kind, text, lastAt, firstAt, names } }: { change: FoldedChange }) {
  return (
    <li>
      <p>
        <Time at={lastAt} form="absolute" />{" "}
        {names.length > 1 && firstAt !== lastAt && (
          <span class="quiet">
            from <Time at={firstAt} form="absolute" />
          </span>
        )}
      </p>
      <p>
        <span class="quiet">{kind}</span> {changeText(kind, text)}
      </p>
      <p>
        {names.slice(0, NAMES_SHOWN).map((name, at) => (
          <span key={name}>
            {at > 0 && ", "}
            <Link href={hrefOf({ machine: name })}>{name}</Link>
          </span>
        ))}
        {names.length > NAMES_SHOWN && ` and ${(names.length - NAMES_SHOWN).toLocaleString("en")} more`}
      </p>
    </li>
  );
}

/** Returns the line's text, with the states in words. */
function changeText(kind: string, text: string): string {
  const to = kind === "state" ? parseStateChange(text) : null;
  if (to === null) return text;
  const from = parseStateBefore(text);
  return from === null ? stateText(to) : `${stateText(from)} → ${stateText(to)}`;
}
