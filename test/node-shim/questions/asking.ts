// Plays the machine that a question is about: its programs print what a test defines. Contains no test.
import { failure } from "../../../shared/result.ts";
import type { Asking } from "../../../node-shim/questions/source.ts";

/** 2026-11-27T12:00:00Z. */
export const NOW_MS = 1_795_780_800_000;

export interface Played extends Asking {
  /** The command lines of the programs that ran. */
  ran: string[];
  wasCut: () => boolean;
}

/** Returns a machine on which each program prints the text of the first key that its command line contains. */
export function played(outputs: Record<string, string> = {}, over: Partial<Asking> = {}): Played {
  const ran: string[] = [];
  let isCut = false;
  return {
    root: "/no/such/root",
    wallMs: () => NOW_MS,
    files: [],
    on: new Set(),
    own: new Map(),
    runner: { isRoot: true, name: "root", hasSystemd: true },
    ask: () => {
      throw new Error("not played");
    },
    stateFolder: "/no/such/state",
    runtime: { isDocker: false, sockets: [] },
    readHardware: () => Promise.resolve(failure("not played")),
    checkWorker: () => Promise.resolve([]),
    signal: new AbortController().signal,
    cut: () => void (isCut = true),
    wasCut: () => isCut,
    ran,
    // oxlint-disable-next-line require-await -- the program is asynchronous, the played one is not
    async *run(program, args) {
      const line = [program, ...args].join(" ");
      ran.push(line);
      const key = Object.keys(outputs).find((each) => line.includes(each));
      if (key === undefined) throw new Error(`${program} is not installed on this machine`);
      yield* (outputs[key] ?? "").split("\n").slice(0, -1);
    },
    ...over,
  };
}

export async function collected(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

/** Yields each line, as a program or a file would. */
// oxlint-disable-next-line require-await -- as above
export async function* each(lines: Iterable<string>): AsyncGenerator<string> {
  yield* lines;
}
