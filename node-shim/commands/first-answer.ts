// Waits, at the end of `join`, for the cluster's answer: reads a running shim's status, or sends reports as `run` does.
import { type Clock, after, monotonicMs, pause, wallMs } from "../base/clock.ts";
import type { MachineFlags } from "../machine/settings.ts";
import type { Log } from "../base/log.ts";
import { diagnose, type Diagnosis, statusOf } from "../status/diagnosis.ts";
import { reportUntilStopped } from "./run.ts";

/** The longest wait for the cluster's answer: enough to register at a slow apiserver, bearable for an operator. */
export const ANSWER_MS = 10_000;
const READ_EVERY_MS = 200;

export interface FirstAnswer {
  diagnosis: Diagnosis;
  /** true if no shim reports after this process: the Node is Ready only until its lease expires. */
  isLast: boolean;
}

interface AnswerFlags extends MachineFlags {
  url?: string;
  state: string;
}

/** Returns the cluster's answer. Call after the enrolment. Throws, with the remedy, if this machine cannot report. */
export async function firstAnswer(
  flags: AnswerFlags,
  isServiceStarted: boolean,
  progress: (text: string) => void,
): Promise<FirstAnswer> {
  const status = () => statusOf(flags.state, wallMs());
  if (isServiceStarted || (await status()).seen?.isRunning === true) {
    const read = async () => (await status()).diagnosis;
    const diagnosis = await settled(read, { nowMs: monotonicMs, sleep: pause }, progress);
    return { diagnosis, isLast: false };
  }
  return { diagnosis: await reportOnce(flags, progress), isLast: true };
}

/** Returns the first diagnosis that does not pass by itself, or the diagnosis after ANSWER_MS. */
export async function settled(
  read: () => Diagnosis | Promise<Diagnosis>,
  { nowMs, sleep }: Pick<Clock, "nowMs"> & { sleep: (ms: number) => Promise<void> },
  progress: (text: string) => void,
): Promise<Diagnosis> {
  const untilMs = nowMs() + ANSWER_MS;
  for (;;) {
    const diagnosis = await read();
    if (!diagnosis.passes || nowMs() >= untilMs) return diagnosis;
    progress(diagnosis.text);
    await sleep(READ_EVERY_MS);
  }
}

/** Reports until the cluster answers. The Worker counts this run as a start, which may delay the next start's facts. */
async function reportOnce(flags: AnswerFlags, progress: (text: string) => void): Promise<Diagnosis> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const cancel = after(ANSWER_MS, stop);
  process.once("SIGINT", stop);
  let last = (await statusOf(flags.state, wallMs())).diagnosis;
  // The log writes nothing, because the diagnosis repeats the loop's lines.
  const log: Log = () => undefined;
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  try {
    await reportUntilStopped(
      { ...flags, transport: "http" },
      {
        log,
        warn,
        stop: stopping.signal,
        watch: (file) => {
          last = diagnose({ file, isRunning: true }, file.name, wallMs());
          if (last.passes) progress(last.text);
          else stop();
        },
      },
    );
  } finally {
    cancel();
    process.off("SIGINT", stop);
  }
  return last;
}
