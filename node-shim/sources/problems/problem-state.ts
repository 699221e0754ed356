// Holds the conditions and events of the problem monitors. A condition lasts until its monitor or an operator ends it, the
// end of its `for`, or the next boot. Repeated events are counted, so that a flood of one line is one event.
import type { DropIn } from "../../../shared/protocol/drop-ins.ts";
import { PROBLEM_LIMITS, DROP_IN_LIMITS } from "../../../shared/protocol/limits.ts";
import { printable } from "../../../shared/protocol/printable.ts";
import type { Clearing, ProblemEvent, Problems } from "../../../shared/protocol/problems.ts";
import type { ConditionConfig } from "./config.ts";

export type ReportedCondition = DropIn["conditions"][number];

/** The time after an event in which further events of its kind are counted, in milliseconds. Each flood doubles it. */
const FIRST_WINDOW_MS = 60_000;
const LONGEST_WINDOW_MS = 16 * 60_000;

export type NewEvent = Omit<ProblemEvent, "n">;

/** The events of one kind after the first one. */
interface Flood {
  event: NewEvent;
  endsMs: number;
  windowMs: number;
  count: number;
  message: string;
}

/** Holds the newest events of all monitors. */
export class ProblemEvents {
  readonly #start: string;
  readonly #nowMs: () => number;
  readonly #floods = new Map<string, Flood>();
  #events: ProblemEvent[] = [];
  #last = 0;

  constructor(
    start: string, // a random name of this process
    nowMs: () => number, // monotonic: typically monotonicMs
  ) {
    this.#start = start;
    this.#nowMs = nowMs;
  }

  /**
   * Records an event, or counts it if an event of the same kind was recorded shortly before. A change of a condition is
   * always an event of its own, because the machine then reports at once. Returns a name of the last event.
   */
  record(monitor: string, event: NewEvent): string {
    const nowMs = this.#nowMs();
    this.settle();
    if (event.condition !== undefined) return this.#add(event);
    const kind = JSON.stringify([monitor, event.reason]);
    const flood = this.#floods.get(kind);
    if (flood === undefined) {
      this.#floods.set(kind, {
        event,
        endsMs: nowMs + FIRST_WINDOW_MS,
        windowMs: FIRST_WINDOW_MS,
        count: 0,
        message: "",
      });
      return this.#add(event);
    }
    flood.count++;
    flood.message = event.message;
    return this.#name();
  }

  /** Ends the windows that are over, each with one event for all that it has counted. */
  settle(): void {
    const nowMs = this.#nowMs();
    for (const [kind, flood] of this.#floods) {
      if (nowMs < flood.endsMs) continue;
      if (flood.count === 0) {
        this.#floods.delete(kind);
        continue;
      }
      const times = `${flood.count} more within ${Math.round(flood.windowMs / 1000)} s`;
      this.#add({ ...flood.event, message: `${times}, the last: ${flood.message}` });
      const windowMs = Math.min(2 * flood.windowMs, LONGEST_WINDOW_MS);
      this.#floods.set(kind, { ...flood, windowMs, endsMs: nowMs + windowMs, count: 0 });
    }
  }

  #add(event: NewEvent): string {
    const message = cut(event.message, PROBLEM_LIMITS.messageLength);
    this.#events = [...this.#events, { ...event, n: ++this.#last, message }].slice(-PROBLEM_LIMITS.events);
    return this.#name();
  }

  #name(): string {
    return `${this.#start}.${this.#last}`;
  }

  /** Returns the number of the last event. */
  last(): number {
    return this.#last;
  }

  /** Returns the events for the facts. */
  facts(): Omit<Problems, "held"> {
    return { start: this.#start, events: this.#events };
  }
}

/** The most subjects of a condition. The newest ones count. */
const MOST_SUBJECTS = 32;

type Words = Pick<ReportedCondition, "reason" | "message">;

interface Present {
  config: ConditionConfig;
  reported: ReportedCondition;
  /** The monotonic time of the last match. */
  seenMs: number;
  /** The words about each subject that has the problem; empty if the rules name none. */
  subjects: Map<string, Words>;
  /** The name of the event of the last change, by which an operator ends this problem and no later one. */
  mark: string;
}

/** The conditions of a monitor that are not healthy, as they are stored: by type. */
export type StoredConditions = Record<
  string,
  Pick<ReportedCondition, "status"> &
    Words & { agedMs: number; mark: string; subjects: Record<string, Words> }
>;

/** Holds the conditions of one monitor. */
export class ProblemConditions {
  readonly #nowMs: () => number;
  readonly #record: (event: NewEvent) => string;
  readonly #all: Map<string, Present>;

