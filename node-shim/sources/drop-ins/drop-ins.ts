// Runs the drop-ins once a minute, one after the other and in the background. Keeps the last output of each drop-in.
import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type CustomFacts,
  type DropIn,
  type DropIns,
  dropInSchema,
} from "../../../shared/protocol/drop-ins.ts";
import { CUSTOM_LIMITS, DROP_IN_LIMITS } from "../../../shared/protocol/limits.ts";
import { printableTexts } from "../../../shared/protocol/printable.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { RunProgram } from "../../base/child.ts";
import { codeOf, faultOf } from "../../base/fault.ts";
import {
  AS_IT_IS,
  FOR_READING,
  type Opened,
  openTrusted,
  ownershipFault,
  selfOf,
} from "../../base/ownership.ts";

interface DropInsOptions {
  /** The folder of the drop-ins: --facts-dir. */
  folder: string;
  run: RunProgram; // typically runChild
  /** The time limit of one program. */
  deadlineMs: number;
  wallMs: () => number; // milliseconds since 1970, for a file's age
  nowMs: () => number; // monotonic: typically monotonicMs
  /** Returns the results of other sources that count as drop-ins. Typically of problem monitors. */
  others?: () => ReadonlyMap<string, Remembered>;
}

export interface DropInFacts {
  /** The merged drop-ins; null if there are none. Absent before the first read. */
  dropIns?: DropIns | null;
  /** The facts for custom setters; absent if no drop-in has any. */
  custom?: CustomFacts;
  remainingSeconds?: NonNullable<Vitals["remainingSeconds"]>;
}

export interface Remembered extends Partial<Output> {
  /** The time of the reading, by the monotonic clock. */
  readMs: number;
  error?: string | undefined;
}

const EVERY_MS = 60_000;

/** Returns a function that returns the last output of all drop-ins. With `wait`, it reads them first. Never rejects. */
export function dropInFolder(given: DropInsOptions): (wait: boolean) => Promise<DropInFacts> {
  const { nowMs } = given;
  // The drop-ins run in "/", where a relative path would name another folder.
  const options = { ...given, folder: resolve(given.folder) };
  let known: ReadonlyMap<string, Remembered> | undefined;
  let startedMs = -Infinity;
  let isReading = false;

  const readAll = async () => {
    isReading = true;
    known = await readDropIns(options, known);
    isReading = false;
  };

  return async (wait) => {
    if (!isReading && (wait || nowMs() - startedMs >= EVERY_MS)) {
      startedMs = nowMs();
      const reading = readAll();
      if (wait) await reading;
    }
    if (known === undefined) return {};
    return factsOf(new Map([...known, ...(options.others?.() ?? [])]), nowMs());
  };
}

async function readDropIns(
  options: DropInsOptions,
  before: ReadonlyMap<string, Remembered> = new Map(),
): Promise<ReadonlyMap<string, Remembered>> {
  const { folder, nowMs } = options;
  const opened = await openedFolder(folder);
  // While the folder is unreadable, the last output stays until it expires.
  if (!opened.ok) return new Map([...before, [folder, { readMs: nowMs(), error: opened.error }]]);
  if (opened.value === null) return new Map();
  try {
    return await readAllIn(opened.value, options, before);
  } finally {
    opened.value.close();
  }
}

async function readAllIn(
  opened: Opened,
  options: DropInsOptions,
  before: ReadonlyMap<string, Remembered>,
): Promise<ReadonlyMap<string, Remembered>> {
  const { folder, nowMs, others } = options;
  // The limit includes the other sources, and the folder with its own fault.
  const most = Math.max(0, DROP_IN_LIMITS.dropIns - 1 - (others?.().size ?? 0));
  const names = await namesIn(opened);
  if (!names.ok) return new Map([...before, [folder, { readMs: nowMs(), error: names.error }]]);
  const known = new Map<string, Remembered>();
  for (const name of names.value.slice(0, most)) {
    const reading = await readDropIn(name, opened, options);
    known.set(
      name,
      reading.ok
        ? { ...reading.value, readMs: nowMs() }
        : { readMs: nowMs(), ...before.get(name), error: reading.error },
    );
  }
  const left = names.value.length - known.size;
  if (left > 0) known.set(folder, { readMs: nowMs(), error: `${left} more than are looked at are there` });
  return known;
}

/** Opens the folder; null if it is missing. Fails if another user could have filled the folder. */
async function openedFolder(folder: string): Promise<Result<Opened | null>> {
  try {
    // A file system that hangs holds a thread here, and not the shim.
    await stat(folder);
    const opened = openTrusted(folder, "folder");
    return opened.ok ? opened : failure(`the folder is not trusted: ${opened.error}`);
  } catch (error) {
    const code = codeOf(error);
    return code === "ENOENT" ? success(null) : failure(`the folder cannot be read (${code})`);
  }
}

/** Returns the names of the drop-ins, sorted. A hidden file is no drop-in. */
async function namesIn({ at }: Opened): Promise<Result<string[]>> {
  try {
    const names = await readdir(at("."));
    return success(names.filter((name) => !name.startsWith(".")).sort());
  } catch (error) {
    return failure(`the folder cannot be read (${codeOf(error)})`);
  }
}

