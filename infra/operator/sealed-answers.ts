// Reads sealed answers, and knows machines by their keys. A file next to the operator's key has the key of each machine
// since its first sealed answer.
import { appendFileSync } from "node:fs";
import { codeOf } from "../../node-shim/base/fault.ts";
import type { SealedAnswer } from "../../node-shim/wire/sealed-answer.ts";
import type { AnswerLine } from "../../shared/protocol/asking.ts";
import { validateNodeName } from "../../shared/node/node-name.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import { readPrivate } from "./contexts/secrets.ts";

/** "new": the file had no key of this machine, and only the machine's owner can confirm this one. */
export type KnownKey = "known" | "new";

/** Compares a machine's key with the noted one, or notes it. `worker`: the Worker's URL, since two may have this name. */
export function knownKey(
  path: string,
  { worker, name, thumbprint }: { worker: string; name: string; thumbprint: string },
): Result<KnownKey> {
  // With -l the Worker has named the machine. A line break in a name would be a line about another machine.
  if (validateNodeName(name).length > 0) return failure("this is no name of a machine");
  const text = readPrivate(path, "the file of machines' keys");
  if (!text.ok) return text;
  const lines = (text.value ?? "").split("\n").map((line) => line.trim().split(/\s+/));
  const keys = lines.filter(([url, machine]) => url === worker && machine === name).map(([, , key]) => key);
  if (keys.includes(thumbprint)) return success("known");
  if (keys.length > 0)
    return failure(
      `the answer is signed by the key ${thumbprint}, and ${path} has another one: if the machine's owner has changed the key, replace it there`,
    );
  try {
    // An editor may have left the last line without its end.
    const before = /[^\n]$/.test(text.value ?? "") ? "\n" : "";
    appendFileSync(path, `${before}${worker} ${name} ${thumbprint}\n`, { mode: 0o600 });
  } catch (error) {
    return failure(`${path} cannot be written (${codeOf(error)})`);
  }
  return success("new");
}

interface Sealed {
  answer: SealedAnswer;
  /** Returns whether the key of this thumbprint is the machine's. Typically knownKey. */
  check: (thumbprint: string) => Result<KnownKey>;
  /** true if the answer is no text. */
  isBytes: boolean;
}

/** Turns the Worker's lines into the lines that the machine has sealed. Passes on no other line but a refusal. */
export class Unsealer {
  readonly #sealed: Sealed | null;
  readonly #decoder = new TextDecoder();
  #isOver = false;
  #key: KnownKey | null = null;

  /** `sealed`: null for a question without a proof, whose answer must be a refusal. */
  constructor(sealed: Sealed | null) {
    this.#sealed = sealed;
  }

  /** Whether the machine's key was known; null before the machine has signed. */
  get key(): KnownKey | null {
    return this.#key;
  }

  async take(line: AnswerLine): Promise<AnswerLine[]> {
    if (this.#isOver) return [];
    if ("end" in line) {
      const { reason } = line.end;
      return reason === "complete" || reason === "cut" ? this.#stop(BROKEN_OFF) : this.#over(line);
    }
    if (!this.#sealed || !("base64" in line)) return this.#stop(NOT_SEALED);
    const taken = await this.#sealed.answer.take(Buffer.from(line.base64, "base64"));
    if (!taken.ok) return this.#stop(taken.error);
    const lines: AnswerLine[] = [];
    for (const opened of taken.value) {
      if (this.#isOver) break;
      if ("part" in opened) lines.push(this.#partOf(this.#sealed, opened.part));
      else if ("end" in opened) lines.push(...this.#over(opened));
      else lines.push(...this.#check(this.#sealed, opened.machine));
    }
    return lines;
  }

  #partOf({ isBytes }: Sealed, part: Uint8Array): AnswerLine {
    return isBytes
      ? { base64: Buffer.from(part).toString("base64") }
      : { text: this.#decoder.decode(part, { stream: true }) };
  }

  #check({ check }: Sealed, machine: string): AnswerLine[] {
    const key = check(machine);
    if (!key.ok) return this.#stop(key.error);
    this.#key = key.value;
    return [];
  }

  #stop(fault: string): AnswerLine[] {
    return this.#over({ end: { reason: "stopped", fault } });
  }

  #over(end: AnswerLine): AnswerLine[] {
    this.#isOver = true;
    return [end];
  }
}

const BROKEN_OFF = "the answer broke off before its sealed end";
const NOT_SEALED = "the answer is not sealed: only a machine that pins keys seals its answers";
