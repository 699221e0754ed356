// Provides the fleet as signals: the machines that the feed has sent, and whether the feed still works.
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { type FeedMachine, type FeedUpdate, FeedView } from "../../../shared/fleet/feed-view.ts";
import type { FeedChanges, FeedMessage, FeedSnapshot } from "../../../shared/protocol/feed.ts";
import type { PendingMachine } from "../../../shared/protocol/operator-answers.ts";
import type { Outage } from "../../../shared/protocol/outages.ts";
import type { RequestFault } from "../base/api.ts";
import { elapsedMs } from "../base/clock.ts";
import { FeedClient, type FeedClientSurroundings } from "./feed-client.ts";

/** Milliseconds without a message until the page shows the fleet as stale. */
export const STALE_AFTER_MS = 5000;
/** Milliseconds after the page becomes visible without a stale sign, so that the connection can answer. */
const ANSWERS_WITHIN_MS = 1500;

/** The state of the feed. `connecting`: no message has arrived yet. `stale`: the shown fleet is as of `sinceMs`. */
type FeedConnection =
  | { kind: "connecting"; fault: RequestFault | null }
  | { kind: "live" }
  | { kind: "stale"; sinceMs: number; fault: RequestFault | null };

interface LiveSurroundings extends Pick<
  FeedClientSurroundings,
  "ask" | "now" | "isSeen" | "random" | "later"
> {
  openSocket: FeedClientSurroundings["open"];
  /** The present time in milliseconds since 1970, as a signal that changes regularly. */
  clock: ReadonlySignal<number>;
}

const NOTHING: FeedUpdate = { isWhole: false, changed: [], gone: [] };
const LIVE: FeedConnection = { kind: "live" };

export class LiveFleet {
  #view = new FeedView();
  readonly #client: FeedClient;
  readonly #now: () => number;
  readonly #revision = signal(0);
  readonly #lastUpdate = signal(NOTHING);
  readonly #counts = signal<Readonly<Record<string, number>>>({});
  readonly #pending = signal<readonly PendingMachine[]>([]);
  readonly #outages = signal<ReadonlyMap<number, Outage>>(new Map());
  readonly #isKnown = signal(false);
  readonly #provenMs = signal(0);
  /** When the page last became visible, in milliseconds since 1970. */
  readonly #seenMs = signal(0);
  readonly #fault = signal<RequestFault | null>(null);

  /** A number that increases with each message that changes a machine. */
  readonly revision: ReadonlySignal<number> = this.#revision;
  /** The changes of the last message that changed a machine. */
  readonly lastUpdate: ReadonlySignal<FeedUpdate> = this.#lastUpdate;
  readonly counts: ReadonlySignal<Readonly<Record<string, number>>> = this.#counts;
  readonly pending: ReadonlySignal<readonly PendingMachine[]> = this.#pending;
  /** The outages by ID, including ended ones. */
  readonly outages: ReadonlySignal<ReadonlyMap<number, Outage>> = this.#outages;
  /** true if a whole fleet has arrived. */
  readonly isKnown: ReadonlySignal<boolean> = this.#isKnown;
  readonly connection: ReadonlySignal<FeedConnection>;

  constructor({ ask, openSocket, clock, now, ...around }: LiveSurroundings) {
    this.#now = now;
    this.connection = computed(() => {
      if (!this.#isKnown.value) return { kind: "connecting", fault: this.#fault.value };
      const provenMs = this.#provenMs.value;
      const hasJustReturned = clock.value - this.#seenMs.value < ANSWERS_WITHIN_MS;
      // A lost connection is usually back at once, so the sign appears only after STALE_AFTER_MS and does not flicker.
      if (clock.value - provenMs < STALE_AFTER_MS || hasJustReturned) return LIVE;
      return { kind: "stale", sinceMs: provenMs, fault: this.#fault.value };
    });
    this.#client = new FeedClient({
      ask,
      open: openSocket,
      cursor: () => this.#view.cursor,
      take: (message) => this.#take(message),
      onProof: (nowMs) => this.#proven(nowMs),
      onGone: (fault) => {
        this.#fault.value = fault;
      },
      // The shown fleet stays until a whole fleet arrives.
      forget: () => {
        this.#view.cursor = null;
      },
      now,
      ...around,
    });
  }

  /** Returns the machines by name. A component that calls this function also subscribes to `revision`. */
  machines(): ReadonlyMap<string, FeedMachine> {
    return this.#view.machines;
  }

  start(): void {
    this.#client.start();
  }

  /** Stops the feed and clears all that it has sent, because another operator may sign in on this page. */
  stop(): void {
    this.#client.stop();
    const gone = [...this.#view.machines.keys()];
    this.#view = new FeedView();
    batch(() => {
      this.#isKnown.value = false;
      this.#counts.value = {};
      this.#pending.value = [];
      this.#outages.value = new Map();
      this.#lastUpdate.value = { isWhole: true, changed: [], gone };
      this.#revision.value += 1;
    });
  }

  wake(): void {
    this.#seenMs.value = this.#now();
    this.#client.wake();
  }

  #proven(nowMs: number): void {
    batch(() => {
      this.#provenMs.value = nowMs;
      this.#fault.value = null;
    });
  }

  #take(message: FeedMessage): void {
    const beganMs = elapsedMs();
    const update = this.#view.take(message);
    if (message.type !== "hello") batch(() => this.#show(message, update));
    measureOnceShown(beganMs);
  }

  #show(message: FeedSnapshot | FeedChanges, update: FeedUpdate): void {
    const { machines, outages, pending } = this.#view;
    const hasChanged = update.isWhole || update.changed.length + update.gone.length > 0;
    if (message.type === "changes" || message.isLast) this.#isKnown.value = true;
    if (message.counts) this.#counts.value = message.counts;
    else if (hasChanged) this.#counts.value = countsOf(machines.values());
    if (message.pending) this.#pending.value = pending;
    if (message.outages || update.isWhole) this.#outages.value = new Map(outages);
    if (!hasChanged) return;
    this.#lastUpdate.value = update;
    this.#revision.value += 1;
  }
}

function countsOf(machines: Iterable<FeedMachine>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of machines) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

const MEASURE = "rollcall:feed";
/** The number of measurements that are kept. A browser would keep all, and a page may be open for weeks. */
const MEASURES = 100;

/** Measures the time from a message until its changes are in the document, for npm run bench. */
function measureOnceShown(beganMs: number): void {
  const { port1, port2 } = new MessageChannel();
  port1.addEventListener("message", () => {
    if (performance.getEntriesByName(MEASURE).length >= MEASURES) performance.clearMeasures(MEASURE);
    performance.measure(MEASURE, { start: beganMs });
    port1.close();
  });
  port1.start();
  port2.postMessage(null);
}
