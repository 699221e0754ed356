// By what machines are found: the columns of a search, made of a summary. Pure. Machines have most of their labels, and
// most of their conditions' statuses, in common with many others: such a set is stored once, and each machine has its
// number, so that a search reads few bytes of each machine.
import { addressKey, versionKey } from "../../shared/fleet/sort-keys.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";
import { HOSTNAME_LABELS } from "../../shared/kubernetes/labels.ts";

export const SET_COLUMNS = ["label_set", "condition_set", "word_set"] as const;

/** Of the table `machines`, in the order of searchValues. */
export const SEARCH_COLUMNS = [
  "name",
  "state",
  "since_ms",
  "phase",
  "shim_version",
  "version_key",
  "address",
  "address_key",
  "token",
  "is_unused",
  "own_label",
  "own_words",
  ...SET_COLUMNS,
] as const;

/** The number of the empty set. */
export const EMPTY_SET = 0;

/** `sets`: the numbers of what setsOf returns. */
export function searchValues(
  name: string,
  summary: MachineSummary,
  sets: readonly number[],
): (string | number)[] {
  const { state, sinceMs, phase, versions, address, addresses, key, labels } = summary;
  const own = Object.entries(labels).filter(([label]) => HOSTNAME_LABELS.includes(label));
  return [
    name,
    state,
    sinceMs,
    phase ?? "",
    versions.shim,
    versionKey(versions.shim),
    address,
    addressKey(address),
    key.token,
    Number(!key.isUsed),
    pairsText(own),
    wordsText([name, ...own.map(([, value]) => value), address, ...addresses.map((each) => each.address)]),
    ...sets,
  ];
}

/** The texts of its sets, in the order of SET_COLUMNS: labels, conditions, words to look for. */
export function setsOf({ labels, conditions, versions }: MachineSummary): string[] {
  const common = Object.entries(labels).filter(([key]) => !HOSTNAME_LABELS.includes(key));
  return [
    pairsText(common.sort(([a], [b]) => (a < b ? -1 : 1))),
    pairsText(conditions.map(({ type, status }) => [type, status])),
    wordsText([...common.map(([, value]) => value), ...Object.values(versions)]),
  ];
}

/** In small letters, each once. */
const wordsText = (words: readonly string[]) => [...new Set(words)].sort().join("\n").toLowerCase();

/**
 * A set of pairs as a text in which one of them is found without parsing: each between line breaks, which neither a
 * label nor a condition's type can have.
 */
export function pairsText(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? "" : `\n${pairs.map(([key, value]) => `${key}=${value}`).join("\n")}\n`;
}
