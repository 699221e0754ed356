// Notifies machines' objects that another writer changed their Node: deletions first, and only for machines that the
// registry knows. The rate is limited, since each notified object may read its Node from the apiserver.
import { backOff } from "../../shared/back-off.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Timer } from "../clock.ts";
import { inTime } from "../kube/deadline.ts";
import type { Log } from "../log.ts";
import { paced } from "../paced.ts";

export const NOTICE_LIMITS = {
  aSecond: 50,
  /** The most requests in one turn of the alarm: the platform limits the subrequests of an invocation. */
  aTurn: 400,
  atOnce: 4,
  /** The limit of characters of waiting Nodes. Above the limit, a notice has no Node: the machine's object reads it. */
  keptLength: 8 * 1024 * 1024,
  /** The most Nodes that may turn Unknown within BEAT_MS. Further notices wait: the machines may report first. */
  unknownAtOnce: 20,
} as const;
/** The time within which several changes of a Node, as at its creation, become one notice. */
const COALESCE_MS = 500;
/** The time in which each machine usually reports once: longer than the kubelet's default report interval. */
const BEAT_MS = 12_000;
const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** The deadline of a request to the registry or to a machine's object. */
const ANSWER_WITHIN_MS = 8000;

/** How a Node changed. `gone`: the Node does not exist. `unknown`: a node controller has set its Ready to Unknown. */
export type ChangeKind = "gone" | "unknown" | "changed";

export interface Change {
  kind: ChangeKind;
  /** The last seen state of the Node; null if the machine's object must read the Node. */
  node: Node | null;
  /** The Node's length as text. */
  length: number;
  /** The digest of the Node that was seen. */
  seen: string;
}

interface Waiting extends Change {
  sinceMs: number;
  failures: number;
  notBeforeMs: number;
}

export interface NoticeDependencies {
  /** Returns the names for which the registry has a machine. */
  known: (names: string[]) => Promise<string[]>;
  /** Sends a notice to a machine's object. */
  notify: (name: string, node: Node | null) => Promise<void>;
  /** Runs before a notice is sent. `seen`: the digest of the notice's Node. */
  onSending: (name: string, seen: string) => void;
  /** Runs once the object has confirmed the notice, or the registry does not know the machine. */
  onDone: (name: string, seen: string) => void;
  /** Returns milliseconds since 1970; typically currentMs. */
  nowMs: () => number;
  /** The object's timer. */
  timer: Timer | undefined;
  /** Waits for `ms` milliseconds; typically `pause` of clock.ts. */
  pause: (ms: number) => Promise<void>;
  log: Log;
}

export class Notices {
  readonly #with: NoticeDependencies;
  readonly #waiting = new Map<string, Waiting>();
  #keptLength = 0;
  /** The times within the last BEAT_MS at which Nodes turned Unknown, including Nodes whose objects are notified. */
  #unknownAtMs: number[] = [];
  #left: number = NOTICE_LIMITS.aTurn;
  #isOpen = false;
  #running: Promise<void> | undefined;
  #onSpent: () => void = () => undefined;

  constructor(dependencies: NoticeDependencies) {
    this.#with = dependencies;
  }

  /** Starts sending notices in this turn of the alarm. `onSpent` runs when the turn has used its requests. */
  open(onSpent: () => void): void {
    this.#left = NOTICE_LIMITS.aTurn;
    this.#isOpen = true;
    this.#onSpent = onSpent;
    this.#start();
  }

  /** Sends the notices that are due within BEAT_MS, then stops. */
  async finish(): Promise<void> {
    const isSoon = () => (this.nextMs() ?? Infinity) <= this.#with.nowMs() + BEAT_MS;
    while (!this.#isSpent && isSoon()) await this.#with.pause(COALESCE_MS);
    await this.close();
  }

  /** Starts no further notice. Resolves once the notices that are being sent have ended. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#running;
  }

  put(name: string, { kind, node, length, seen }: Change): void {
    const before = this.#waiting.get(name);
    this.#keptLength -= before?.length ?? 0;
    const isKept = node !== null && this.#keptLength + length <= NOTICE_LIMITS.keptLength;
    if (isKept) this.#keptLength += length;
    if (kind === "unknown" && before?.kind !== kind) this.#unknownAtMs.push(this.#with.nowMs());
    // Map.set keeps a key's place in the queue, so that a Node that changes constantly is not postponed for ever.
    this.#waiting.set(name, {
      kind,
      node: isKept ? node : null,
      length: isKept ? length : 0,
      seen,
      sinceMs: before?.kind === kind ? before.sinceMs : this.#with.nowMs(),
      failures: before?.failures ?? 0,
      notBeforeMs: before?.notBeforeMs ?? 0,
    });
    this.#start();
  }

  drop(name: string): void {
    this.#keptLength -= this.#waiting.get(name)?.length ?? 0;
    this.#waiting.delete(name);
  }

  waits(name: string): boolean {
    return this.#waiting.has(name);
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Returns when the next notice is due, in milliseconds since 1970; null if no notice waits. */
  nextMs(): number | null {
    if (this.#waiting.size === 0) return null;
    const dueAt = this.#dueTimes();
    return [...this.#waiting.values()].reduce((least, each) => Math.min(least, dueAt(each)), Infinity);
  }

  #start(): void {
    if (!this.#isOpen || this.#running || this.#waiting.size === 0) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isSpent) this.#onSpent();
      else this.#start();
    });
  }

  /** true if fewer than two requests are left: a notice needs one to the registry and one to the machine's object. */
  get #isSpent(): boolean {
    return this.#left < 2;
  }

