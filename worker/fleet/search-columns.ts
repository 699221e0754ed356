// By what machines are found: the columns of a search, made of a summary. Pure.
import { addressKey, versionKey } from "../../shared/fleet/sort-keys.ts";
import type { MachineSummary } from "../../shared/fleet/summary.ts";

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
  "conditions",
  "labels",
] as const;

export function searchValues(name: string, summary: MachineSummary): (string | number)[] {
  const { state, sinceMs, phase, versions, address, key, conditions, labels } = summary;
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
    pairsText(conditions.map(({ type, status }) => [type, status])),
    pairsText(Object.entries(labels)),
  ];
}

/** What a text is looked for in: in small letters, each once. */
export function wordsOf(name: string, { address, addresses, labels, versions }: MachineSummary): string {
  const shown = addresses.map((each) => each.address);
  const words = [name, address, ...shown, ...Object.values(labels), ...Object.values(versions)];
  return [...new Set(words)].join("\n").toLowerCase();
}

/**
 * A set of pairs as a text in which one of them is found without parsing: each between line breaks, which neither a
 * label nor a condition's type can have.
 */
export function pairsText(pairs: readonly (readonly [string, string])[]): string {
  return pairs.length === 0 ? "" : `\n${pairs.map(([key, value]) => `${key}=${value}`).join("\n")}\n`;
}
