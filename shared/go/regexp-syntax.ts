// Parses regular expressions as Go does (regexp/syntax, flags Perl): RE2's syntax, which has no backward references.

/** A part of an expression. */
export type Part =
  /** One character. `text` is the character if no other one matches. */
  | { kind: "one"; matches: (codePoint: number) => boolean; text?: string }
  | { kind: "at"; place: Place }
  | { kind: "all"; parts: Part[] }
  | { kind: "any"; parts: Part[] }
  | { kind: "group"; part: Part; index: number }
  | { kind: "repeat"; part: Part; min: number; max: number; isLazy: boolean };

export type Place = "textStart" | "textEnd" | "lineStart" | "lineEnd" | "word" | "noWord";

type Test = (codePoint: number) => boolean;

const PERL: Readonly<Record<string, string>> = { d: "0-9", s: "\\t\\n\\f\\r ", w: "0-9A-Za-z_" };
const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`{-~",
  space: "\\t-\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};
const ESCAPES: Readonly<Record<string, number>> = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
const PLACES: Readonly<Record<string, Place>> = { A: "textStart", z: "textEnd", b: "word", B: "noWord" };
/** Go's limit of a repetition's count. */
const MOST_REPEATS = 1000;
/** Go's limit of nested parts: maxHeight. */
const MOST_DEEP = 1000;

/** The most named classes in one pair of brackets, since each character is compared with all of them. */
const MOST_IN_BRACKETS = 32;

export class SyntaxFault extends Error {}
export const TOO_LARGE = "the expression is too large";

/** Parses an expression. Throws a SyntaxFault with Go's words. */
export function parseExpression(text: string): Pick<Parser, "groups" | "names"> & { part: Part } {
  const parser = new Parser(text);
  const part = parser.alternatives(0);
  if (parser.at < text.length) throw fault("unexpected )", text);
  return { part, groups: parser.groups, names: parser.names };
}

const fault = (what: string, where: string) => new SyntaxFault(`error parsing regexp: ${what}: \`${where}\``);

/** Returns a test for the characters of a class in JavaScript's syntax. `u` and `i` fold case as Go's SimpleFold does. */
function classTest(source: string, isFolded: boolean): Test {
  const expression = new RegExp(`^[${source}]$`, isFolded ? "iu" : "u");
  const test = (codePoint: number) => expression.test(String.fromCodePoint(codePoint));
  const ascii: boolean[] = [];
  return (codePoint) => (codePoint < 128 ? (ascii[codePoint] ??= test(codePoint)) : test(codePoint));
}

const escaped = (codePoint: number) => `\\u{${codePoint.toString(16)}}`;

class Parser {
  at = 0;
  groups = 0;
  /** The numbers of the groups with each name, which several may have; the first group has the number 1. */
  readonly names = new Map<string, number[]>();
  /** The active ones of the flags i, m, s and U. */
  #flags: ReadonlySet<string> = new Set();
  readonly #text: string;
  /** The place of the last end of a class with a name. No search for one goes beyond it. */
  readonly #lastNamed: number;

  constructor(text: string) {
    this.#text = text;
    this.#lastNamed = text.lastIndexOf(":]");
  }

