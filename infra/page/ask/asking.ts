// Asks a machine a question, and keeps its answer while it comes.
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { AnswerLine, AskBody } from "../../../shared/protocol/asking.ts";
import { visibleText } from "../../../shared/protocol/printable.ts";
import { type AnswerEnd, answerEndText } from "../../../shared/protocol/questions.ts";
import { machinePath, type OpenRequest, type RequestFault } from "../base/api.ts";

/** A part of an answer's text: whole lines, except in the last block. The browser lays out only blocks on the screen. */
export interface TextBlock {
  text: string;
  /** The number of line breaks. */
  lines: number;
}

const BLOCK_LINES = 250;
const BLOCK_LENGTH = 64 * 1024;

/** Returns the blocks with a further text. Blocks that stay the same keep their identity. */
export function withText(blocks: readonly TextBlock[], text: string): readonly TextBlock[] {
  const all = [...blocks];
  for (const line of text.split(/(?<=\n)/)) {
    const lines = line.endsWith("\n") ? 1 : 0;
    const last = all.at(-1);
    const isFull = last && (last.text.length >= BLOCK_LENGTH || last.lines >= BLOCK_LINES);
    if (!last || isFull) all.push({ text: line, lines });
    else all[all.length - 1] = { text: last.text + line, lines: last.lines + lines };
  }
  return all;
}

/** How an answer ended. */
export interface AskingEnd {
  /** A sentence without its full stop; null for a whole answer. */
  text: string | null;
  /** true if the machine did not answer, and false if a part of the answer is there. */
  isRefused: boolean;
  /** The Worker's refusal, which may name a wrong parameter. */
  fault?: RequestFault;
  /** The challenge of a machine that answers only questions with a proof. */
  challenge?: string;
}

export interface AskingState {
  blocks: readonly TextBlock[];
  lines: number;
  /** The length of the text, or the number of bytes of an answer that is no text. */
  size: number;
  /** null while the answer comes. */
  end: AskingEnd | null;
}

export const textOf = ({ blocks }: AskingState): string => blocks.map(({ text }) => text).join("");

interface AskingSurroundings {
  open: OpenRequest;
  nowMs: () => number;
  /** Typically `later` of clock.ts. */
  later: (act: () => void, ms: number) => () => void;
  /** A proof for a machine that has asked for one, for this time alone. */
  proof?: string | undefined;
}

/** The longest wait for the next bytes: the Worker sends an empty line at least every few seconds. */
const QUIET_MS = 20_000;
/** The most that the page shows. A machine answers with less; another program may have its key. */
const MOST_LENGTH = 4 * 1024 * 1024;
const MOST_LINES = 500_000;

/** A question to a machine, which is asked at once, and its answer. */
export class Asking {
  readonly machine: string;
  readonly question: AskBody;
  /** The time of the question, in milliseconds since 1970. */
  readonly askedMs: number;
  /** The bytes of an answer that is no text. */
  readonly bytes: Uint8Array<ArrayBuffer>[] = [];
  readonly #state = signal<AskingState>({ blocks: [], lines: 0, size: 0, end: null });
  readonly #later: AskingSurroundings["later"];
  readonly #abort = new AbortController();
  #cancel: () => void = () => undefined;

  constructor(machine: string, question: AskBody, { open, nowMs, later, proof }: AskingSurroundings) {
    this.machine = machine;
    this.question = question;
    this.askedMs = nowMs();
    this.#later = later;
    // After an abort, the answer has its end already.
    this.#run(open, { ...question, ...(proof !== undefined && { proof }) }).catch((error: unknown) =>
      this.#leave(error instanceof SyntaxError ? UNREADABLE : BROKEN),
    );
  }

  get state(): ReadonlySignal<AskingState> {
    return this.#state;
  }

  /** Ends the answer, on the machine too. */
  stop(): void {
    this.#leave("you stopped the answer");
  }

  async #run(open: OpenRequest, body: AskBody): Promise<void> {
    this.#heard();
    const { signal } = this.#abort;
    const path = machinePath(this.machine, "/questions");
    const opened = await open("POST", path, { body, signal });
    if (!opened.ok) return this.#end({ text: opened.error.message, isRefused: true, fault: opened.error });
    let rest = "";
    const reader = opened.value.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const part = await reader?.read();
      if (part?.value === undefined) break;
      this.#heard();
      const lines = (rest + part.value).split("\n");
      rest = lines.pop() ?? "";
      this.#take(lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AnswerLine));
    }
    return this.#end({ text: "the answer broke off", isRefused: false });
  }

  #take(lines: readonly AnswerLine[]): void {
    const text = lines.map((line) => ("text" in line ? visibleText(line.text) : "")).join("");
    const bytes = lines.flatMap((line) => ("base64" in line ? [bytesOf(line.base64)] : []));
    this.bytes.push(...bytes);
    const before = this.#state.value;
    const blocks = text === "" ? before.blocks : withText(before.blocks, text);
    const count = blocks.reduce((sum, block) => sum + block.lines, 0);
    const size = before.size + text.length + bytes.reduce((sum, each) => sum + each.length, 0);
    this.#state.value = { ...before, blocks, lines: count, size };
    const last = lines.find((line) => "end" in line);
    if (last) this.#end(endOf(last.end));
    else if (count > MOST_LINES || (blocks.length > 0 && size > MOST_LENGTH))
      this.#leave("the answer is longer than the page shows");
  }

  #heard(): void {
    this.#cancel();
    this.#cancel = this.#later(() => this.#leave("nothing more has come for 20 s"), QUIET_MS);
  }

  #leave(why: string): void {
    this.#end({ text: why, isRefused: false });
    this.#abort.abort();
  }

  /** Ends the answer, unless it has its end. */
  #end(end: AskingEnd): void {
    this.#cancel();
    if (this.#state.value.end === null) this.#state.value = { ...this.#state.value, end };
  }
}

/** The latest answer to each question of a machine. A question that a diagnosis names has its text as its key. */
export type Answers = Signal<ReadonlyMap<string, Asking>>;

/** What the parts of the tab ask with. */
export interface Asks {
  machine: string;
  /** The names of the questions that the machine answers now. */
  on: readonly string[];
  answerOf: (key: string) => Asking | undefined;
  ask: (key: string, question: AskBody, proof?: string) => void;
}

const UNREADABLE = "the page does not understand the answer: reload the page";
const BROKEN = "the answer broke off: the Worker cannot be reached";

function endOf(end: AnswerEnd): AskingEnd {
  const challenge = end.reason === "refused" ? end.challenge : undefined;
  return {
    text: answerEndText(end),
    isRefused: end.reason === "refused",
    ...(challenge !== undefined && { challenge }),
  };
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
