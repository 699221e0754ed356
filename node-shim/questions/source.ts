// Describes what the source of an answer gets, and finds a log's newest lines without reading the whole log.
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { Inventory } from "../../shared/protocol/inventory.ts";
import type { Newest, Question } from "../../shared/protocol/question.ts";
import type { AnswerEnd, AskableName } from "../../shared/protocol/questions.ts";
import type { Result } from "../../shared/result.ts";
import type { Finding } from "../doctor/finding.ts";
import type { OwnAsked, OwnQuestions } from "../config/own-questions.ts";
import { lineCleaner } from "./redaction.ts";

/** Runs a program without a shell, and yields its lines while they come. Throws if the program fails. */
export type ProgramLines = (
  program: string,
  args: readonly string[],
  options: { signal: AbortSignal; anyExitCode?: boolean; name?: string; separator?: "\0" },
) => AsyncIterable<string>;

/** The user of this process, and whether systemd can run programs as another one. */
export interface Runner {
  isRoot: boolean;
  /** The user's name. */
  name: string;
  hasSystemd: boolean;
}

/** The machine that answers. */
export interface QuestionHost {
  /** The root of /proc and /sys. Typically "/". */
  root: string;
  run: ProgramLines; // typically programLines
  /** Returns milliseconds since 1970. */
  wallMs: () => number; // typically wallMs
  /** The paths of --question-files. */
  files: readonly string[];
  /** The questions that are on. */
  on: ReadonlySet<AskableName>;
  /** The questions of the machine's owner that --questions names. */
  own: OwnQuestions;
  runner: Runner;
  /** The state folder, whose files no answer has. */
  stateFolder: string;
  /** Where to find the container runtime: the sockets to try, or Docker's one. */
  runtime: { isDocker: boolean; sockets: readonly string[] };
  readHardware: () => Promise<Result<Inventory>>; // typically hardware of sources/inventory
  /** Checks the way to the Worker. */
  checkWorker: () => Promise<Finding[]>; // typically checkUrl of doctor
}

/** One question to the machine. */
export interface Asking extends QuestionHost {
  /** Aborted when the source must end. The lines that it has by then are still sent. */
  signal: AbortSignal;
  /** Answers another question within the time of this one. */
  ask: (question: Question | OwnAsked) => AsyncGenerator<Uint8Array, AnswerEnd>;
  /** Records that the answer lacks lines because of its limits. */
  cut: () => void;
}

/** Yields the lines of an answer, or its bytes. Throws an error with a message for the operator. */
export type Source<Parameters, Piece = string> = (
  parameters: Parameters,
  asking: Asking,
) => AsyncIterable<Piece>;

/**
 * Yields the newest lines with a text, the oldest of them first. Searches in clean lines: otherwise a search would find
 * a secret letter by letter.
 */
export async function* newestLines(
  newestFirst: AsyncIterable<string>,
  { lines, grep = "" }: Newest,
  { cut }: Asking,
): AsyncGenerator<string> {
  const clean = lineCleaner();
  const kept: string[] = [];
  let scanned = 0;
  let bytes = 0;
  for await (const raw of newestFirst) {
    scanned += raw.length;
    // Cleaning takes longer than a search. The edges of a key in PEM must not be skipped, since the lines between are secret.
    const line = raw.includes(grep) || raw.includes("PRIVATE KEY") ? clean(raw) : "";
    const isWanted = raw.includes(grep) && line.includes(grep);
    if (isWanted) bytes += Buffer.byteLength(line) + 1;
    if (bytes > QUESTION_LIMITS.answerBytes || scanned > QUESTION_LIMITS.scannedBytes) {
      cut();
      break;
    }
    if (isWanted) kept.push(line);
    if (kept.length === lines) break;
  }
  yield* kept.reverse();
}
