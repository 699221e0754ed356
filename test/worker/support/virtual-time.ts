// Simulates a clock without real waits: minutes of a fleet take a second of a test.

/** The number of turns in which all promises that follow from one timer are settled. */
const TURNS = 40;

interface Waiting {
  atMs: number;
  /** The order of timers that ring at the same time. */
  n: number;
  ring: (() => void) | null;
}

/** Resolves once all promises that follow from one timer are settled, if they are no more than TURNS. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
}

/** `settled` resolves once all work that follows from one timer has ended. */
export function virtualTime(nowMs: number, settled = turns) {
  const timers = new Queue();
  let [begun, stopped] = [0, 0];
  const time = {
    nowMs: () => nowMs,
    /** Returns the number of timers that wait. */
    waiting: () => timers.size - stopped,
    /** Starts a timer. Returns a function that stops it. */
    after(ms: number, ring: () => void): () => void {
      const timer: Waiting = { atMs: nowMs + ms, n: begun++, ring };
      timers.add(timer);
      return () => {
        if (timer.ring) stopped++;
        timer.ring = null;
      };
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
      for (let next = timers.first; next && next.atMs <= untilMs; next = timers.first) {
        timers.removeFirst();
        const { ring } = next;
        if (!ring) {
          stopped--;
          continue;
        }
        next.ring = null;
        nowMs = Math.max(nowMs, next.atMs);
        ring();
        await settled();
      }
      nowMs = untilMs;
    },
  };
  return time;
}

/** A binary heap of timers, the next one first. */
class Queue {
  readonly #heap: Waiting[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get first(): Waiting | undefined {
    return this.#heap[0];
  }

  add(timer: Waiting): void {
    let at = this.#heap.push(timer) - 1;
    for (let up = (at - 1) >> 1; at > 0 && this.#isBefore(at, up); up = (at - 1) >> 1)
      at = this.#swap(at, up);
  }

  removeFirst(): void {
    const last = this.#heap.pop();
    if (!last || this.#heap.length === 0) return;
    this.#heap[0] = last;
    for (let at = 0, down = this.#least(at); down !== at; down = this.#least(at)) at = this.#swap(at, down);
  }

  #least(at: number): number {
    let least = at;
    for (const child of [2 * at + 1, 2 * at + 2])
      if (child < this.#heap.length && this.#isBefore(child, least)) least = child;
    return least;
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one]!, this.#heap[other]!];
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.n < b.n);
  }

  #swap(from: number, to: number): number {
    [this.#heap[from], this.#heap[to]] = [this.#heap[to]!, this.#heap[from]!];
    return to;
  }
}
