// Limits how fast an object asks many others.

export interface Pace {
  /** Works that begin in a second. */
  aSecond: number;
  /** Works that run at the same time. */
  atOnce: number;
}

/** Begins the works at this pace, and resolves once all have ended. `works` begins each work as it yields its promise. */
export async function paced(
  works: Iterable<Promise<unknown>>,
  { aSecond, atOnce }: Pace,
  pause: (ms: number) => Promise<void>, // typically `pause` of clock.ts
): Promise<void> {
  const underWay = new Set<Promise<unknown>>();
  for (const work of works) {
    const done = work.finally(() => underWay.delete(done));
    underWay.add(done);
    await pause(1000 / aSecond);
    if (underWay.size >= atOnce) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}
