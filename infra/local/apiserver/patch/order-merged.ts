// The order of a merged list: what the patch asks for, interleaved with the order the list had. Merges nothing.
import type { Json } from "../../../../shared/kubernetes/json.ts";
import { identity, ranks, sortByOrder } from "../../../../shared/kubernetes/patch/list-order.ts";

/**
 * Orders a merged list: items in `patchOrder` stand in that order; the server's own are put between them by the
 * order of the list as the server had it (upstream: partition…ByPresentInList, normalizeElementOrder).
 */
export function orderMerged(
  merged: Json[],
  patchOrder: Json[],
  serverOrder: Json[],
  key: string | null,
): Json[] {
  const wanted = ranks(patchOrder, key);
  const patched = merged.filter((item) => wanted.has(identity(item, key)));
  const serverOnly = merged.filter((item) => !wanted.has(identity(item, key)));
  return interleave(
    sortByOrder(serverOnly, serverOrder, key),
    sortByOrder(patched, patchOrder, key),
    ranks(serverOrder, key),
    key,
  );
}

/** Puts each item of `left` before the first of `right` that the server had after it (upstream: mergeSortedSlice). */
function interleave(left: Json[], right: Json[], serverRank: Map<Json, number>, key: string | null): Json[] {
  const result: Json[] = [];
  let next = 0;
  for (const item of right) {
    const rank = serverRank.get(identity(item, key));
    while (next < left.length) {
      const leftRank = serverRank.get(identity(left[next], key));
      if (rank === undefined || leftRank === undefined || leftRank >= rank) break;
      result.push(left[next++]!);
    }
    result.push(item);
  }
  return [...result, ...left.slice(next)];
}
