// The kubelet's --reserved-cpus, a list such as "0-3,8", and what it does to the reservations.
import { quote } from "../go/strings.ts";
import { failure, type Result, success } from "../result.ts";

/** The configured reservations, as texts by resource. */
export interface ReservedTexts {
  systemReserved: Record<string, string>;
  kubeReserved: Record<string, string>;
}

/**
 * Upstream's rule for reservedSystemCPUs: the number of listed CPUs replaces both CPU reservations; an empty list
 * changes nothing. A CPU beyond `numCores` is an error.
 */
export function withReservedCpus(
  reserved: ReservedTexts,
  list: string,
  numCores: number,
): Result<ReservedTexts> {
  const counted = countCpus(list);
  if (!counted.ok) return failure(`unable to parse reserved-cpus list: ${counted.error}`);
  const { count, highest } = counted.value;
  if (count === 0) return success(reserved);
  if (highest >= numCores) {
    const online = numCores === 1 ? "0" : `0-${numCores - 1}`;
    return failure(`reserved-cpus: ${list} is not a subset of online-cpus: ${online}`);
  }
  const { cpu: _cpu, ...kubeReserved } = reserved.kubeReserved;
  return success({ kubeReserved, systemReserved: { ...reserved.systemReserved, cpu: String(count) } });
}

/** Upstream cpuset.Parse, which accepts ranges that overlap; counts each CPU once. */
function countCpus(list: string): Result<{ count: number; highest: number }> {
  const ranges: [first: number, last: number][] = [];
  for (const range of list === "" ? [] : list.split(",")) {
    const at = range.indexOf("-");
    const bounds = at < 0 ? [range] : [range.slice(0, at), range.slice(at + 1)];
    const numbers = bounds.map((bound) => (/^\+?\d{1,15}$/.test(bound) ? Number(bound) : null));
    const wrong = numbers.indexOf(null);
    if (wrong >= 0) return failure(`strconv.Atoi: parsing ${quote(bounds[wrong] ?? "")}: invalid syntax`);
    const [first = 0, last = first] = numbers.map(Number);
    if (first > last) return failure(`invalid range ${quote(range)} (${first} > ${last})`);
    ranges.push([first, last]);
  }
  let count = 0;
  let highest = -1;
  for (const [first, last] of ranges.sort(([a], [b]) => a - b)) {
    const counted = Math.max(first, highest + 1);
    if (last >= counted) count += last - counted + 1;
    highest = Math.max(highest, last);
  }
  return success({ count, highest });
}