  /** Parses alternatives up to a closing parenthesis or the end. The flags that they set end with them. */
  alternatives(depth: number): Part {
    if (depth > MOST_DEEP) throw fault("expression nests too deeply", this.#text);
    const flags = this.#flags;
    const parts: Part[] = [];
    do {
      if (parts.length > 0) this.at++;
      parts.push(this.#sequence(depth));
    } while (this.#next() === "|");
    this.#flags = flags;
    return parts.length === 1 ? parts[0]! : { kind: "any", parts };
  }

  #sequence(depth: number): Part {
    const parts: Part[] = [];
    let repeatedFrom = -1;
    for (;;) {
      const next = this.#next();
      if (next === "" || next === "|" || next === ")") return { kind: "all", parts };
      const quoted = this.#match(/\\Q(.*?)(?:\\E|$)/sy);
      if (quoted !== null) {
        for (const each of quoted[1]!) parts.push(one(each.codePointAt(0)!, this.#flags.has("i")));
        repeatedFrom = -1;
        continue;
      }
      const start = this.at;
      const count = this.#repetition();
      if (count === null) {
        const part = this.#single(depth);
        if (part !== null) parts.push(part);
        repeatedFrom = -1;
        continue;
      }
      const operator = this.#text.slice(start, this.at);
      const part = parts.pop();
      if (part === undefined) throw fault("missing argument to repetition operator", operator);
      if (repeatedFrom >= 0)
        throw fault("invalid nested repetition operator", this.#text.slice(repeatedFrom, this.at));
      repeatedFrom = start;
      const repeat = { kind: "repeat", part, ...count } as const;
      // As upstream, which checks no other counts: a check of each of 1000 nested {1} would take long.
      const isCounted = count.min >= 2 || (count.max >= 2 && count.max < Infinity);
      if (isCounted && !isRepeatValid(repeat, MOST_REPEATS)) throw fault("invalid repeat count", operator);
      parts.push(repeat);
    }
  }

  /** Parses a repetition's operator; null, without a step, if there is none. */
  #repetition(): { min: number; max: number; isLazy: boolean } | null {
    const operators: Readonly<Record<string, [number, number]>> = {
      "*": [0, Infinity],
      "+": [1, Infinity],
      "?": [0, 1],
    };
    let range = operators[this.#next()];
    if (range) this.at++;
    else {
      const counted = this.#match(/\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/y);
      if (counted === null) return null;
      const [all = "", least = "", comma, most = ""] = counted;
      const max = comma === undefined ? Number(least) : most === "" ? Infinity : Number(most);
      range = [Number(least), max];
      const isTooMany = range.some((count) => count !== Infinity && count > MOST_REPEATS);
      if (isTooMany || range[0] > range[1]) throw fault("invalid repeat count", all);
    }
    const isMarked = this.#match(/\?/y) !== null;
    return { min: range[0], max: range[1], isLazy: isMarked !== this.#flags.has("U") };
  }

  #single(depth: number): Part | null {
    const flags = this.#flags;
    const codePoint = this.#text.codePointAt(this.at)!;
    const character = String.fromCodePoint(codePoint);
    if (character === "(") return this.#group(depth);
    if (character === "[") return this.#bracket();
    if (character === "\\") return this.#escape();
    this.at += character.length;
    if (character === "^") return { kind: "at", place: flags.has("m") ? "lineStart" : "textStart" };
    if (character === "$") return { kind: "at", place: flags.has("m") ? "lineEnd" : "textEnd" };
    if (character === ".")
      return { kind: "one", matches: flags.has("s") ? () => true : (other) => other !== 10 };
    return one(codePoint, flags.has("i"));
  }

  #group(depth: number): Part | null {
    const start = this.at;
    const flags = this.#match(/\(\?([imsU]*)(?:-([imsU]+))?([:)])/y);
    if (flags !== null) {
      const [, on = "", off = "", end] = flags;
      const before = this.#flags;
      this.#flags = new Set(
        Array.from(before)
          .concat(on.split(""))
          .filter((flag) => !off.includes(flag)),
      );
      // Flags without a colon apply to the rest of the enclosing group.
      if (end === ")") return null;
      const part = this.alternatives(depth + 1);
      this.#flags = before;
      this.#close();
      return part;
    }
    const [, name] = this.#match(/\(\?P?<(\w+)>/y) ?? [];
    if (name === undefined) {
      const [capture] = this.#match(/\(\?P?<(?=[^])[^>]*>?/y) ?? [];
      if (capture !== undefined) throw fault("invalid named capture", capture);
      if (this.#text.startsWith("(?", this.at))
        throw fault("invalid or unsupported Perl syntax", this.#text.slice(start, start + 3));
      this.at++;
    }
    const index = ++this.groups;
    if (name !== undefined) this.names.set(name, [...(this.names.get(name) ?? []), index]);
    const part = this.alternatives(depth + 1);
    this.#close();
    return { kind: "group", part, index };
  }

  #close(): void {
    if (this.#next() !== ")") throw fault("missing closing )", this.#text);
    this.at++;
  }

  #escape(): Part {
    const isFolded = this.#flags.has("i");
    const [, place] = this.#match(/\\([AzbB])/y) ?? [];
    if (place !== undefined) return { kind: "at", place: PLACES[place]! };
    const matches = this.#classEscape();
    if (matches !== null) return { kind: "one", matches };
    return one(this.#characterEscape(), isFolded);
  }

  /** Parses \d, \pL and the like; null, without a step, for another escape. */
  #classEscape(): Test | null {
    const isFolded = this.#flags.has("i");
    const [perl, name] = this.#match(/\\([dswDSW])/y) ?? [];
    if (perl !== undefined && name !== undefined)
      return negatedIf(name < "a", classTest(PERL[name.toLowerCase()] ?? "", isFolded));
    const [unicode, sign, caret, long, short] = this.#match(/\\([pP])(?:\{(\^?)([^}]*)\}|([^{]?))/uy) ?? [];
    if (unicode === undefined) return null;
    const test = unicodeTest(short ?? long ?? "", isFolded);
    if (test === null) throw fault("invalid character class range", unicode);
    return negatedIf((sign === "P") !== (caret === "^"), test);
  }

  #characterEscape(): number {
    const rest = this.#text.slice(this.at);
    if (rest === "\\") throw fault("trailing backslash at end of expression", "");
    const [hex, long, short] = this.#match(/\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/y) ?? [];
    if (hex !== undefined) {
      const codePoint = Number.parseInt(long ?? short ?? "", 16);
      if (codePoint > 0x10_ff_ff) throw fault("invalid escape sequence", hex);
      return codePoint;
    }
    const [octal] = this.#match(/\\(?:0[0-7]{0,2}|[1-7][0-7]{1,2})/y) ?? [];
    if (octal !== undefined) return Number.parseInt(octal.slice(1), 8);
    const [named] = this.#match(/\\[aftnrv]/y) ?? [];
    if (named !== undefined) return ESCAPES[named.slice(1)]!;
    const [mark] = this.#match(/\\[^0-9A-Za-z\u0080-\uffff]/y) ?? [];
    if (mark !== undefined) return mark.codePointAt(1)!;
    throw fault("invalid escape sequence", `\\${Array.from(rest)[1]}`);
  }

  #bracket(): Part {
    const start = this.at;
    const isNegated = this.#match(/\[\^?/y)![0] === "[^";
    const tests: Test[] = [];
    let source = "";
    for (let isFirst = true; isFirst || this.#next() !== "]"; isFirst = false) {
      if (this.#next() === "") throw fault("missing closing ]", this.#text.slice(start));
      if (tests.length > MOST_IN_BRACKETS) throw new SyntaxFault(TOO_LARGE);
      const test = this.#posix() ?? this.#classEscape();
      if (test !== null) tests.push(test);
      else source += this.#range();
    }
    this.at++;
    if (source !== "") tests.push(classTest(source, this.#flags.has("i")));
    return {
      kind: "one",
      matches: negatedIf(isNegated, (codePoint) => tests.some((test) => test(codePoint))),
    };
  }

  #posix(): Test | null {
    if (this.at >= this.#lastNamed) return null;
    const [all, caret, name = ""] = this.#match(/\[:(\^?)([^]*?):\]/y) ?? [];
    if (all === undefined) return null;
    const source = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
    if (source === undefined) throw fault("invalid character class range", all);
    return negatedIf(caret === "^", classTest(source, this.#flags.has("i")));
  }

  /** Parses one character or range of a class, and returns it in JavaScript's syntax. */
  #range(): string {
    const start = this.at;
    const from = this.#classCharacter();
    if (this.#next() !== "-" || this.#text[this.at + 1] === "]") return escaped(from);
    this.at++;
    if (this.#next() === "") throw fault("missing closing ]", this.#text.slice(start - 1));
    const to = this.#classCharacter();
    if (to < from) throw fault("invalid character class range", this.#text.slice(start, this.at));
    return `${escaped(from)}-${escaped(to)}`;
  }

  #classCharacter(): number {
    if (this.#next() === "\\") return this.#characterEscape();
    const codePoint = this.#text.codePointAt(this.at)!;
    this.at += codePoint > 0xff_ff ? 2 : 1;
    return codePoint;
  }

  #next(): string {
    return this.#text[this.at] ?? "";
  }

  /** Matches a sticky expression here, and steps over the match; null, without a step, if it does not match. */
  #match(sticky: RegExp): RegExpExecArray | null {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.#text);
    if (found !== null) this.at = sticky.lastIndex;
    return found;
  }
}

function one(codePoint: number, isFolded: boolean): Part {
  const text = String.fromCodePoint(codePoint);
  const hasCase = isFolded && /^[\p{L}\p{M}\p{N}\p{So}]$/u.test(text);
  return hasCase
    ? { kind: "one", matches: classTest(escaped(codePoint), true) }
    : { kind: "one", matches: (other) => other === codePoint, text };
}

const negatedIf = (isNegated: boolean, test: Test): Test =>
  isNegated ? (codePoint) => !test(codePoint) : test;

/** Returns false if nested counts have a product of more than `most`, as upstream's repeatIsValid. */
function isRepeatValid(part: Part, most: number): boolean {
  if ("parts" in part) return part.parts.every((each) => isRepeatValid(each, most));
  if (part.kind === "group") return isRepeatValid(part.part, most);
  if (part.kind !== "repeat" || part.max === 0) return true;
  const count = part.max === Infinity ? part.min : part.max;
  return count <= most && isRepeatValid(part.part, count === 0 ? most : Math.floor(most / count));
}

/** The scripts whose names have four letters, as the abbreviations have that Go does not know. */
const SHORT_SCRIPTS = new Set(["Ahom", "Cham", "Kawi", "Lisu", "Miao", "Modi", "Newa", "Thai", "Toto"]);

/** Returns the test of a general category or a script; null if Go has none of that name. Go ignores case and separators. */
function unicodeTest(name: string, isFolded: boolean): Test | null {
  if (!/^[ -~]+$/.test(name)) return null;
  const words = name.split(/[ _-]+/).filter((word) => word !== "");
  const long = words.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()).join("_");
  if (long === "Any") return () => true;
  if (long === "Ascii") return classTest("\\0-\\x7f", isFolded);
  if (long === "Assigned") return negatedIf(true, classTest("\\p{gc=Cn}", isFolded));
  // Go does not find a script of several words.
  const isScript = words.length === 1 && (long.length !== 4 || SHORT_SCRIPTS.has(long));
  for (const property of [
    `gc=${long === "Lc" ? "LC" : long}`,
    `gc=${long.toLowerCase()}`,
    ...(isScript ? [`sc=${long}`] : []),
  ]) {
    try {
      return classTest(`\\p{${property}}`, isFolded);
    } catch {
      // Another property may have the name.
    }
  }
  return null;
}
