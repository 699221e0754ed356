// Answers a question about this machine: a stream of bytes that ends in bounded time, after a bounded number of bytes.
// Only a question loads this folder, so that a shim without questions does not pay for it.
import type { ParametersOf, Question } from "../../shared/protocol/question.ts";
import { type AnswerEnd, type QuestionName } from "../../shared/protocol/questions.ts";
import { after } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { bundle } from "./bundle.ts";
import { diagnosis } from "./diagnosis.ts";
import { disks, folders } from "./disks.ts";
import { files } from "./files.ts";
import { follow, logs } from "./journal.ts";
import { boots, hardware } from "./machine.ts";
import { questions } from "./list.ts";
import { network } from "./network.ts";
import { own } from "./own.ts";
import { boundsOf, type OwnAsked } from "../config/own-questions.ts";
import { commands, processes } from "./processes.ts";
import { cleanLine } from "./redaction.ts";
import { containers } from "./containers.ts";
import { containerLogs, runtime } from "./runtime.ts";
import type { Asking, QuestionHost, Source } from "./source.ts";
import { units } from "./units.ts";

const SOURCES: {
  readonly [Name in QuestionName]: Source<ParametersOf<Name>, string | Uint8Array>;
} = {
  diagnosis,
  logs,
  follow,
  "container-logs": containerLogs,
  files,
  commands,
  processes,
  disks,
  folders,
  network,
  units,
  runtime,
  containers,
  hardware,
  boots,
  questions,
  bundle,
};

/** Milliseconds after its time for which the lines that a source has found are still sent. */
const REST_MS = 2000;

/**
 * Yields the answer's bytes, and returns how it ended. Reads nothing before its caller asks for the next bytes. When
 * `signal` is aborted, the answer ends at once, with its programs. Never throws.
 */
export async function* answer(
  question: Question | OwnAsked,
  host: QuestionHost,
  signal: AbortSignal, // aborted when the asker has gone
  settled: () => void = () => {}, // called once its source has ended, which may hang in a file system
): AsyncGenerator<Uint8Array, AnswerEnd> {
  const { seconds, bytes: most } = boundsOf(question);
  const late = (): AnswerEnd => (signal.aborted ? { reason: "gone" } : { reason: "timed out", seconds });
  const time = timeOf(seconds, signal);
  let isCut = false;
  let bytesLeft = most;
  const asking: Asking = {
    ...host,
    signal: time.signal,
    ask: (other) => answer(other, host, time.signal),
    cut: () => void (isCut = true),
  };
  const lines = linesOf(question, asking)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = lines.next();
      // After the deadline, no caller waits for a source that fails.
      next.catch(() => undefined);
      const first = await Promise.race([next, time.over]);
      if (first === "over") return late();
      if (first.done) return time.signal.aborted ? late() : { reason: isCut ? "cut" : "complete" };
      const { value } = first;
      const bytes = typeof value === "string" ? Buffer.from(`${cleanLine(value)}\n`) : value;
      bytesLeft -= bytes.length;
      if (bytesLeft < 0) return { reason: "cut" };
      yield bytes;
    }
  } catch (error) {
    return signal.aborted ? late() : { reason: "failed", fault: cleanLine(faultOf(error)) };
  } finally {
    time.end();
    // A source that waits closes its files once it continues.
    void (lines.return?.() ?? Promise.resolve()).catch(() => undefined).then(settled);
  }
}

function linesOf(question: Question | OwnAsked, asking: Asking): AsyncIterable<string | Uint8Array> {
  if ("own" in question) return own(question, asking);
  const source = SOURCES[question.name] as Source<Question["parameters"], string | Uint8Array>;
  return source(question.parameters, asking);
}

/** Aborts `signal` after `seconds`, and resolves `over` a little later, or when the asker has gone. */
function timeOf(seconds: number, asker: AbortSignal) {
  const stop = new AbortController();
  let cancel = () => {};
  let leave = () => {};
  const over = new Promise<"over">((resolve) => {
    leave = () => {
      stop.abort();
      resolve("over");
    };
    cancel = after(seconds * 1000, () => {
      stop.abort();
      cancel = after(REST_MS, () => resolve("over"));
    });
    asker.addEventListener("abort", leave);
    if (asker.aborted) leave();
  });
  const end = () => {
    cancel();
    asker.removeEventListener("abort", leave);
    stop.abort();
  };
  return { signal: stop.signal, over, end };
}
