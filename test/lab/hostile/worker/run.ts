// Runs a hostile Worker against the real command line and the real shim, and judges their outputs, times, memory and
// requests.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FORMATS } from "../../../../infra/operator/render/shown.ts";
import { GATEWAY_LIMITS, QUESTION_LIMITS } from "../../../../shared/protocol/limits.ts";
import { randomOf } from "../random.ts";
import { type CommandRun, commandLines, runCommand } from "./commands.ts";
import { faultOfOutput, hostileText } from "./hostile-answers.ts";
import { type HostileWorker, hostileWorker, type Style, STYLES } from "./server.ts";
import { type Shim, type ShimRun, shimWith } from "./shim.ts";

export interface WorkerVerdict {
  commands: number;
  shims: number;
  findings: string[];
}

/** A command reads at most 32 MiB of an answer; what the kernel and the server hold comes on top. */
const MOST_READ_BYTES = 64 * 2 ** 20;
/** A request of a command ends after 30 seconds, and a command of the shim after a few requests of 10 seconds. */
const MOST_COMMAND_MS = 35_000;
const MOST_SHIM_MS = 60_000;
const RUN_MS = 9000;
/** The shim itself needs about 80 MiB. */
const MOST_SHIM_MIB = 200;
const WINDOW_MS = 8000;
/** The pace of the shim: some requests at once, then one a second. */
const MOST_IN_WINDOW = GATEWAY_LIMITS.reportsAtOnce + WINDOW_MS / 1000;
/** The questions in the rate of the shim, each with the requests that wait for room, its parts and its end. */
const MOST_ANSWERS_IN_WINDOW = 64 * QUESTION_LIMITS.aMinute;

export async function runWorker(seed: number, progress: (text: string) => void): Promise<WorkerVerdict> {
  const findings: string[] = [];
  const counts = { commands: 0, shims: 0 };
  const found = (fault: string | null | false) => void (fault && findings.push(fault));
  const undo = fakeKubectl(seed);
  try {
    await everyCommand(seed, found, (what) => progress(`${++counts.commands} commands: ${what}`));
    await slowCommands(found);
    await everyShim(seed, found, (what) => progress(`${++counts.shims} shims: ${what}`));
  } finally {
    undo();
  }
  return { ...counts, findings };
}

type Found = (fault: string | null | false) => void;

/** Runs each command in each format, on a terminal or in a pipe, against answers with hostile texts. */
async function everyCommand(seed: number, found: Found, done: (what: string) => void): Promise<void> {
  const worker = await hostileWorker(seed, "texts");
  let index = 0;
  for (const args of commandLines())
    for (const format of [null, ...FORMATS]) {
      const line = [...args, ...(format === null ? [] : ["-o", format])];
      const isTerminal = randomOf(seed, index++).chance(0.5);
      const run = await runCommand(line, worker.url, isTerminal);
      found(commandFault(line, run));
      done(line.join(" "));
    }
  await worker.close();
}

function commandFault(line: string[], { output, isTerminal, tookMs }: CommandRun): string | null {
  const fault = faultOfOutput(output, isTerminal);
  const what = `rollcall ${line.join(" ")}${isTerminal ? " (terminal)" : ""}`;
  if (fault !== null) return `${what}: ${fault}`;
  return tookMs > MOST_COMMAND_MS ? `${what}: took ${Math.round(tookMs)} ms` : null;
}

/** Runs some commands against answers without end, at once: a request may last 30 seconds. */
async function slowCommands(found: Found): Promise<void> {
  const styles = STYLES.filter((style) => style !== "texts" && style !== "flood");
  const lines = [["nodes"], ["node", "edge-1"], ["audit", "--all"], ["ready"]];
  await Promise.all(
    styles.map(async (style) => {
      const worker = await hostileWorker(0, style);
      for (const line of lines) {
        Object.assign(worker, { writtenBytes: 0, askedMs: [] });
        const run = await runCommand(line, worker.url, false);
        found(commandFault(line, run));
        found(run.code === 0 && `rollcall ${line.join(" ")}: takes an answer that is ${style}`);
        found(
          worker.writtenBytes > worker.askedMs.length * MOST_READ_BYTES &&
            `rollcall ${line.join(" ")}: reads ${worker.writtenBytes} bytes of answers that are ${style}`,
        );
        if (style === "slow") break;
      }
      await worker.close();
    }),
  );
}

