// Identifies and orders the items of a list that merges.
import { isJsonObject, type Json, ownValue } from "../json.ts";

/** Returns the value of an item's merge key, the item itself if `key` is null, or null if the item lacks the key. */
export function identity(item: Json | undefined, key: string | null): Json {
  if (key === null) return item ?? null;
  return isJsonObject(item) ? (ownValue(item, key) ?? null) : null;
}

/** Returns the error of a keyed list's item without usable merge key, or null (upstream validateMergeKeyInLists). */
export function missingMergeKey(key: string, items: Json[]): string | null {
  for (const item of items) {
    if (!isJsonObject(item))
      return `expected a map with the merge key ${key}, but received ${JSON.stringify(item)}`;
    const id = ownValue(item, key);
    if (id === undefined) return noMergeKey(item, key);
    if (typeof id === "object" && id !== null)
      return `the merge key ${key} is no scalar: ${JSON.stringify(item)}`;
  }
  return null;
}

export function noMergeKey(item: Json, key: string): string {
  return `map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`;
}

/** Returns the index of each item in `order`, by the item's identity. */
export function ranks(order: Json[], key: string | null): Map<Json, number> {
  const ranks = new Map<Json, number>();
  order.forEach((item, index) => {
    const id = identity(item, key);
    if (!ranks.has(id)) ranks.set(id, index);
  });
  return ranks;
}

/**
 * Returns a copy of `items`, sorted by their place in `order` (upstream normalizeSliceOrder). As upstream, an item
 * that `order` lacks compares as less than every other item, on either side of the comparison. Such lists are
 * sorted by insertion, as Go does for up to 20 items.
 */
export function sortByOrder(items: Json[], order: Json[], key: string | null): Json[] {
  const rankOf = ranks(order, key);
  const sorted = items.map((item) => ({ item, rank: rankOf.get(identity(item, key)) }));
  if (sorted.every(({ rank }) => rank !== undefined)) {
    return sorted.sort((left, right) => left.rank! - right.rank!).map(({ item }) => item);
  }
  for (let end = 1; end < sorted.length; end++) {
    for (let place = end; place > 0; place--) {
      const lower = sorted[place - 1]!;
      const upper = sorted[place]!;
      if (upper.rank !== undefined && lower.rank !== undefined && upper.rank >= lower.rank) break;
      sorted[place - 1] = upper;
      sorted[place] = lower;
    }
  }
  return sorted.map(({ item }) => item);
}

/** Removes duplicates. The list's last item replaces a removed one, as in upstream's deduplicateScalars. */
export function withoutDuplicates(items: Json[]): Json[] {
  const kept = [...items];
  for (let first = 0; first < kept.length - 1; first++) {
    for (let second = first + 1; second < kept.length; second++) {
      if (kept[first] !== kept[second]) continue;
      const last = kept.pop()!;
      if (second < kept.length) kept[second] = last;
      second--;
    }
  }
  return kept;
}
