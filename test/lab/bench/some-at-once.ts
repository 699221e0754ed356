// Processes many items, some of them at a time.

/** Runs this number at a time, and starts the next as soon as one is done. Results are in the order of the items. */
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
