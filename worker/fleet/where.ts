// A filter as SQL over the columns of a search. Every text of a filter is a binding.
import type { LabelRequirement } from "../../shared/kubernetes/label-selector.ts";
import type { ConditionTerm, MachineFilter, VersionTerm } from "../../shared/fleet/machine-filter.ts";
import { versionKey } from "../../shared/fleet/sort-keys.ts";

export interface Where {
  /** "": every machine. Expects the columns of a search, and in `words` the table of words. */
  sql: string;
  bindings: (string | number)[];
}

const FOUND = "instr(labels, ?) > 0";

/** `beside` has to be an address by now; `words` is the table in which a text is looked for. */
export function whereOf(filter: Omit<MachineFilter, "beside">, words: string): Where {
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
  terms.push(...(condition ?? []).map(conditionTerm));
  terms.push(...(selector ?? []).map(labelTerm));
  if (text !== undefined)
    add(`name IN (SELECT name FROM ${words} WHERE instr(words, ?) > 0)`, text.toLowerCase());
  return {
    sql: terms.map(({ sql }) => sql).join(" AND "),
    bindings: terms.flatMap(({ bindings }) => bindings),
  };
}

function versionTerm({ operator, version }: VersionTerm): Where {
  return operator === "=" || operator === "!="
    ? { sql: `shim_version ${operator} ?`, bindings: [version] }
    : { sql: `(version_key ${operator} ? AND version_key <> '')`, bindings: [versionKey(version)] };
}

function conditionTerm({ type, status, isNegated }: ConditionTerm): Where {
  return { sql: `instr(conditions, ?) ${isNegated ? "=" : ">"} 0`, bindings: [`\n${type}=${status}\n`] };
}

/** What apimachinery's Requirement.Matches says of a Node's labels. */
function labelTerm({ key, operator, values }: LabelRequirement): Where {
  switch (operator) {
    case "exists":
      return { sql: FOUND, bindings: [`\n${key}=`] };
    case "absent":
      return { sql: `NOT ${FOUND}`, bindings: [`\n${key}=`] };
    case "in":
    case "notin": {
      const any = `(${values.map(() => FOUND).join(" OR ")})`;
      const bindings = values.map((value) => `\n${key}=${value}\n`);
      return { sql: operator === "in" ? any : `NOT ${any}`, bindings };
    }
    default:
      return numberTerm(key, operator, values[0] ?? "");
  }
}

const INT64_MAX = String(2n ** 63n - 1n);
const digitsOf = (value: string) => value.replace(/^0+/, "");

/**
 * The label's value begins behind `\nkey=`, and has to be digits alone (no label's value begins with a sign). Numbers
 * without zeros before them compare by length and text, whatever their size.
 */
function numberTerm(key: string, operator: ">" | "<", value: string): Where {
  const digits = digitsOf(value);
  const found = `\n${key}=`;
  const sql = `EXISTS (SELECT 1 FROM (
    SELECT ltrim(v, '0') AS n FROM (
      SELECT substr(rest, 1, instr(rest, char(10)) - 1) AS v FROM (
        SELECT substr(labels, instr(labels, ?) + ${found.length}) AS rest)
    ) WHERE v <> '' AND v NOT GLOB '*[^0-9]*'
  ) WHERE (length(n), n) <= (${INT64_MAX.length}, '${INT64_MAX}') AND (length(n), n) ${operator} (${digits.length}, ?))`;
  return { sql: `(${FOUND} AND ${sql})`, bindings: [found, found, digits] };
}