  constructor(
    configs: readonly ConditionConfig[],
    nowMs: () => number, // monotonic
    record: (event: NewEvent) => string, // typically records in ProblemEvents
  ) {
    this.#nowMs = nowMs;
    this.#record = record;
    this.#all = new Map(
      configs.map((config) => [
        config.healthy.type,
        { config, reported: config.healthy, seenMs: 0, subjects: new Map(), mark: "" },
      ]),
    );
  }

  /**
   * Sets a condition. As upstream, only a change of status or reason changes the message and is an event. A further
   * subject is such a change too and, with `byMessage`, another message of a condition that is True.
   */
  set(
    type: string,
    status: ReportedCondition["status"],
    reason: string,
    message: string,
    { byMessage = false, subject }: { byMessage?: boolean; subject?: string | undefined } = {},
  ): void {
    const present = this.#all.get(type);
    if (present === undefined) return;
    present.seenMs = this.#nowMs();
    const { reported } = present;
    const now = { ...reported, status, reason, message: cut(message, DROP_IN_LIMITS.messageLength) };
    const isOther = byMessage && status === "True" && now.message !== reported.message;
    const isNews = isOther || (subject !== undefined && !present.subjects.has(subject));
    if (subject !== undefined) present.subjects.set(subject, { reason, message: now.message });
    if (present.subjects.size > MOST_SUBJECTS) present.subjects.delete(present.subjects.keys().next().value!);
    if (reported.status !== status || reported.reason !== reason || isNews) this.#change(present, now);
  }

  /**
   * Ends a condition; with a subject, the problem of that subject, and the condition once no other subject has it.
   * Returns false if there was nothing to end.
   */
  end(type: string, subject?: string): boolean {
    const present = this.#all.get(type);
    if (present === undefined || present.reported.status === "False") return false;
    const { subjects, reported, config } = present;
    if (subject !== undefined && !subjects.delete(subject)) return false;
    const left = subject === undefined ? undefined : [...subjects.values()].at(-1);
    this.#change(present, left === undefined ? config.healthy : { ...reported, ...left });
    return true;
  }

  /** Ends a condition for an operator. Returns false if the monitor does not hold the problem with this mark. */
  clear({ condition, mark }: Clearing): boolean {
    const present = this.#all.get(condition);
    if (present === undefined || present.reported.status === "False" || present.mark !== mark) return false;
    this.#change(present, present.config.healthy, ", ended by an operator");
    return true;
  }

  /** Ends the conditions whose `for` is over. */
  expire(): void {
    for (const [type, { config, seenMs }] of this.#all)
      if (config.forMs !== null && this.#nowMs() - seenMs >= config.forMs) this.end(type);
  }

  #change(present: Present, reported: ReportedCondition, why = ""): void {
    present.reported = reported;
    if (reported.status === "False") present.subjects.clear();
    const { type: condition, status, reason, message } = reported;
    // The words are upstream's GenerateConditionChangeEvent.
    const text = `Node condition ${condition} is now: ${status}, reason: ${reason}, message: ${JSON.stringify(message)}`;
    present.mark = this.#record({
      type: status === "True" ? "Warning" : "Normal",
      reason,
      message: cut(text, PROBLEM_LIMITS.messageLength - why.length) + why,
      condition,
    });
  }

  list(): ReportedCondition[] {
    return Array.from(this.#all.values(), ({ reported }) => reported);
  }

  /** Returns the conditions that are not False, as they are stored. */
  stored(): StoredConditions {
    const nowMs = this.#nowMs();
    const bad = [...this.#all].filter(([, { reported }]) => reported.status !== "False");
    return Object.fromEntries(
      bad.map(
        ([
          type,
          {
            reported: { status, reason, message },
            seenMs,
            subjects,
            mark,
          },
        ]) => [
          type,
          { status, reason, message, agedMs: nowMs - seenMs, mark, subjects: Object.fromEntries(subjects) },
        ],
      ),
    );
  }

  /** Restores stored conditions. They are no event: the Node has them already. */
  restore(stored: StoredConditions): void {
    for (const [type, { agedMs, mark, subjects, ...condition }] of Object.entries(stored)) {
      const present = this.#all.get(type);
      if (present === undefined) continue;
      present.mark = mark;
      present.subjects = new Map(Object.entries(subjects));
      present.reported = { ...present.reported, ...condition };
      present.seenMs = this.#nowMs() - agedMs;
    }
  }
}

function cut(text: string, most: number): string {
  return printable(text.slice(0, most).toWellFormed());
}
