// Asks rollcall-ask.socket a question, and answers one as rollcall-ask@.service, in its sandbox. The asker writes a line of
// JSON and keeps the connection open. The answer is messages with a length, as gRPC has them: the bytes of the answer, an
// empty message, and how the answer ended.
import { readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { after } from "../base/clock.ts";
import { faultOf } from "../base/fault.ts";
import { connectTrusted } from "../base/trusted-socket.ts";
import { ASK_SERVICE_UNIT, ASK_SOCKET_UNIT, UNIT_NAME } from "../service/unit.ts";
import { deframer, frame } from "../wire/grpc/frames.ts";

/** The wait for a message beyond the time of the question. */
const GRACE_MS = 5000;
/** The longest wait of a started service for its question. */
const ASKED_WITHIN_MS = 10_000;

const failed = (fault: string): AnswerEnd => ({ reason: "failed", fault });

/** Asks the unit. Yields the bytes of its answer, and returns how the answer ended. Never throws. */
export async function* askUnit(
  socketPath: string, // typically ASK_SOCKET
  asked: unknown,
  seconds: number, // the time of the question
  signal: AbortSignal, // aborted when the asker has gone
  settled: () => void = () => {}, // called once the connection has ended
): AsyncGenerator<Uint8Array, AnswerEnd> {
  const socket = connectTrusted(socketPath);
  socket.on("error", () => undefined);
  socket.once("close", settled);
  const leave = () => void socket.destroy();
  signal.addEventListener("abort", leave);
  if (signal.aborted) leave();
  const messages: Buffer[] = [];
  const { push } = deframer((message) => messages.push(message), QUESTION_LIMITS.chunkBytes);
  let isEnding = false;
  try {
    socket.write(`${JSON.stringify(asked)}\n`);
    for await (const chunk of inTime(socket, seconds * 1000 + GRACE_MS)) {
      const fault = push(chunk);
      for (const message of messages.splice(0)) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The unit is this program.
        if (isEnding) return JSON.parse(message.toString()) as AnswerEnd;
        if (message.length === 0) isEnding = true;
        else yield message;
      }
      if (fault !== null) return failed(`${ASK_SOCKET_UNIT}: ${fault.message}`);
    }
    return failed(`${ASK_SERVICE_UNIT} has ended without an answer: journalctl -u "rollcall-ask@*"`);
  } catch (error) {
    return signal.aborted ? { reason: "gone" } : failed(`${ASK_SOCKET_UNIT}: ${faultOf(error)}`);
  } finally {
    signal.removeEventListener("abort", leave);
    socket.destroy();
  }
}

/** Yields what comes. Throws if nothing comes for `ms`, while the caller waits for it. */
async function* inTime(socket: Duplex, ms: number): AsyncGenerator<Buffer> {
  const chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  for (;;) {
    const cancel = after(ms, () => socket.destroy(new Error(`no answer within ${ms / 1000} s`)));
    const next = await chunks.next().finally(cancel);
    if (next.done) return;
    yield next.value;
  }
}

/**
 * Reports whether the shim's service has connected, and not an administrator's command. The service's sandbox cannot write
 * cgroups, though root can ask systemd for a process outside of it. An unknown process counts as the shim.
 */
export function isShim(
  instance: string, // of rollcall-ask@.service: its last numbers are the process and the user that have connected
  cgroupsOf: (pid: string) => string = (pid) => readFileSync(`/proc/${pid}/cgroup`, "utf8"),
): boolean {
  // A newer systemd writes the number of a pidfd behind that of its process: 4711_815.
  const pid = /-(\d+)(?:_\d+)?-\d+$/.exec(instance)?.[1];
  try {
    return pid === undefined || cgroupsOf(pid).includes(`/${UNIT_NAME}`);
  } catch {
    return true;
  }
}

/** Answers the question of a connection, and ends the connection. Never rejects. */
export async function serveQuestion(
  connection: Duplex,
  /** Answers anything that was asked. */
  answers: (asked: unknown, signal: AbortSignal) => AsyncGenerator<Uint8Array, AnswerEnd>,
): Promise<void> {
  const gone = new AbortController();
  for (const event of ["end", "close", "error"]) connection.on(event, () => gone.abort());
  const line = await firstLine(connection, gone.signal);
  if (line === null) return void connection.destroy();
  const chunks = answers(parsed(line), gone.signal);
  for (;;) {
    const { done, value } = await chunks.next();
    if (done) {
      const end = frame(Buffer.from(JSON.stringify(value)));
      connection.end(Buffer.concat([frame(Buffer.alloc(0)), end]));
      return;
    }
    if (!connection.write(frame(Buffer.from(value)))) await drained(connection, gone.signal);
  }
}

/** Returns the line that the asker writes; null if none comes in time, or it is too long. */
function firstLine(connection: Duplex, gone: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    let text = "";
    const end = (line: string | null) => {
      cancel();
      resolve(line);
    };
    const cancel = after(ASKED_WITHIN_MS, () => end(null));
    gone.addEventListener("abort", () => end(null));
    // The listener stays: a stream whose data is not read has no end.
    connection.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(0, QUESTION_LIMITS.askedBytes + 1);
      const at = text.indexOf("\n");
      if (at >= 0) end(text.slice(0, at));
      else if (text.length > QUESTION_LIMITS.askedBytes) end(null);
    });
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function drained(connection: Duplex, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      connection.off("drain", end);
      gone.removeEventListener("abort", end);
      resolve();
    };
    connection.on("drain", end);
    gone.addEventListener("abort", end);
    if (gone.aborted) end();
  });
}
