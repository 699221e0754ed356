// Starts the program behind npm start in the test's process.
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { runStart } from "../../infra/local/start-program.ts";
import { outputOf, type Started } from "./local-cluster.ts";

/** Starts the program without a terminal. The parts that it starts are processes. */
export function startHere(flags: string[]): Started {
  const both = new PassThrough();
  const listeners = new Map<string, () => void>();
  const ended = runStart(flags, {
    stdout: both as unknown as NodeJS.WriteStream,
    stderr: both,
    terminal: { isInteractive: false, ask: () => Promise.reject(new Error("nobody can be asked")) },
    onSignal: (signal, listener) => listeners.set(signal, listener),
  }).then(async (code) => {
    both.end();
    await finished(both);
    return code;
  });
  return { ...outputOf([both], ended), end: (signal) => listeners.get(signal)?.() };
}
