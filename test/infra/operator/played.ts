// Runs the command line in this process, on a terminal of any width, against a server with the test's answers.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CommanderError } from "commander";
import { polledChanges } from "./polled-changes.ts";
import {
  OperatorProgram,
  passOnCommonFlags,
  withCommonFlags,
} from "../../../infra/operator/operator-program.ts";
import { runCommandLine } from "../../../infra/operator/program.ts";

export interface AskedFor {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

export interface Answered {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

export interface FakeWorker {
  url: string;
  asked: AskedFor[];
  close: () => void;
}

export async function fakeWorker(answer: (asked: AskedFor) => Answered): Promise<FakeWorker> {
  const asked: AskedFor[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://worker.test");
      const one: AskedFor = {
        method: request.method ?? "",
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body: text === "" ? null : (JSON.parse(text) as unknown),
      };
      asked.push(one);
      const { status = 200, body, headers = {} } = answer(one);
      response.writeHead(status, headers).end(body === undefined ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked, close: () => void server.close() };
}

export interface Played {
  url?: string;
  /** The width of the terminal. Absent: the output is a pipe. */
  columns?: number;
  isColored?: boolean;
  nowMs?: number;
  /** The answer that the user types. Absent: there is no terminal to ask at. */
  types?: string;
  /** Called while the command waits, with the line that Ctrl+C would print. */
  whileWaiting?: (atInterrupt: string) => void;
}

/**
 * Runs a command line. The time is 2026-01-01T12:00:00Z unless the test sets it. A wait moves the clock, and takes
 * no real time.
 */
export async function play(args: string[], played: Played = {}) {
  const { url, columns, isColored = false, types, whileWaiting = () => undefined } = played;
  let nowMs = played.nowMs ?? Date.UTC(2026, 0, 1, 12);
  const ended = { code: 0, stdout: "", stderr: "" };
  const process = {
    env: { ROLLCALL_URL: url, ROLLCALL_SECRET: "secret", ...(!isColored && { NO_COLOR: "1" }) },
    stdout: {
      write: (text: string) => (ended.stdout += text),
      isTTY: columns !== undefined,
      columns,
    },
    stderr: { write: (text: string) => (ended.stderr += text), isTTY: columns !== undefined },
    set exitCode(code: number) {
      ended.code = code;
    },
  };
  const terminal = {
    isInteractive: types !== undefined,
    ask: (question: string) => {
      ended.stderr += question;
      return Promise.resolve(types);
    },
  };
  let atInterrupt = "";
  const pause = (ms: number) => {
    nowMs += ms;
    whileWaiting(atInterrupt);
    return Promise.resolve();
  };
  await runCommandLine(args, {
    process,
    terminal,
    now: () => nowMs,
    pause,
    atInterrupt: (line) => {
      atInterrupt = line;
      return () => (atInterrupt = "");
    },
    writeBytes: (bytes) => void (ended.stdout += Buffer.from(bytes).toString("latin1")),
    changesOf: () => polledChanges(pause),
  });
  return ended;
}

/**
 * Runs a program whose one command `add` adds, typically with a kubectl of the test. `types` is the answer that the
 * user types; undefined if there is no terminal.
 */
export async function playAlone(add: (program: OperatorProgram) => void, args: string[], types?: string) {
  const ended = { code: 0, stdout: "", stderr: "" };
  const program = withCommonFlags(
    new OperatorProgram({
      process: {
        env: {},
        stdout: { write: (text: string) => (ended.stdout += text) },
        stderr: { write: (text: string) => (ended.stderr += text) },
        set exitCode(code: number) {
          ended.code = code;
        },
      },
      terminal: { isInteractive: types !== undefined, ask: () => Promise.resolve(types) },
      now: () => 0,
      pause: () => Promise.resolve(),
      changesOf: () => polledChanges(() => Promise.resolve()),
    }),
  );
  add(program);
  passOnCommonFlags(program);
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    ended.code = 2;
  }
  return ended;
}
