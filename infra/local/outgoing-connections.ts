// Limits the requests that one Durable Object has in progress, as Cloudflare does and workerd does not.
// This file is a part of the local Worker's bundle and runs in workerd.

/** The most requests of one Durable Object, or of one invocation of a Worker, that wait for an answer's headers. */
export const MOST_CONNECTIONS = 6;

interface ConnectionCounts {
  /** The number of requests that have begun. */
  begun: number;
  /** The number of requests that had to wait for a connection. */
  waited: number;
  /** The largest number of requests that waited at the same time. */
  longestQueue: number;
}

/** The connections of one object. A request keeps its connection until the headers of its answer arrive. */
export class OutgoingConnections {
  readonly counts: ConnectionCounts = { begun: 0, waited: 0, longestQueue: 0 };
  readonly #waiting = new Set<() => void>();
  #open = 0;

  /** Sends a request once a connection is free: first come, first served. Rejects if `signal` aborts before. */
  async send<T>(request: () => Promise<T>, signal?: AbortSignal | null): Promise<T> {
    if (this.#open < MOST_CONNECTIONS) this.#open++;
    else await this.#wait(signal);
    this.counts.begun++;
    try {
      return await request();
    } finally {
      // A free connection passes to the next request, so that no later request overtakes it.
      const [next] = this.#waiting;
      if (next) next();
      else this.#open--;
    }
  }

  #wait(signal?: AbortSignal | null): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (settle: () => void) => () => {
      this.#waiting.delete(begin);
      signal?.removeEventListener("abort", drop);
      settle();
    };
    const begin = end(resolve);
    const drop = end(() => reject(signal?.reason));
    this.#waiting.add(begin);
    signal?.addEventListener("abort", drop);
    this.counts.waited++;
    this.counts.longestQueue = Math.max(this.counts.longestQueue, this.#waiting.size);
    return promise;
  }
}
