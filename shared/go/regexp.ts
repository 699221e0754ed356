// Matches regular expressions as Go does (package regexp): leftmost-first, in a time that is linear in the text. A
// pattern of an operator therefore cannot hold the process, whatever text another user writes. RegExp has no such bound.
import { failure, type Result, success } from "../result.ts";
import { type Part, parseExpression, type Place, SyntaxFault, TOO_LARGE } from "./regexp-syntax.ts";

export interface Match {
  /** The index of the match in the text, in UTF-16 code units. */
  index: number;
  /** The text of the match, and of each group; undefined for a group that has no part in the match. */
  groups: (string | undefined)[];
}

/** Counts the steps of matching. An implementation may throw. */
export interface Effort {
  spend: (steps: number) => void;
}

export interface Expression {
  /** Returns the leftmost match; null if there is none. */
  match: (text: string, effort?: Effort) => Match | null;
  /** The number of steps of the program. */
  steps: number;
  /** Each match contains at least one of these texts; null if no such texts are known. */
  texts: readonly string[] | null;
  /** Whether a match may contain a line break. */
  mayBreak: boolean;
  /** The numbers of the groups with each name in a match's groups. */
  names: ReadonlyMap<string, readonly number[]>;
}

type Step =
  | { does: "one"; matches: (codePoint: number) => boolean; next: number }
  | { does: "split"; next: number; other: number }
  | { does: "at"; place: Place; next: number }
  | { does: "save"; slot: number; next: number }
  | { does: "end" };

/** A step to try at a place, or a slot's value to restore after the later steps have failed. */
type Job = { number: number; at: number } | { slot: number; was: number | undefined };

/** The most steps of a program, unless its matches count their steps. */
export const MOST_STEPS = 2000;
/** The most parts for each step: an empty part that is repeated makes no step, but costs time. */
const MOST_PARTS = 10;
/** The bytes of memory that take the time of one step. */
const BYTES_CLEARED = 64;

/** Compiles an expression. Fails with Go's words, or if its program has more steps than `most`. */
export function compileExpression(text: string, most = MOST_STEPS): Result<Expression> {
  try {
    const { part, groups, names } = parseExpression(text);
    const program = new Program(part, most);
    const match: Expression["match"] = (given, effort) => program.match(given, groups, effort);
    const { steps } = program;
    return success({ match, steps, texts: requiredTexts(part), mayBreak: mayBreak(part), names });
  } catch (error) {
    if (error instanceof SyntaxFault) return failure(error.message);
    // Groups and counts may nest deeper than the stack.
    if (error instanceof RangeError) return failure(TOO_LARGE);
    throw error;
  }
}

class Program {
  readonly #steps: Step[] = [{ does: "end" }];
  readonly #most: number;
  readonly #start: number;
  /** The text with which each match begins; null if a match can begin only where the text begins. */
  readonly #prefix: string | null;
  #parts = 0;

  constructor(part: Part, most: number) {
    this.#most = most;
    this.#start = this.#add(part, 0);
    this.#prefix = prefixOf(part);
  }

  get steps(): number {
    return this.#steps.length;
  }

