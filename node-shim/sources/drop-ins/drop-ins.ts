// Runs the drop-ins once a minute, one after the other and in the background, and keeps the last output of each. None
// of them can prevent a report.
import { failure, type Result, success } from "../../../shared/result.ts";
import { readdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { CustomFacts } from "../../../shared/protocol/custom.ts";
import type { DropIns } from "../../../shared/protocol/drop-ins.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { DROP_IN_LIMITS } from "../../../shared/protocol/limits.ts";
import type { RunProgram } from "../../base/child.ts";
import { codeOf } from "../../base/fault.ts";
import { ownershipFault } from "../../base/ownership.ts";
import { mergeDropIns } from "./merge.ts";
import { readDropIn, type Said } from "./read-one.ts";

export interface DropInsOptions {
  /** --facts-dir */
  folder: string;
  run: RunProgram; // typically runChild
  /** What one program may take. */
  deadlineMs: number;
  uid: number; // typically process.getuid()
  /** Milliseconds since 1970, for a file's age alone. */
  wallMs: () => number; // typically wallMs
  /** Monotonic: typically monotonicMs. */
  nowMs: () => number;
}

export interface LookedAt {
  /** null: there are none. Absent: none was read yet. */
  dropIns?: DropIns | null;
  /** For custom setters; absent where no drop-in has any. */
  custom?: CustomFacts;
  remainingSeconds?: NonNullable<Vitals["remainingSeconds"]>;
}

interface Remembered extends Partial<Said> {
  saidMs: number;
  error?: string | undefined;
}

const EVERY_MS = 60_000;

/** The last output of all drop-ins. With `wait` it reads them now, and waits for that. Never rejects. */
export function dropInFolder(given: DropInsOptions): (wait: boolean) => Promise<LookedAt> {
  const { nowMs } = given;
  // Programs run in "/", from where a relative path leads elsewhere.
  const options = { ...given, folder: resolve(given.folder) };
  let known: ReadonlyMap<string, Remembered> | undefined;
  let lookedMs = -Infinity;
  let isLooking = false;

  const look = async () => {
    isLooking = true;
    known = await lookAt(options, known);
    isLooking = false;
  };

  return async (wait) => {
    if (!isLooking && (wait || nowMs() - lookedMs >= EVERY_MS)) {
      lookedMs = nowMs();
      const looked = look();
      if (wait) await looked;
    }
    return lookedAt(known, nowMs());
  };
}

async function lookAt(
  options: DropInsOptions,
  before: ReadonlyMap<string, Remembered> = new Map(),
): Promise<ReadonlyMap<string, Remembered>> {
  const { folder, run, deadlineMs, uid, wallMs, nowMs } = options;
  const names = await namesIn(options);
  if (!names.ok) {
    // The last output stays until it expires: a folder that cannot be read shows nothing about the machine.
    return new Map([...before, [folder, { saidMs: nowMs(), error: names.error }]]);
  }
  const known = new Map<string, Remembered>();
  for (const name of names.value.slice(0, DROP_IN_LIMITS.dropIns - 1)) {
    const reading = await readDropIn(name, { folder, run, deadlineMs, uid, nowMs: wallMs });
    known.set(
      name,
      reading.ok
        ? { ...reading.value, saidMs: nowMs() }
        : { saidMs: nowMs(), ...before.get(name), error: reading.error },
    );
  }
  const left = names.value.length - known.size;
  if (left > 0) known.set(folder, { saidMs: nowMs(), error: `${left} more than are looked at are there` });
  return known;
}

/** Sorted. Hidden files are no drop-ins; a missing folder counts as an empty one. */
async function namesIn({ folder, uid }: DropInsOptions): Promise<Result<string[]>> {
  try {
    const fault = ownershipFault(await stat(folder), uid);
    if (fault !== null) return failure(`the folder ${fault}`);
    const names = await readdir(folder);
    return success(names.filter((name) => !name.startsWith(".")).sort());
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" ? success([]) : failure(`the folder cannot be read (${code})`);
  }
}

function lookedAt(known: ReadonlyMap<string, Remembered> | undefined, nowMs: number): LookedAt {
  if (known === undefined) return {};
  if (known.size === 0) return { dropIns: null };
  const all = [...known].map(([name, { dropIn, error }]) => ({ name, dropIn, error }));
  const { custom, ...dropIns } = mergeDropIns(all);
  const remaining = new Map<string, number>();
  for (const { dropIn, agedMs = 0, saidMs } of known.values()) {
    for (const { type, expiresInSeconds } of dropIn?.conditions ?? []) {
      const leftMs = expiresInSeconds * 1000 - agedMs - (nowMs - saidMs);
      // Where two report the same type, the first one counts.
      if (!remaining.has(type)) remaining.set(type, Math.max(0, Math.ceil(leftMs / 1000)));
    }
  }
  const reported = dropIns.conditions.map(({ type }) => [type, remaining.get(type) ?? 0] as const);
  return {
    dropIns,
    ...(Object.keys(custom).length > 0 && { custom }),
    remainingSeconds: Object.fromEntries(reported),
  };
}
