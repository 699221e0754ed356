// Works on many things, some of them at a time.

/** So many at a time, each as soon as another one is done. Outcomes in the order of the items. */
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
