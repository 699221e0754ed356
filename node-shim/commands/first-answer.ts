// How `join` ends: with what the cluster now says. Where a shim runs, its status is awaited; else this process reports,
// as `run` does, until there is an answer that counts.
import { type Clock, after, monotonicMs, pause, wallMs } from "../base/clock.ts";
import type { MachineFlags } from "../machine/settings.ts";
import type { Log } from "../base/log.ts";
import { diagnose, type Diagnosis, statusOf } from "../status/diagnosis.ts";
import { reportUntilStopped } from "./run.ts";

/** Long enough for a registration at an apiserver that is slow, short enough for somebody who waits. */
export const ANSWER_MS = 10_000;
const LOOK_EVERY_MS = 200;

export interface FirstAnswer {
  diagnosis: Diagnosis;
  /** Nobody reports after this: the Node is Ready no longer than its lease lasts. */
  isLast: boolean;
}

interface AnswerFlags extends MachineFlags {
  url?: string;
  state: string;
}

/** Call it once the machine has enrolled. Throws with what to do where this machine cannot report. */
export async function firstAnswer(
  flags: AnswerFlags,
  isServiceStarted: boolean,
  progress: (text: string) => void,
): Promise<FirstAnswer> {
  const look = () => statusOf(flags.state, wallMs());
  if (isServiceStarted || look().seen?.isRunning === true) {
    const diagnosis = await settled(() => look().diagnosis, { nowMs: monotonicMs, sleep: pause }, progress);
    return { diagnosis, isLast: false };
  }
  return { diagnosis: await reportOnce(flags, progress), isLast: true };
}

/** What is found once it does not pass by itself, or after ANSWER_MS. */
export async function settled(
  look: () => Diagnosis,
  { nowMs, sleep }: Pick<Clock, "nowMs"> & { sleep: (ms: number) => Promise<void> },
  progress: (text: string) => void,
): Promise<Diagnosis> {
  const untilMs = nowMs() + ANSWER_MS;
  for (;;) {
    const diagnosis = look();
    if (!diagnosis.passes || nowMs() >= untilMs) return diagnosis;
    progress(diagnosis.text);
    await sleep(LOOK_EVERY_MS);
  }
}

/**
 * A process of its own to the Worker, as any start of the shim is: one whose facts differ from the next one's delays
 * those until it has been silent for a report interval, and no longer.
 */
async function reportOnce(flags: AnswerFlags, progress: (text: string) => void): Promise<Diagnosis> {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const cancel = after(ANSWER_MS, stop);
  process.once("SIGINT", stop);
  let last = statusOf(flags.state, wallMs()).diagnosis;
  // The loop's own lines would say what the diagnosis does.
  const log: Log = () => undefined;
  const warn = (source: string, message: string) => console.error(`node-shim: ${source}: ${message}`);
  try {
    // One answer needs no socket.
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
