// The changes that wait until the objects of their machines know them: deletions first, no faster than an apiserver that
// is just back can bear, and only for machines that the registry knows. Kept in memory beside node-rows.ts.
import type { Node } from "../../shared/kubernetes/types.ts";
import { inTime } from "../kube/deadline.ts";
import type { Log } from "../log.ts";

export const NOTICE_LIMITS = {
  aSecond: 50,
  /** Of one turn of the alarm: the platform counts what an invocation asks others for. */
  aTurn: 400,
  atOnce: 4,
  /** Characters of Nodes that are kept for those who wait; without its Node, a machine's object asks for it. */
  keptLength: 8 * 1024 * 1024,
  /** So many Nodes that turn Unknown within a beat are told of at once; the others first have the time to report. */
  unknownAtOnce: 20,
} as const;
/** Several changes in a row, as at a creation, are one notice. */
const COALESCE_MS = 500;
/** More than the kubelet's default interval of reports. */
const BEAT_MS = 12_000;
const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** How long the registry or a machine's object may take: a turn of the watch ends after what it has under way. */
const ANSWER_WITHIN_MS = 8000;

/** `gone`: from the list. `unknown`: the node controller has given it up. */
export type ChangeKind = "gone" | "unknown" | "changed";

interface Waiting {
  kind: ChangeKind;
  /** As it was seen last; null: whoever is told asks for it. */
  node: Node | null;
  length: number;
  sinceMs: number;
  failures: number;
  notBeforeMs: number;
}

export interface NoticeDependencies {
  /** Of these names, those that have a machine. */
  known: (names: string[]) => Promise<string[]>;
  /** Tells a machine's object. */
  tell: (name: string, node: Node | null) => Promise<void>;
  /** Just before: from now on nobody knows what its object knows. */
  onTelling: (name: string) => void;
  /** Its object knows of it, or it has none. */
  onTold: (name: string) => void;
  /** Typically currentMs. */
  nowMs: () => number;
  /** Typically `pause` of clock.ts. */
  pause: (ms: number) => Promise<void>;
  log: Log;
}

export class Notices {
  readonly #with: NoticeDependencies;
  readonly #waiting = new Map<string, Waiting>();
  #keptLength = 0;
  /** When Nodes turned Unknown, within the last beat: those told of meanwhile count as well. */
  #unknownAtMs: number[] = [];
  #left: number = NOTICE_LIMITS.aTurn;
  #isOpen = false;
  #running: Promise<void> | undefined;
  #onSpent: () => void = () => undefined;

  constructor(dependencies: NoticeDependencies) {
    this.#with = dependencies;
  }

  /** A turn of the alarm begins, and the apiserver answers. `onSpent`: no more is told in this turn. */
  open(onSpent: () => void): void {
    this.#left = NOTICE_LIMITS.aTurn;
    this.#isOpen = true;
    this.#onSpent = onSpent;
    this.#start();
  }

  /** Tells those that are due soon, and closes. */
  async finish(): Promise<void> {
    const isSoon = () => (this.nextMs() ?? Infinity) <= this.#with.nowMs() + BEAT_MS;
    while (!this.#isSpent && isSoon()) await this.#with.pause(COALESCE_MS);
    await this.close();
  }

  /** Nothing more is begun. Resolves once nothing is under way. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#running;
  }

  put(name: string, kind: ChangeKind, node: Node | null, length: number): void {
    const before = this.#waiting.get(name);
    this.#keptLength -= before?.length ?? 0;
    const isKept = node !== null && this.#keptLength + length <= NOTICE_LIMITS.keptLength;
    if (isKept) this.#keptLength += length;
    if (kind === "unknown" && before?.kind !== kind) this.#unknownAtMs.push(this.#with.nowMs());
    // In its place: one that changes all the time must not go to the end of the queue each time.
    this.#waiting.set(name, {
      kind,
      node: isKept ? node : null,
      length: isKept ? length : 0,
      sinceMs: before?.kind === kind ? before.sinceMs : this.#with.nowMs(),
      failures: before?.failures ?? 0,
      notBeforeMs: before?.notBeforeMs ?? 0,
    });
    this.#start();
  }

  /** There is nothing to tell any more. */
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

  /** When the next one is due, in milliseconds since 1970; null: none waits. */
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

  /** A notice takes the registry's answer as well. */
  get #isSpent(): boolean {
    return this.#left < 2;
  }

  async #run(): Promise<void> {
    while (this.#isOpen && !this.#isSpent && this.#waiting.size > 0) {
      const names = this.#due().slice(0, Math.min(NOTICE_LIMITS.aSecond, this.#left - 1));
      if (names.length === 0) await this.#with.pause(this.#untilNextMs());
      else await this.#tellAll(names);
    }
  }

  #untilNextMs(): number {
    const waitMs = (this.nextMs() ?? 0) - this.#with.nowMs();
    return Math.min(Math.max(waitMs, 1), COALESCE_MS);
  }

  /** Names, deletions first. */
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

  async #tellAll(names: string[]): Promise<void> {
    this.#left--;
    const known = await this.#known(names);
    if (!known) return;
    const underWay = new Set<Promise<void>>();
    for (const name of names) {
      if (!this.#isOpen) break;
      const waiting = this.#waiting.get(name);
      if (!waiting) continue;
      if (!known.has(name)) this.#done(name, waiting);
      else {
        const told = this.#tell(name, waiting).finally(() => underWay.delete(told));
        underWay.add(told);
        this.#left--;
        await this.#with.pause(1000 / NOTICE_LIMITS.aSecond);
        if (underWay.size >= NOTICE_LIMITS.atOnce) await Promise.race(underWay);
      }
    }
    await Promise.all(underWay);
  }

  /** null: the registry does not answer, and all of them wait. */
  async #known(names: string[]): Promise<Set<string> | null> {
    try {
      return new Set(await inTime(ANSWER_WITHIN_MS, () => this.#with.known(names)));
    } catch (error) {
      for (const name of names) this.#postpone(name);
      this.#with.log({
        message: "the registry does not answer",
        error: String(error),
      });
      return null;
    }
  }

  async #tell(name: string, waiting: Waiting): Promise<void> {
    try {
      this.#with.onTelling(name);
      await inTime(ANSWER_WITHIN_MS, () => this.#with.tell(name, waiting.node));
      this.#done(name, waiting);
    } catch (error) {
      this.#postpone(name);
      this.#with.log({ node: name, message: "not told of a change of its Node", error: String(error) });
    }
  }

  #postpone(name: string): void {
    const waiting = this.#waiting.get(name);
    if (!waiting) return;
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** waiting.failures, LONGEST_WAIT_MS);
    waiting.failures++;
    waiting.notBeforeMs = this.#with.nowMs() + waitMs;
  }

  /** Unless it has changed again meanwhile. */
  #done(name: string, told: Waiting): void {
    if (this.#waiting.get(name) !== told) return;
    this.drop(name);
    this.#with.onTold(name);
  }
}
