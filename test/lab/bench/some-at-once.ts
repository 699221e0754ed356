// Processes many items, a limited number at a time.

/**
 * Runs `work` for `atOnce` items at a time, and starts the next as soon as one is done. Returns the results in the
 * order of the items.
 */
export async function someAtOnce<Item, Outcome>(
  atOnce: number,
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Outcome>,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const left = items.entries();
  const workOff = async () => {
    for (const [index, item] of left) outcomes[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: atOnce }, workOff));
  return outcomes;
}
