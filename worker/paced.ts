// Limits how fast an object sends requests to many other objects.

export interface Pace {
  /** The number of requests that begin in a second. */
  aSecond: number;
  /** The number of requests that run at the same time. */
  atOnce: number;
}

/** Runs `works` at this pace, and resolves once all have ended. Taking a promise from the iterable starts its work. */
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
