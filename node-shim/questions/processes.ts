// Answers questions about processes from /proc: what each uses, measured for a second, and the machine's pressure.
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { QUESTION_LIMITS } from "../../shared/protocol/limits.ts";
import type { ParametersOf } from "../../shared/protocol/question.ts";
import { valueOr } from "../../shared/result.ts";
import { monotonicMs, nextTurn, pause } from "../base/clock.ts";
import { listKernelFolder, readKernelFile } from "../base/reading.ts";
import { TICKS_PER_SECOND } from "../sources/kernel/usage.ts";
import type { Asking, Source } from "./source.ts";
import { bytesText, table } from "./table.ts";

const SAMPLE_MS = 1000;

interface Usage {
  pid: string;
  name: string;
  state: string;
  uid: string;
  /** CPU time since the process's start, in seconds. */
  cpu: number;
  memoryBytes: number;
  /** Bytes that the process has read from disks and written to them. NaN if this user may not know them. */
  diskBytes: number;
}

/** Yields the processes that use the most, without their arguments. */
export const processes: Source<ParametersOf<"processes">> = (parameters, asking) =>
  processLines(parameters, asking, false);

/** Yields the same with each process's arguments. */
export const commands: Source<ParametersOf<"commands">> = (parameters, asking) =>
  processLines(parameters, asking, true);

async function* processLines(
  { by, top }: ParametersOf<"processes">,
  { root, signal }: Pick<Asking, "root" | "signal">,
  withArguments: boolean,
): AsyncGenerator<string> {
  yield* pressureLines(root);
  const rows = await rates(root, signal);
  const value = { cpu: "cpu", memory: "memoryBytes", disk: "diskBytes" } as const;
  const order = value[by];
  rows.sort((a, b) => (b[order] || 0) - (a[order] || 0));
  yield `${rows.length} processes; those with the most ${by}:`;
  yield* table([
    ["PID", "USER", "CPU", "MEMORY", "DISK/s", "STATE", withArguments ? "COMMAND" : "NAME"],
    ...rows
      .slice(0, top)
      .map(({ pid, uid, cpu, memoryBytes, diskBytes, state, name }) => [
        pid,
        uid,
        `${(cpu * 100).toFixed(1)}%`,
        bytesText(memoryBytes),
        Number.isNaN(diskBytes) ? "" : bytesText(diskBytes),
        state,
        withArguments ? argumentsOf(root, pid) || `[${name}]` : name,
      ]),
  ]);
}

/** A process with what it uses in a second: CPU time in seconds, and bytes of disks. */
export type Rate = Usage;

/** Measures all processes for a second. Throws when `signal` is aborted. */
export async function rates(root: string, signal: AbortSignal): Promise<Rate[]> {
  const before = new Map((await usages(root, signal)).map((usage) => [usage.pid, usage]));
  const startedMs = monotonicMs();
  await pause(SAMPLE_MS);
  const seconds = (monotonicMs() - startedMs) / 1000;
  return (await usages(root, signal)).map((usage) => {
    const { cpu, diskBytes } = before.get(usage.pid) ?? usage;
    return { ...usage, cpu: (usage.cpu - cpu) / seconds, diskBytes: (usage.diskBytes - diskBytes) / seconds };
  });
}

/** Returns a field of /proc/meminfo in bytes; 0 if the kernel has no such field. */
export function memoryBytes(root: string): (name: string) => number {
  const text = valueOr(readKernelFile(root, "/proc/meminfo"), "");
  const fields = [...text.matchAll(/^(\w+):\s+(\d+) kB$/gm)];
  const bytes = new Map(fields.map(([, name, kib]) => [name, Number(kib) * 1024]));
  return (name) => bytes.get(name) ?? 0;
}

/** Yields load, memory, and the pressure (PSI) of kernels that measure it. */
export function* pressureLines(root: string): Generator<string> {
  const read = (path: string) => valueOr(readKernelFile(root, path), "").trim();
  const bytesOf = memoryBytes(root);
  const memory = (name: string) => bytesText(bytesOf(name));
  yield `load: ${read("/proc/loadavg").split(" ").slice(0, 3).join(" ")}`;
  yield `memory: ${memory("MemAvailable")} of ${memory("MemTotal")} available; swap: ${memory("SwapFree")} of ${memory("SwapTotal")} free`;
  for (const kind of ["cpu", "memory", "io"])
    for (const line of read(`/proc/pressure/${kind}`).split("\n").filter(Boolean))
      yield `pressure of ${kind}: ${line}`;
}

/** The number of processes that are read before other work of this process, such as its time limits. */
const AT_ONCE = 100;

/** Reads all processes. Any user may start thousands, which take seconds. */
async function usages(root: string, signal: AbortSignal): Promise<Usage[]> {
  const pids = valueOr(listKernelFolder(root, "/proc"), []).filter((name) => /^\d+$/.test(name));
  const found: Usage[] = [];
  for (const [at, pid] of pids.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await new Promise<void>(nextTurn);
    if (signal.aborted) throw new Error(`there was no time to read all of the ${pids.length} processes`);
    const usage = usageOf(root, pid);
    if (usage !== null) found.push(usage);
  }
  return found;
}

/** Returns a process's usage; null if the process has ended. */
function usageOf(root: string, pid: string): Usage | null {
  const stat = readKernelFile(root, `/proc/${pid}/stat`);
  const status = readKernelFile(root, `/proc/${pid}/status`);
  if (!stat.ok || !status.ok) return null;
  // A name may have blanks and parentheses: the fields after it begin behind the last parenthesis.
  const [state = "?", ...fields] = stat.value.slice(stat.value.lastIndexOf(")") + 2).split(" ");
  const field = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status.value)?.[1];
  const io = valueOr(readKernelFile(root, `/proc/${pid}/io`), "");
  const moved = [...io.matchAll(/^(?:read|write)_bytes: (\d+)$/gm)].map(([, bytes]) => Number(bytes));
  return {
    pid,
    name: stat.value.slice(stat.value.indexOf("(") + 1, stat.value.lastIndexOf(")")),
    state,
    uid: field("Uid") ?? "",
    // utime and stime are the fields 14 and 15 of proc_pid_stat(5); the state is field 3.
    cpu: (Number(fields[10]) + Number(fields[11])) / TICKS_PER_SECOND,
    memoryBytes: Number(field("VmRSS") ?? 0) * 1024,
    diskBytes: moved.length === 0 ? Number.NaN : moved.reduce((sum, bytes) => sum + bytes, 0),
  };
}

/** Returns a process's arguments; an empty text if it has none. An argument with blanks or separators is in quotes. */
function argumentsOf(root: string, pid: string): string {
  const texts = beginningOf(join(root, `/proc/${pid}/cmdline`))
    .replace(/\0+$/, "")
    .split("\0");
  return texts.map(quoted).join(" ").trim();
}

/** Quotes the value of an argument as the redaction of secrets expects it: otherwise only its first word is redacted. */
const quoted = (argument: string) =>
  argument.replace(/^([\w-]{0,64}=)?(.*[\s"',;&].*)$/s, (_, name: string | undefined, value: string) => {
    return `${name ?? ""}${JSON.stringify(value)}`;
  });

/** Returns as much of a file as a line of an answer may have. A process can make its arguments gigabytes long. */
function beginningOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(QUESTION_LIMITS.lineLength);
      return bytes.toString("utf8", 0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  } catch {
    return "";
  }
}
