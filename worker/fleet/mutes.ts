// Mutes: which machines and states cause no notification, and from when until when. Also the filter of receivers.
import type { AlertState } from "../../shared/fleet/alert.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { matchesLabels } from "../../shared/kubernetes/label-match.ts";
import { parseLabelSelector } from "../../shared/kubernetes/label-selector.ts";
import { NOTIFICATION_LIMITS } from "../../shared/protocol/limits.ts";
import type { NewMute } from "../../shared/protocol/receiver-api.ts";
import type { ListedMute } from "../../shared/protocol/receiver-answers.ts";
import { valueOr } from "../../shared/result.ts";
import { nameMatches } from "../identity/join-token.ts";

export interface AlertFilter {
  /** "" selects all. */
  selector: string;
  /** "" selects all. */
  names: string;
  states: readonly AlertState[];
}

/** The selector has been validated, so it parses. */
export function filterMatches(
  { selector, names, states }: AlertFilter,
  name: string,
  state: AlertState,
  { labels }: Pick<MachineSummary, "labels">,
): boolean {
  if (!states.includes(state) || (names !== "" && !nameMatches(names, name))) return false;
  return selector === "" || matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
}

/** What is wrong with a field of a request's body. */
export interface FieldFault {
  path: string;
  message: string;
}

type MuteRow = {
  id: number;
  from_ms: number;
  until_ms: number;
  filter: string;
  comment: string;
  who: string;
};

export class Mutes {
  readonly #sql: SqlStorage;
  /** A cache of the rows. */
  #known: (MuteRow & { parsed: AlertFilter })[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns the end of the active mute that matches; null if none matches. */
  untilMs(
    name: string,
    state: AlertState,
    summary: Pick<MachineSummary, "labels">,
    nowMs: number,
  ): number | null {
    const first = this.#all().find(
      ({ from_ms, until_ms, parsed }) =>
        from_ms <= nowMs && nowMs < until_ms && filterMatches(parsed, name, state, summary),
    );
    return first?.until_ms ?? null;
  }

  reload(): void {
    this.#known = undefined;
  }

  list(nowMs: number): ListedMute[] {
    return this.#all()
      .filter(({ until_ms }) => until_ms > nowMs)
      .map(shownMute);
  }

  /** Returns what is wrong with a new mute, and with which field; null if it is valid. */
  faultOf({ from, until }: NewMute, nowMs: number): FieldFault | null {
    const [fromMs, untilMs] = [from === undefined ? nowMs : Date.parse(from), Date.parse(until)];
    const { mutes, muteDays } = NOTIFICATION_LIMITS;
    if (untilMs <= Math.max(fromMs, nowMs))
      return { path: "/until", message: "must be after `from`, and not over" };
    if (untilMs > nowMs + muteDays * 24 * 3_600_000)
      return { path: "/until", message: `must be within ${muteDays} days` };
    return this.list(nowMs).length < mutes
      ? null
      : { path: "", message: `there are ${mutes} mutes: end one first` };
  }

  create({ from, until, comment, ...filter }: NewMute, who: string, nowMs: number): ListedMute {
    const [fromMs, untilMs] = [from === undefined ? nowMs : Date.parse(from), Date.parse(until)];
    this.#sql.exec("DELETE FROM mutes WHERE until_ms <= ?", nowMs);
    const insert = "INSERT INTO mutes VALUES (NULL, ?, ?, ?, ?, ?) RETURNING *";
    const row = this.#sql.exec<MuteRow>(insert, fromMs, untilMs, JSON.stringify(filter), comment, who).one();
    this.#known = undefined;
    return shownMute({ ...row, parsed: filter });
  }

  end(id: number): void {
    this.#known = undefined;
    this.#sql.exec("DELETE FROM mutes WHERE id = ?", id);
  }

  /** Returns all mutes, the one that ends last first, so that a muted machine is checked only once. */
  #all(): (MuteRow & { parsed: AlertFilter })[] {
    return (this.#known ??= this.#sql
      .exec<MuteRow>("SELECT * FROM mutes ORDER BY until_ms DESC, id")
      .toArray()
      .map((row) => ({ ...row, parsed: JSON.parse(row.filter) as AlertFilter })));
  }
}

function shownMute({
  id,
  from_ms,
  until_ms,
  comment,
  who,
  parsed: { selector, names, states },
}: MuteRow & { parsed: AlertFilter }): ListedMute {
  const [from, until] = [from_ms, until_ms].map((ms) => new Date(ms).toISOString()) as [string, string];
  return { id, selector, names, states: [...states], from, until, comment, who };
}
