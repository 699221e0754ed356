// Simulates sockets, a clock and timers for feeds without a network, with each client's messages and
// acknowledgements.
import { FeedView } from "../../../shared/fleet/feed-view.ts";
import type { FeedMessage } from "../../../shared/protocol/feed.ts";
import type { FeedSocket } from "../../../worker/fleet/feed.ts";

export class MadeUpSocket implements FeedSocket {
  readonly sent: string[] = [];
  view = new FeedView();
  closed: [code: number | undefined, reason: string | undefined] | null = null;
  #attachment: unknown;
  #taken = 0;

  send(text: string | ArrayBuffer | ArrayBufferView): void {
    if (this.closed) throw new Error("a closed socket was sent something");
    if (typeof text === "string") this.sent.push(text);
  }

  close(code?: number, reason?: string): void {
    this.closed = [code, reason];
  }

  /** Keeps a copy of the attachment, as a real socket does. Only this copy outlives an eviction. */
  serializeAttachment(attachment: unknown): void {
    this.#attachment = structuredClone(attachment);
  }

  deserializeAttachment(): unknown {
    return structuredClone(this.#attachment);
  }

  get messages(): FeedMessage[] {
    return this.sent.map((text) => JSON.parse(text) as FeedMessage);
  }

  /** Receives the next message, and returns the client's acknowledgement; null if there is no message. */
  take(): string | null {
    const message = this.messages[this.#taken];
    if (!message) return null;
    this.#taken += 1;
    this.view.take(message);
    return message.type === "hello" ? this.take() : JSON.stringify({ ack: message.cursor });
  }
}

export class MadeUpClock {
  nowMs = 1_000_000;
  #timers = new Map<number, { atMs: number; work: () => void }>();
  #last = 0;

  readonly after = (ms: number, work: () => void) => {
    const id = ++this.#last;
    this.#timers.set(id, { atMs: this.nowMs + ms, work });
    return () => {
      this.#timers.delete(id);
    };
  };

  get timers(): number {
    return this.#timers.size;
  }

  /** Simulates an eviction, which deletes all timers. */
  forget(): void {
    this.#timers.clear();
  }

  pass(ms: number): void {
    const untilMs = this.nowMs + ms;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, { atMs }]) => atMs <= untilMs)
        .sort(([, a], [, b]) => a.atMs - b.atMs);
      const [next] = due;
      if (!next) break;
      this.#timers.delete(next[0]);
      this.nowMs = Math.max(this.nowMs, next[1].atMs);
      next[1].work();
    }
    this.nowMs = untilMs;
  }
}
