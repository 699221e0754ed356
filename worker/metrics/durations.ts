// How long requests to the apiserver took, by verb and code, since this object is in memory: a row for each would cost
// more than it tells.
import { DURATION_BUCKETS, type Sample } from "./metrics.ts";

/** Requests as KubeConnection makes them. */
type Ask = (url: string, init: RequestInit) => Promise<Response>;

interface Taken {
  counts: number[];
  sum: number;
  sinceMs: number;
}

export class Durations {
  readonly #nowMs: () => number;
  /** By verb and code. */
  readonly #taken = new Map<string, Taken>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The same function, whose requests are counted when they are answered. */
  timed(ask: Ask): Ask {
    return async (url, init) => {
      const startedMs = this.#nowMs();
      const note = (code: string) => {
        this.note(verbOf(url, init), code, startedMs);
      };
      try {
        const response = await ask(url, init);
        note(String(response.status));
        return response;
      } catch (error) {
        note("none");
        throw error;
      }
    };
  }

  samples(): Sample[] {
    return [...this.#taken].map(([key, { counts, sum, sinceMs }]) => {
      const [verb = "", code = ""] = key.split(" ");
      return { labels: { verb, code }, value: { counts: [...counts], sum }, sinceMs };
    });
  }

  /** A request that began then is answered; `code` is `none` where it is not. */
  note(verb: string, code: string, startedMs: number): void {
    const nowMs = this.#nowMs();
    const key = `${verb} ${code}`;
    const taken = this.#taken.get(key) ?? this.#begin(key, nowMs);
    // A clock that was put back.
    const seconds = Math.max(0, nowMs - startedMs) / 1000;
    const index = DURATION_BUCKETS.findIndex((bound) => seconds <= bound);
    const at = index === -1 ? DURATION_BUCKETS.length : index;
    taken.counts[at] = (taken.counts[at] ?? 0) + 1;
    taken.sum += seconds;
  }

  #begin(key: string, sinceMs: number): Taken {
    const taken = { counts: [...DURATION_BUCKETS, 0].map(() => 0), sum: 0, sinceMs };
    this.#taken.set(key, taken);
    return taken;
  }
}

/** A watch is asked for with GET, and is no reading of one object. */
function verbOf(url: string, { method = "GET" }: RequestInit): string {
  return new URL(url).searchParams.has("watch") ? "WATCH" : method;
}
