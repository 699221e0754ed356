// A filter as SQL over the columns of a search. Every text of a filter is a binding.
import { HOSTNAME_LABELS } from "../../shared/kubernetes/labels.ts";
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type { ConditionTerm, MachineFilter, VersionTerm } from "../../shared/fleet/machine-filter.ts";
import type { SET_COLUMNS } from "./search-columns.ts";
import { versionKey } from "../../shared/fleet/sort-keys.ts";

export interface Where {
  /** "": every machine. Expects the columns of a search. */
  sql: string;
  bindings: (string | number)[];
}

/** `beside` has to be an address by now. */
export function whereOf(filter: Omit<MachineFilter, "beside">): Where {
  const { state, phase, condition, selector, version, address, token, unused, text, since, until } = filter;
  const terms: Where[] = [];
  const add = (sql: string, ...bindings: (string | number)[]) => terms.push({ sql, bindings });
  if (state) add("state IN (SELECT value FROM json_each(?))", JSON.stringify(state));
  if (phase) add("phase IN (SELECT value FROM json_each(?))", JSON.stringify(phase));
  if (address) add("address_key BETWEEN ? AND ?", address.from, address.to);
  if (token !== undefined) add("token = ?", token);
  if (unused !== undefined) add("is_unused = ?", Number(unused));
  if (since !== undefined) add("since_ms > ?", since);
  if (until !== undefined) add("since_ms <= ?", until);
  terms.push(...(version ?? []).map(versionTerm));
  if (condition) terms.push(inSet("condition_set", condition.map(conditionTerm)));
  const isOwn = ({ key }: LabelRequirement) => HOSTNAME_LABELS.includes(key);
  terms.push(...(selector ?? []).filter(isOwn).map((each) => labelTerm(each, "own_label")));
  const common = (selector ?? []).filter((each) => !isOwn(each)).map((each) => labelTerm(each, "text"));
  if (common.length > 0) terms.push(inSet("label_set", common));
  if (text !== undefined) {
    const word = text.toLowerCase();
    const { sql, bindings } = inSet("word_set", [{ sql: "instr(text, ?) > 0", bindings: [word] }]);
    add(`(instr(own_words, ?) > 0 OR ${sql})`, word, ...bindings);
  }
  return all(terms);
}

function all(terms: readonly Where[]): Where {
  return {
    sql: terms.map(({ sql }) => sql).join(" AND "),
    bindings: terms.flatMap(({ bindings }) => bindings),
  };
}

/** Sets are few: which of them match is found out once, not for each machine. */
function inSet(column: (typeof SET_COLUMNS)[number], terms: readonly Where[]): Where {
  const { sql, bindings } = all(terms);
  return { sql: `${column} IN (SELECT id FROM sets WHERE ${sql})`, bindings };
}

function versionTerm({ operator, version }: VersionTerm): Where {
  return operator === "=" || operator === "!="
    ? { sql: `shim_version ${operator} ?`, bindings: [version] }
    : { sql: `(version_key ${operator} ? AND version_key <> '')`, bindings: [versionKey(version)] };
}

function conditionTerm({ type, status, isNegated }: ConditionTerm): Where {
  return { sql: `instr(text, ?) ${isNegated ? "=" : ">"} 0`, bindings: [`\n${type}=${status}\n`] };
}

/** What apimachinery's Requirement.Matches says of the labels in this column. */
function labelTerm({ key, operator, values }: LabelRequirement, column: string): Where {
  const found = `instr(${column}, ?) > 0`;
  switch (operator) {
    case "exists":
      return { sql: found, bindings: [`\n${key}=`] };
    case "absent":
      return { sql: `NOT ${found}`, bindings: [`\n${key}=`] };
    case "in":
    case "notin": {
      const any = `(${values.map(() => found).join(" OR ")})`;
      const bindings = values.map((value) => `\n${key}=${value}\n`);
      return { sql: operator === "in" ? any : `NOT ${any}`, bindings };
    }
    default:
      return numberTerm({ key, operator, value: values[0] ?? "" }, column);
  }
}

const INT64_MAX = String(2n ** 63n - 1n);

/**
 * The label's value begins behind `\nkey=`, and has to be digits alone (no label's value begins with a sign). Numbers
 * without zeros before them compare by length and text, whatever their size.
 */
function numberTerm(term: { key: string; operator: ">" | "<"; value: string }, column: string): Where {
  const digits = term.value.replace(/^0+/, "");
  const begin = `\n${term.key}=`;
  const sql = `EXISTS (SELECT 1 FROM (
    SELECT ltrim(v, '0') AS n FROM (
      SELECT substr(rest, 1, instr(rest, char(10)) - 1) AS v FROM (
        SELECT substr(${column}, instr(${column}, ?) + ${begin.length}) AS rest)
    ) WHERE v <> '' AND v NOT GLOB '*[^0-9]*'
  ) WHERE (length(n), n) <= (${INT64_MAX.length}, '${INT64_MAX}') AND (length(n), n) ${term.operator} (${digits.length}, ?))`;
  return { sql: `(instr(${column}, ?) > 0 AND ${sql})`, bindings: [begin, begin, digits] };
}
