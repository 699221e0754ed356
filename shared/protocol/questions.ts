// Lists the questions that a machine answers about itself, with their bounds, and the ends that an answer can have.
import { failure, type Result, success } from "../result.ts";
import { QUESTION_LIMITS } from "./limits.ts";

export interface QuestionRow {
  help: string;
  /** The parameters as an operator writes them. question.ts has their schema. */
  usage: string;
  /** true if the answer has no log line, no content of a file, and no argument of a process. */
  isSafe: boolean;
  /** The seconds after which the answer ends. */
  seconds: number;
  /** The most bytes of the answer, if they are others than QUESTION_LIMITS.answerBytes. */
  bytes?: number;
}

/** The questions by name, in the order of `node-shim ask --list`. */
export const QUESTIONS = {
  diagnosis: {
    help: "what is wrong: disks, units, runtime, memory, CPU, the way to the Worker, the kernel's log, links, heat",
    usage: "",
    isSafe: true,
    seconds: 10,
  },
  logs: {
    help: "the newest lines of the journal, of a unit or of the kernel",
    usage: "unit=NAME|kernel=yes [since=1h] [lines=100] [grep=TEXT]",
    isSafe: false,
    seconds: 30,
  },
  follow: {
    help: "as logs, and further lines while they come; on if logs is, and one at a time",
    usage: "unit=NAME|kernel=yes [since=1h] [lines=100] [grep=TEXT]",
    isSafe: false,
    seconds: 900,
  },
  "container-logs": {
    help: "the newest lines of a container",
    usage: "container=ID [lines=100] [grep=TEXT]",
    isSafe: false,
    seconds: 30,
  },
  files: {
    help: "the newest lines of a file, or the names in a folder, below a path of --question-files",
    usage: "path=/PATH [lines=100] [grep=TEXT]",
    isSafe: false,
    seconds: 30,
  },
  commands: {
    help: "the processes that use the most, with their arguments",
    usage: "[by=cpu|memory|disk] [top=20]",
    isSafe: false,
    seconds: 10,
  },
  processes: {
    help: "the processes that use the most, by name; load and pressure (PSI)",
    usage: "[by=cpu|memory|disk] [top=20]",
    isSafe: true,
    seconds: 10,
  },
  disks: {
    help: "file systems with their usage and inodes; disks, and their health if smartctl is installed",
    usage: "",
    isSafe: true,
    seconds: 20,
  },
  folders: {
    help: "the largest folders of a file system, down to three levels below a folder",
    usage: "[path=/] [top=20]",
    isSafe: true,
    seconds: 60,
  },
  network: {
    help: "the way to the Worker with its certificate and clock; addresses, routes, name servers, listening sockets",
    usage: "",
    isSafe: true,
    seconds: 30,
  },
  units: {
    help: "the failed units and restarted services, or the state of one unit",
    usage: "[unit=NAME]",
    isSafe: true,
    seconds: 10,
  },
  runtime: {
    help: "the container runtime with its pods, containers and images",
    usage: "",
    isSafe: true,
    seconds: 20,
  },
  containers: {
    help: "what the running containers use, measured for a second, those with the most first",
    usage: "[by=cpu|memory] [top=20]",
    isSafe: true,
    seconds: 20,
  },
  hardware: {
    help: "the hardware without serial numbers, and temperatures",
    usage: "",
    isSafe: true,
    seconds: 60,
  },
  boots: {
    help: "the last boots and how they ended; processes that were killed for lack of memory",
    usage: "",
    isSafe: true,
    seconds: 30,
  },
  questions: {
    help: "the questions that this machine answers, with their parameters; on with any other question",
    usage: "",
    isSafe: true,
    seconds: 10,
  },
  bundle: {
    help: "the answers to all questions that are on, as a .tar.gz with a manifest",
    usage: "",
    isSafe: true,
    seconds: 100,
    bytes: QUESTION_LIMITS.bundleBytes,
  },
} as const satisfies Readonly<Record<string, QuestionRow>>;

export type QuestionName = keyof typeof QUESTIONS;

/** A question that the machine's owner has written: own:NAME. */
export type OwnName = `${typeof OWN_PREFIX}${string}`;
export const OWN_PREFIX = "own:";
const OWN_NAME = /^own:[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
export type AskableName = QuestionName | OwnName;

export const isOwnName = (name: string): name is OwnName => OWN_NAME.test(name);

/** Returns the most bytes of an answer. */
export function answerBytesOf(name: QuestionName): number {
  const { bytes = QUESTION_LIMITS.answerBytes }: QuestionRow = QUESTIONS[name];
  return bytes;
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- These are the keys of the table.
export const QUESTION_NAMES = Object.keys(QUESTIONS) as readonly QuestionName[];

/** The set of questions that an owner can turn on without a thought about secrets. */
const SAFE = "safe";

/** Parses the names of --questions, each a question, own:NAME or `safe`. An empty text turns none on. */
export function questionsOn(texts: readonly string[]): Result<ReadonlySet<AskableName>> {
  const on = new Set<AskableName>();
  for (const text of texts.flatMap((list) => list.split(",")).map((name) => name.trim())) {
    if (isOwnName(text)) {
      on.add(text);
      continue;
    }
    const named = QUESTION_NAMES.filter((name) => name === text || (text === SAFE && QUESTIONS[name].isSafe));
    if (named.length === 0 && text !== SAFE && text !== "")
      return failure(
        `"${text}" is no question: pass ${SAFE}, own:NAME, or names of ${QUESTION_NAMES.join(", ")}`,
      );
    for (const name of named) on.add(name);
  }
  if ([...on].filter(isOwnName).length > QUESTION_LIMITS.ownQuestions)
    return failure(`more than ${QUESTION_LIMITS.ownQuestions} questions with ${OWN_PREFIX}`);
  if (on.has("logs")) on.add("follow");
  if (on.size > 0) on.add("questions");
  return success(on);
}

/** How an answer ended. What came before the end is valid in each case. */
export type AnswerEnd =
  | { reason: "complete" }
  /** The answer is larger than QUESTION_LIMITS allows. */
  | { reason: "cut" }
  | { reason: "timed out"; seconds: number }
  /** The asker has left. */
  | { reason: "gone" }
  | { reason: "failed"; fault: string }
  /** The machine does not answer this question, or not now, or not without a proof over `challenge`. */
  | { reason: "refused"; fault: string; challenge?: string | undefined }
  /** The answer has ended on its way. */
  | { reason: "stopped"; fault: string };

/** Returns a sentence for the operator; null for a complete answer. */
export function answerEndText(end: AnswerEnd): string | null {
  if (end.reason === "complete") return null;
  if (end.reason === "failed" || end.reason === "refused" || end.reason === "stopped") return end.fault;
  if (end.reason === "timed out") return `the answer is incomplete: it may take ${end.seconds} s`;
  if (end.reason === "gone") return "the answer is incomplete: its asker has left";
  const { answerBytes, scannedBytes } = QUESTION_LIMITS;
  return `the answer is cut: it has at most ${answerBytes} bytes, of at most ${scannedBytes} that are read`;
}
