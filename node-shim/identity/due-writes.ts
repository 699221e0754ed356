// Delays writes to the state folder of a running shim while its file system cannot be written, or hangs.
import type { Warn } from "../base/reading.ts";
import { unwritableCode, WRITE_HANGS, writeProbe } from "../base/state-file.ts";

export interface DueWrites {
  /** Returns the code with which writes fail, as writeProbe does. */
  fault: () => Promise<string | null>;
  /** Adds work to do after the next accepted report. */
  afterReport: (work: () => void) => void;
  /** Does the work now, or later if the file system cannot be written. */
  now: (work: () => void) => Promise<void>;
  /** Does work without which the shim cannot report. Throws if a write does not end. */
  required: <T>(work: () => Promise<T>) => Promise<T>;
  /** Adds work that has just failed, because the file system cannot be written, and warns of it. */
  later: (work: () => void, code: string) => void;
  /** Begins the due work, which delays no report. Throws what earlier work has thrown. */
  write: () => void;
}

/** Returns the writes to the state folder that are due. A disk that is full, or hangs, delays them and ends no process. */
export function dueWrites(
  state: string,
  warn: Warn,
  fault = writeProbe(state), // typically this probe
): DueWrites {
  const due = new Set<() => void>();
  let isWarned = false;
  let writing: Promise<void> | null = null;
  let failed: { error: unknown } | null = null;
  const later = (work: () => void, code: string) => {
    due.add(work);
    if (!isWarned)
      warn(
        "state folder",
        `${state} cannot be written (${code}): the shim reports, and stores its state later`,
      );
    isWarned = true;
  };
  const now = async (work: () => void) => {
    if ((await fault()) === WRITE_HANGS) return later(work, WRITE_HANGS);
    try {
      work();
    } catch (error) {
      const code = unwritableCode(error);
      if (code === null) throw error;
      later(work, code);
    }
  };
  const required = async <T>(work: () => Promise<T>) => {
    if ((await fault()) !== WRITE_HANGS) return work();
    throw new Error(
      `${state} cannot be written (${WRITE_HANGS}): mend its file system, or pass another --state`,
    );
  };
  const writeAll = async () => {
    const present = [...due];
    due.clear();
    for (const work of present) await now(work);
    if (due.size === 0) isWarned = false;
    writing = null;
  };
  const write = () => {
    if (failed) throw failed.error;
    if (due.size > 0) writing ??= writeAll().catch((error: unknown) => void (failed = { error }));
  };
  return { fault, afterReport: (work) => void due.add(work), now, required, later, write };
}
