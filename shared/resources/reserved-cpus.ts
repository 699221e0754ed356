// The kubelet's --reserved-cpus, a list such as "0-3,8", and what it does to the reservations.
import { quote } from "../go/strings.ts";

/** The CPU part of a configuration, as texts by resource. */
export interface ReservedTexts {
  systemReserved: Record<string, string>;
  kubeReserved: Record<string, string>;
}

export type ReservedTextsResult =
  { reserved: ReservedTexts; error: null } | { reserved: null; error: string };

/**
 * Upstream's rule for reservedSystemCPUs: the number of listed CPUs replaces both CPU reservations; an empty list
 * changes nothing. A CPU beyond `numCores` is an error.
 */
export function withReservedCpus(
  reserved: ReservedTexts,
  list: string,
  numCores: number,
): ReservedTextsResult {
  const { count, highest, error } = countCpus(list);
  if (error !== null) return { reserved: null, error: `unable to parse reserved-cpus list: ${error}` };
  if (count === 0) return { reserved, error: null };
  if (highest >= numCores) {
    const online = numCores === 1 ? "0" : `0-${numCores - 1}`;
    return { reserved: null, error: `reserved-cpus: ${list} is not a subset of online-cpus: ${online}` };
  }
  const { cpu: _cpu, ...kubeReserved } = reserved.kubeReserved;
  return {
    reserved: { kubeReserved, systemReserved: { ...reserved.systemReserved, cpu: String(count) } },
    error: null,
  };
}

type CpuCount =
  { count: number; highest: number; error: null } | { count: null; highest: null; error: string };

/** Upstream cpuset.Parse, which accepts ranges that overlap; counts each CPU once. */
function countCpus(list: string): CpuCount {
  const ranges: [first: number, last: number][] = [];
  for (const range of list === "" ? [] : list.split(",")) {
    const at = range.indexOf("-");
    const bounds = at < 0 ? [range] : [range.slice(0, at), range.slice(at + 1)];
    const numbers = bounds.map((bound) => (/^\+?\d{1,15}$/.test(bound) ? Number(bound) : null));
    const wrong = numbers.indexOf(null);
    if (wrong >= 0) return refused(`strconv.Atoi: parsing ${quote(bounds[wrong] ?? "")}: invalid syntax`);
    const [first = 0, last = first] = numbers.map(Number);
    if (first > last) return refused(`invalid range ${quote(range)} (${first} > ${last})`);
    ranges.push([first, last]);
  }
  let count = 0;
  let highest = -1;
  for (const [first, last] of ranges.sort(([a], [b]) => a - b)) {
    const counted = Math.max(first, highest + 1);
    if (last >= counted) count += last - counted + 1;
    highest = Math.max(highest, last);
  }
  return { count, highest, error: null };
}

function refused(error: string): CpuCount {
  return { count: null, highest: null, error };
}