async function everyShim(seed: number, found: Found, done: (what: string) => void): Promise<void> {
  for (const style of STYLES) {
    const worker = await hostileWorker(seed, style);
    const shim = shimWith(worker.url);
    await shimCommands(worker, shim, style, (command, run) => {
      found(shimFault(`node-shim ${command} (${style})`, run));
      done(`${command} (${style})`);
    });
    found(paceFault(worker, style));
    shim.remove();
    await worker.close();
  }
}

async function shimCommands(
  worker: HostileWorker,
  shim: Shim,
  style: Style,
  ran: (command: string, run: ShimRun) => void,
): Promise<void> {
  const run = async (command: string, forMs = MOST_SHIM_MS) => ran(command, await shim.run(command, forMs));
  await run("join", RUN_MS);
  Object.assign(worker, { askedMs: [], answeredMs: [] });
  await run("run", RUN_MS);
  const reports = worker.askedMs;
  await run("status");
  if (style !== "flood") {
    await run("doctor");
    for (const command of ["rotate", "upgrade --check", "leave"]) await run(command);
  }
  worker.askedMs = reports;
}

function shimFault(what: string, { output, memoryMiB, tookMs }: ShimRun): string | null {
  const fault = faultOfOutput(output, false);
  if (fault !== null) return `${what}: ${fault}`;
  if (memoryMiB > MOST_SHIM_MIB) return `${what}: ${Math.round(memoryMiB)} MiB`;
  return tookMs > MOST_SHIM_MS + 4000 ? `${what}: took ${Math.round(tookMs)} ms` : null;
}

/** Returns a fault if the shim sent more requests or answers within WINDOW_MS than its pace allows. */
function paceFault({ askedMs, answeredMs }: HostileWorker, style: Style): string | null {
  const inWindow = `in ${WINDOW_MS / 1000} s`;
  const [asked, answers] = [mostInWindow(askedMs), mostInWindow(answeredMs)];
  if (asked > MOST_IN_WINDOW) return `node-shim run (${style}): ${asked} requests ${inWindow}`;
  return answers > MOST_ANSWERS_IN_WINDOW
    ? `node-shim run (${style}): ${answers} parts of answers ${inWindow}`
    : null;
}

const mostInWindow = (times: readonly number[]) =>
  Math.max(0, ...times.map((at) => times.filter((each) => each >= at && each < at + WINDOW_MS).length));

/** Puts a kubectl with hostile output before the others. Returns a function that removes it. */
function fakeKubectl(seed: number): () => void {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-kubectl-"));
  const said = join(folder, "said");
  writeFileSync(
    said,
    `Error from server (Forbidden): ${hostileText(randomOf(seed, 0))}\nerror: ${hostileText(randomOf(seed, 1))}`,
  );
  writeFileSync(join(folder, "kubectl"), `#!/bin/sh\ncat ${said} >&2\nexit 1\n`);
  chmodSync(join(folder, "kubectl"), 0o755);
  const before = process.env["PATH"];
  process.env["PATH"] = `${folder}:${before}`;
  return () => {
    process.env["PATH"] = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

const FINDINGS_SHOWN = 40;

export function workerVerdictText({ commands, shims, findings }: WorkerVerdict): string {
  const shown = findings.slice(0, FINDINGS_SHOWN).map((finding) => `${finding}\n`);
  const more = findings.length > FINDINGS_SHOWN ? `and ${findings.length - FINDINGS_SHOWN} more\n` : "";
  const verdict = findings.length === 0 ? "clean" : `${findings.length} findings`;
  return `${shown.join("")}${more}${verdict}: ${commands} command lines of rollcall, ${shims} of node-shim\n`;
}