  async #run(): Promise<void> {
    while (this.#isOpen && !this.#isSpent && this.#waiting.size > 0) {
      const names = this.#due().slice(0, Math.min(NOTICE_LIMITS.aSecond, this.#left - 1));
      if (names.length === 0) await this.#with.pause(this.#untilNextMs());
      else await this.#notifyAll(names);
    }
  }

  #untilNextMs(): number {
    const waitMs = (this.nextMs() ?? 0) - this.#with.nowMs();
    return Math.min(Math.max(waitMs, 1), COALESCE_MS);
  }

  /** Returns the names whose notices are due, deletions first. */
  #due(): string[] {
    const nowMs = this.#with.nowMs();
    const dueAt = this.#dueTimes();
    const due = [...this.#waiting].filter(([, waiting]) => dueAt(waiting) <= nowMs);
    const isGone = ([, { kind }]: (typeof due)[number]) => kind === "gone";
    return [...due.filter(isGone), ...due.filter((each) => !isGone(each))].map(([name]) => name);
  }

  #dueTimes(): (waiting: Waiting) => number {
    const beatAgoMs = this.#with.nowMs() - BEAT_MS;
    this.#unknownAtMs = this.#unknownAtMs.filter((atMs) => atMs > beatAgoMs);
    const delays: Record<ChangeKind, number> = {
      gone: 0,
      unknown: this.#unknownAtMs.length > NOTICE_LIMITS.unknownAtOnce ? BEAT_MS : 0,
      changed: COALESCE_MS,
    };
    return ({ kind, sinceMs, notBeforeMs }) => Math.max(sinceMs + delays[kind], notBeforeMs);
  }

  async #notifyAll(names: string[]): Promise<void> {
    this.#left--;
    const known = await this.#known(names);
    if (!known) return;
    await paced(this.#notices(names, known), NOTICE_LIMITS, this.#with.pause);
  }

  *#notices(names: string[], known: ReadonlySet<string>): Generator<Promise<void>> {
    for (const name of names) {
      if (!this.#isOpen) return;
      const waiting = this.#waiting.get(name);
      if (!waiting) continue;
      if (!known.has(name)) this.#done(name, waiting);
      else {
        this.#left--;
        yield this.#notify(name, waiting);
      }
    }
  }

  /** Returns the names that the registry knows. Without an answer, postpones all notices and returns null. */
  async #known(names: string[]): Promise<Set<string> | null> {
    try {
      return new Set(
        await inTime(ANSWER_WITHIN_MS, () => this.#with.known(names), undefined, this.#with.timer),
      );
    } catch (error) {
      for (const name of names) this.#postpone(name);
      this.#with.log({ message: "the registry does not answer", error: String(error) });
      return null;
    }
  }

  async #notify(name: string, waiting: Waiting): Promise<void> {
    try {
      this.#with.onSending(name, waiting.seen);
      await inTime(
        ANSWER_WITHIN_MS,
        () => this.#with.notify(name, waiting.node),
        undefined,
        this.#with.timer,
      );
      this.#done(name, waiting);
    } catch (error) {
      this.#postpone(name);
      this.#with.log({ node: name, message: "not told of a change of its Node", error: String(error) });
    }
  }

  #postpone(name: string): void {
    const waiting = this.#waiting.get(name);
    if (!waiting) return;
    waiting.failures++;
    waiting.notBeforeMs = this.#with.nowMs() + backOff(waiting.failures, FIRST_WAIT_MS, LONGEST_WAIT_MS);
  }

  /** Removes the notice of a Node, unless the Node has changed again since the notice was sent. */
  #done(name: string, sent: Waiting): void {
    if (this.#waiting.get(name) !== sent) return;
    this.drop(name);
    this.#with.onDone(name, sent.seen);
  }
}
