// Simulates a clock without real waits: minutes of a fleet take a second of a test.

/** The number of turns in which all promises that follow from one timer are settled. */
const TURNS = 40;

export function virtualTime(nowMs: number) {
  let timers: { atMs: number; ring: () => void }[] = [];
  const settled = async () => {
    for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
  };
  const time = {
    nowMs: () => nowMs,
    /** Returns the number of timers that wait. */
    waiting: () => timers.length,
    /** Starts a timer. Returns a function that stops it. */
    after(ms: number, ring: () => void): () => void {
      const timer = { atMs: nowMs + ms, ring };
      timers.push(timer);
      return () => void (timers = timers.filter((each) => each !== timer));
    },
    every(ms: number, ring: () => void): () => void {
      let end = time.after(ms, again);
      function again(): void {
        ring();
        end = time.after(ms, again);
      }
      return () => end();
    },
    pause: (ms: number) => new Promise<void>((resolve) => void time.after(ms, resolve)),
    async pass(ms: number): Promise<void> {
      const untilMs = nowMs + ms;
      await settled();
      for (;;) {
        const next = timers.reduce<(typeof timers)[number] | undefined>(
          (first, each) => (first && first.atMs <= each.atMs ? first : each),
          undefined,
        );
        if (!next || next.atMs > untilMs) break;
        timers = timers.filter((each) => each !== next);
        nowMs = Math.max(nowMs, next.atMs);
        next.ring();
        await settled();
      }
      nowMs = untilMs;
    },
  };
  return time;
}
