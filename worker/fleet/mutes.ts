// Filters by which receivers and mutes choose machines, and the rows of mutes: who is not told of, from when until when.
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
  /** "": all. */
  selector: string;
  /** "": all. */
  names: string;
  states: readonly AlertState[];
}

/** A selector that was taken once parses. */
export function filterMatches(
  { selector, names, states }: AlertFilter,
  name: string,
  state: AlertState,
  { labels }: Pick<MachineSummary, "labels">,
): boolean {
  if (!states.includes(state) || (names !== "" && !nameMatches(names, name))) return false;
  return selector === "" || matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
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
  /** Of an object that is in memory. */
  #known: (MuteRow & { parsed: AlertFilter })[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Until when this is not told, as far as is known now; null: it may be told. */
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

  /** Others have changed the rows. */
  lookAgain(): void {
    this.#known = undefined;
  }

  list(nowMs: number): ListedMute[] {
    return this.#all()
      .filter(({ until_ms }) => until_ms > nowMs)
      .map(shownMute);
  }

  /** What is wrong with one that is to be made, and with which field; null: nothing. */
  faultOf({ from, until }: NewMute, nowMs: number): { path: string; message: string } | null {
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

  /** The one that ends last is the first, so that what is muted is looked at once. */
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