  /** Adds the steps of a part, which continue with the step `next`. Returns the first step. */
  #add(part: Part, next: number): number {
    if (++this.#parts > MOST_PARTS * this.#most) throw new SyntaxFault(TOO_LARGE);
    switch (part.kind) {
      case "one":
        return this.#push({ does: "one", matches: part.matches, next });
      case "at":
        return this.#push({ does: "at", place: part.place, next });
      case "all":
        return part.parts.reduceRight((after, each) => this.#add(each, after), next);
      case "any":
        return part.parts
          .map((each) => this.#add(each, next))
          .reduceRight((other, first) => this.#push({ does: "split", next: first, other }));
      case "group": {
        const end = this.#push({ does: "save", slot: 2 * part.index + 1, next });
        return this.#push({ does: "save", slot: 2 * part.index, next: this.#add(part.part, end) });
      }
      default:
        return this.#repeat(part, next);
    }
  }

  #repeat({ part, min, max, isLazy }: Extract<Part, { kind: "repeat" }>, next: number): number {
    const choice = (first: number) =>
      isLazy
        ? ({ does: "split", next, other: first } as const)
        : ({ does: "split", next: first, other: next } as const);
    let start = next;
    if (max === Infinity) {
      // Go enters a loop before it decides, so that a group has a match even if the group is empty.
      const again = this.#push({ does: "split", next, other: next });
      start = this.#add(part, again);
      this.#steps[again] = choice(start);
      if (min === 0) return this.#push(choice(start));
    } else for (let count = min; count < max; count++) start = this.#push(choice(this.#add(part, start)));
    for (let count = max === Infinity ? 1 : 0; count < min; count++) start = this.#add(part, start);
    return start;
  }

  #push(step: Step): number {
    if (this.#steps.length >= this.#most) throw new SyntaxFault(TOO_LARGE);
    return this.#steps.push(step) - 1;
  }

  /** Tries each start in turn. No step is tried twice at one place, as in RE2's bitstate: the second try fails too. */
  match(text: string, groups: number, effort?: Effort): Match | null {
    let index = this.#startFrom(text, 0);
    if (index < 0) return null;
    const tried = new Uint8Array((this.#steps.length * (text.length + 1) + 7) >> 3);
    const slots: (number | undefined)[] = Array.from({ length: 2 * groups + 2 });
    effort?.spend(tried.length / BYTES_CLEARED);
    for (; index >= 0; index = this.#startFrom(text, index + 1)) {
      if (!this.#matchAt(text, index, slots, tried, effort)) continue;
      const end = slots[1] ?? index;
      const rest = Array.from({ length: groups }, (_, group) => {
        const [from, to] = [slots[2 * group + 2], slots[2 * group + 3]];
        return from === undefined || to === undefined ? undefined : text.slice(from, to);
      });
      return { index, groups: [text.slice(index, end), ...rest] };
    }
    return null;
  }

  /** Returns the first place from the index on where a match may begin; -1 if there is none. */
  #startFrom(text: string, index: number): number {
    if (this.#prefix === null) return index === 0 ? 0 : -1;
    let start = index > text.length ? -1 : text.indexOf(this.#prefix, index);
    // No match begins within a character of two code units.
    while (start > 0 && text.codePointAt(start - 1)! > 0xff_ff) start = text.indexOf(this.#prefix, start + 1);
    return start;
  }

  /** Reports whether there is a match that begins at the index, and sets `slots`. Without a match they do not change. */
  #matchAt(
    text: string,
    index: number,
    slots: (number | undefined)[],
    tried: Uint8Array,
    effort: Effort | undefined,
  ): boolean {
    const width = text.length + 1;
    const left: Job[] = [{ number: this.#start, at: index }];
    for (let job = left.pop(); job !== undefined; job = left.pop()) {
      if ("slot" in job) {
        slots[job.slot] = job.was;
        continue;
      }
      let { number, at } = job;
      for (;;) {
        const bit = number * width + at;
        if (tried[bit >> 3]! & (1 << (bit & 7))) break;
        tried[bit >> 3]! |= 1 << (bit & 7);
        effort?.spend(1);
        const step = this.#steps[number]!;
        if (step.does === "end") {
          slots[1] = at;
          return true;
        }
        if (step.does === "one") {
          const codePoint = text.codePointAt(at);
          if (codePoint === undefined || !step.matches(codePoint)) break;
          at += codePoint > 0xff_ff ? 2 : 1;
        } else if (step.does === "split") left.push({ number: step.other, at });
        else if (step.does === "save") {
          left.push({ slot: step.slot, was: slots[step.slot] });
          slots[step.slot] = at;
        } else if (!isAt(step.place, text, at)) break;
        number = step.next;
      }
    }
    return false;
  }
}

/** Returns the text with which each match begins, "" if none is known; null if it begins where the text begins. */
function prefixOf(part: Part): string | null {
  switch (part.kind) {
    case "one":
      return part.text ?? "";
    case "at":
      return part.place === "textStart" ? null : "";
    case "group":
      return prefixOf(part.part);
    case "all": {
      let prefix = "";
      for (const each of part.parts) {
        if (each.kind !== "one" || each.text === undefined) return prefix || prefixOf(each);
        prefix += each.text;
      }
      return prefix;
    }
    default:
      return "";
  }
}

const isWord = (text: string | undefined) => text !== undefined && /^\w$/.test(text);

function isAt(place: Place, text: string, at: number): boolean {
  switch (place) {
    case "textStart":
      return at === 0;
    case "textEnd":
      return at === text.length;
    case "lineStart":
      return at === 0 || text[at - 1] === "\n";
    case "lineEnd":
      return at === text.length || text[at] === "\n";
    case "word":
      return isWord(text[at - 1]) !== isWord(text[at]);
    default:
      return isWord(text[at - 1]) === isWord(text[at]);
  }
}

function mayBreak(part: Part): boolean {
  if (part.kind === "one") return part.matches(10);
  if (part.kind === "at") return false;
  return "parts" in part ? part.parts.some(mayBreak) : mayBreak(part.part);
}

/** The least length of a text that is worth a search. */
const LEAST_LENGTH = 3;

/** Returns the best known texts: of several in a row, those whose shortest is the longest. */
function requiredTexts(part: Part): readonly string[] | null {
  switch (part.kind) {
    case "group":
      return requiredTexts(part.part);
    case "repeat":
      return part.min > 0 ? requiredTexts(part.part) : null;
    case "any": {
      const each = part.parts.map(requiredTexts);
      return each.includes(null) ? null : each.flatMap((texts) => texts ?? []);
    }
    case "all": {
      const found = [...runsOf(part.parts), ...part.parts.map(requiredTexts)];
      return found.reduce((best, texts) => (shortest(texts) > shortest(best) ? texts : best), null);
    }
    default:
      return null;
  }
}

/** Returns the texts of neighbouring characters. */
function runsOf(parts: readonly Part[]): string[][] {
  const runs: string[] = [""];
  for (const part of parts) {
    if (part.kind === "one" && part.text !== undefined) runs.push((runs.pop() ?? "") + part.text);
    else runs.push("");
  }
  return runs.filter((run) => run.length >= LEAST_LENGTH).map((run) => [run]);
}

const shortest = (texts: readonly string[] | null) =>
  texts === null ? 0 : Math.min(...texts.map(({ length }) => length));