function factsOf(known: ReadonlyMap<string, Remembered>, nowMs: number): DropInFacts {
  if (known.size === 0) return { dropIns: null };
  const all = [...known].map(([name, { dropIn, error }]) => ({ name, dropIn, error }));
  const { custom, ...dropIns } = mergeDropIns(all);
  const remaining = new Map<string, number>();
  for (const { dropIn, agedMs = 0, readMs } of known.values()) {
    for (const { type, expiresInSeconds } of dropIn?.conditions ?? []) {
      const leftMs = expiresInSeconds * 1000 - agedMs - (nowMs - readMs);
      // If two drop-ins set a condition of one type, the first drop-in counts.
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

/** A drop-in's last output, and its error if its latest run failed. */
interface Known {
  name: string;
  dropIn?: DropIn | undefined;
  error?: string | undefined;
}

interface MergedDropIns extends DropIns {
  custom: CustomFacts;
}

/** The limits over all drop-ins together, with the name that a fault uses. */
const KINDS = [
  ["resources", DROP_IN_LIMITS.resources, "resources"],
  ["labels", DROP_IN_LIMITS.labels, "labels"],
  ["conditions", DROP_IN_LIMITS.conditions, "conditions"],
  ["custom", CUSTOM_LIMITS.entries, "custom facts"],
] as const;

/** Merges outputs in order. A drop-in fails if it sets a resource, label, condition or fact of an earlier drop-in. */
export function mergeDropIns(known: readonly Known[]): MergedDropIns {
  const merged: MergedDropIns = {
    resources: {},
    labels: {},
    conditions: [],
    custom: {},
    working: 0,
    failures: [],
  };
  for (const { name, dropIn, error } of known) {
    const fault = (dropIn && add(merged, dropIn)) ?? error;
    if (fault === undefined) merged.working++;
    else merged.failures.push({ name: bounded(name, "nameLength"), error: bounded(fault, "messageLength") });
  }
  return merged;
}

/** Adds the whole drop-in and returns undefined, or adds nothing and returns the reason. */
function add(merged: MergedDropIns, { resources, labels, conditions, custom }: DropIn): string | undefined {
  const taken =
    Object.keys(resources).find((name) => Object.hasOwn(merged.resources, name)) ??
    Object.keys(labels).find((key) => Object.hasOwn(merged.labels, key)) ??
    conditions.find(({ type }) => merged.conditions.some((other) => other.type === type))?.type ??
    Object.keys(custom).find((name) => Object.hasOwn(merged.custom, name));
  if (taken !== undefined) return `${taken} is another drop-in's already`;
  const sum = {
    resources: { ...merged.resources, ...resources },
    labels: { ...merged.labels, ...labels },
    conditions: [...merged.conditions, ...conditions],
    custom: { ...merged.custom, ...custom },
  };
  for (const [kind, most, name] of KINDS) {
    if (Object.keys(sum[kind]).length > most) return `more than ${most} ${name} of all drop-ins together`;
  }
  Object.assign(merged, sum);
  return undefined;
}

function bounded(text: string, limit: "nameLength" | "messageLength"): string {
  return text.slice(0, DROP_IN_LIMITS[limit]).toWellFormed();
}

interface Output {
  dropIn: DropIn;
  agedMs: number;
}

/** The most bytes of a file, or of a program's output. */
const MAX_BYTES = 64 * 1024;

/** Reads a .json drop-in, and runs any other. Does not trust files that other users can change. Never rejects. */
async function readDropIn(name: string, opened: Opened, options: DropInsOptions): Promise<Result<Output>> {
  let file: FileHandle | undefined;
  try {
    file = await open(opened.at(name), AS_IT_IS);
    const stats = await file.stat();
    if (!stats.isFile()) return failure("is not a file (links are not followed)");
    const fault = ownershipFault(stats);
    if (fault !== null) return failure(fault);
    if (!name.endsWith(".json")) {
      if ((stats.mode & 0o111) === 0) return failure("neither ends in .json nor is executable");
      const { run, deadlineMs } = options;
      const folder = opened.descriptor;
      return outputOf(await run({ program: name, folder, args: [], deadlineMs, maxBytes: MAX_BYTES }));
    }
    if (stats.size > MAX_BYTES) return failure(`is larger than ${MAX_BYTES} bytes`);
    const dropIn = parsed(await textOf(file));
    if (!dropIn.ok) return dropIn;
    return success({ dropIn: dropIn.value, agedMs: Math.max(0, options.wallMs() - stats.mtimeMs) });
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  } finally {
    await file?.close();
  }
}

/** Reads the file that was opened with AS_IT_IS. */
async function textOf(opened: FileHandle): Promise<string> {
  const file = await open(selfOf(opened.fd), FOR_READING);
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function outputOf(output: Result<string>): Result<Output> {
  if (!output.ok) return output;
  const dropIn = parsed(output.value);
  return !dropIn.ok ? dropIn : success({ dropIn: dropIn.value, agedMs: 0 });
}

function parsed(text: string): Result<DropIn> {
  if (text.trim() === "") return failure("is empty: it must be a JSON object, at least {}");
  let json: unknown;
  try {
    // A byte order mark, which some editors write, is no JSON.
    json = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    return failure(`is not JSON: ${faultOf(error)}`.slice(0, DROP_IN_LIMITS.messageLength));
  }
  const dropIn = dropInSchema.safeParse(printableTexts(json));
  if (dropIn.success) return success(dropIn.data);
  const { path, message } = firstFault(dropIn.error);
  return failure(`${path === "" ? "" : `${path}: `}${message}`);
}
