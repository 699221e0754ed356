// Stores mutes: filters whose machines and states cause no notification for a time. Also matches receivers' filters.
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
  /** A label selector; "" matches all machines. */
  selector: string;
  /** A pattern for names; "" matches all machines. */
  names: string;
  states: readonly AlertState[];
}

/** Reports whether the filter matches the machine in this state. The selector must be valid. */
export function filterMatches(
  { selector, names, states }: AlertFilter,
  name: string,
  state: AlertState,
  { labels }: Pick<MachineSummary, "labels">,
): boolean {
  if (!states.includes(state) || (names !== "" && !nameMatches(names, name))) return false;
  return matchesLabels(valueOr(parseLabelSelector(selector), []), labels);
}

/** An error in one field of a request's body, for the answer. */
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

type ParsedMute = MuteRow & { parsed: AlertFilter; isNamed: (name: string) => boolean };

export class Mutes {
  readonly #sql: SqlStorage;
  /** The cached rows, with their filters parsed; undefined until the first read. */
  #known: ParsedMute[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Returns when the active mute that matches the machine ends; null if no active mute matches. */
  untilMs(
    name: string,
    state: AlertState,
    summary: Pick<MachineSummary, "labels">,
    nowMs: number,
  ): number | null {
    const first = this.#all().find(
      ({ from_ms, until_ms, parsed, isNamed }) =>
        from_ms <= nowMs &&
        nowMs < until_ms &&
        isNamed(name) &&
        filterMatches({ ...parsed, names: "" }, name, state, summary),
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

  /** Returns the first error of a new mute, with its field; null if the mute is valid. */
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

  /** Returns all mutes, sorted by their end, latest first: the first match is then the mute that ends last. */
  #all(): ParsedMute[] {
    return (this.#known ??= this.#sql
      .exec<MuteRow>("SELECT * FROM mutes ORDER BY until_ms DESC, id")
      .toArray()
      .map((row) => {
        const parsed = JSON.parse(row.filter) as AlertFilter;
        return { ...row, parsed, isNamed: nameTest(parsed.names) };
      }));
  }
}

/** Returns a function that tests a name for a mute's names and patterns, which commas separate; "" matches all names. */
function nameTest(text: string): (name: string) => boolean {
  if (text === "") return () => true;
  // A mute may have hundreds of names, and each change of a machine's state is tested.
  const all = text.split(",");
  const names = new Set(all);
  const patterns = all.filter((each) => each.includes("*"));
  return (name) => names.has(name) || patterns.some((pattern) => nameMatches(pattern, name));
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
