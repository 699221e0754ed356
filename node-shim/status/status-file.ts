// What the running shim leaves for `status`, `doctor` and `join` to read: where the file is, its schema, and which
// one counts. It holds no secret: no key, no ticket, no startId.
import { statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import * as z from "zod/mini";
import type { Phase } from "../../shared/protocol/answers.ts";
import { isAlive } from "../base/process-id.ts";
import { parseJson, readIfThere } from "../base/state-file.ts";
import { TRANSPORTS } from "../machine/transport.ts";

const FILE = "status.json";
/** The unit's RuntimeDirectory=. */
const SERVICE_FOLDER = "/run/rollcall-node-shim";
/** A status file is about 1 KB, and less than this with the longest texts. */
export const MAX_STATUS_BYTES = 65_536;

/**
 * What every version of the shim writes in the same form: an earlier one that upgrades itself looks here whether the later
 * one reports, and goes back where it cannot read that.
 */
const lastingSchema = z.object({
  /** The state folder, absolute: whose status this is. */
  state: z.string(),
  /** The shim's version. */
  shim: z.string(),
  /** "pid starttime" */
  process: z.string(),
  bootID: z.string(),
  startedAt: z.string(),
  /** Absent: this process has had none. */
  answer: z.optional(z.object({ at: z.string() })),
  ended: z.optional(z.object({ at: z.string() })),
});
export type LastingStatus = z.infer<typeof lastingSchema>;

/** Times are RFC 3339, by the machine's clock. */
const schema = z.extend(lastingSchema, {
  version: z.literal(1),
  name: z.string(),
  /** The Worker. */
  origin: z.string(),
  /** Of the machine's key; "" before it was read. */
  thumbprint: z.string(),
  /** What is waited for before the first report. */
  waiting: z.optional(z.string()),
  /** The last report; `fault` where the Worker did not take it. */
  report: z.optional(
    z.object({
      at: z.string(),
      /** `reason` is a problem's, or "failed" where there was no answer. */
      fault: z.optional(z.object({ reason: z.string(), message: z.string() })),
    }),
  ),
  /** What the Worker last answered to a report that it took. */
  answer: z.optional(
    z.object({
      at: z.string(),
      phase: z.custom<Phase>((phase) => typeof phase === "string"),
      ready: z.boolean(),
      message: z.optional(z.string()),
      factsRefused: z.optional(z.object({ path: z.string(), message: z.string() })),
      /** Where this shim is older. */
      workerVersion: z.optional(z.string()),
    }),
  ),
  nextReportAt: z.optional(z.string()),
  /** Which way reports go; absent: not known yet. */
  transport: z.optional(
    z.object({
      via: z.enum(["socket", "http"]),
      since: z.string(),
      /** --transport */
      choice: z.enum(TRANSPORTS),
      /** Why there is no socket, where something is wrong. */
      fault: z.optional(z.string()),
      /** When a socket is tried again at the earliest; absent: with what the Worker answers next. */
      againAt: z.optional(z.string()),
    }),
  ),
  /** By this machine's own facts: what its Ready condition says, and which source it comes from, where it is not True. */
  notReady: z.optional(z.object({ source: z.string(), message: z.string() })),
  /** null: none is used. Absent: not known. */
  runtime: z.optional(z.nullable(z.string())),
  dropIns: z.optional(
    z.object({ working: z.int(), failures: z.array(z.object({ name: z.string(), error: z.string() })) }),
  ),
  /** Why the shim ended, where it did not because it was asked to. */
  ended: z.optional(z.object({ at: z.string(), fault: z.string() })),
});
export type StatusFile = z.infer<typeof schema>;

/** A status, and whether the shim that wrote it still runs. */
export interface SeenStatus<File extends LastingStatus = StatusFile> {
  file: File;
  isRunning: boolean;
}

/** The machine as far as reading a status needs it. */
export interface StatusReader {
  /** "/"; in tests another folder. */
  root: string;
  environment: NodeJS.ProcessEnv;
  /** See isAlive; in tests another answer. */
  isAlive: (process: string) => boolean;
  /** "" where there is none. */
  bootID: string;
}

/** Where a shim of this state folder writes: into the folder that systemd gave it, else into its state folder. */
export function statusPath(state: string, environment: NodeJS.ProcessEnv): string {
  return join(runtimeFolder(environment) ?? resolve(state), FILE);
}

function runtimeFolder(environment: NodeJS.ProcessEnv): string | undefined {
  return environment["RUNTIME_DIRECTORY"]?.split(delimiter)[0] || undefined;
}

/**
 * The status of this state folder's shim: that of the one that runs, else the one that was started last. null: none
 * that this user may read.
 */
export function readStatus(state: string, reader: StatusReader): SeenStatus | null {
  return lastStatus(schema, state, reader);
}

/** The same of a shim of any version. */
export function readLastingStatus(state: string, reader: StatusReader): SeenStatus<LastingStatus> | null {
  return lastStatus(lastingSchema, state, reader);
}

function lastStatus<File extends LastingStatus>(
  form: z.ZodMiniType<File>,
  state: string,
  reader: StatusReader,
): SeenStatus<File> | null {
  const folders = [
    runtimeFolder(reader.environment) ?? [],
    join(reader.root, SERVICE_FOLDER),
    resolve(state),
  ].flat();
  const seen = folders
    .flatMap((folder) => parsed(form, join(folder, FILE)) ?? [])
    .filter((file) => file.state === resolve(state))
    .map((file) => ({ file, isRunning: isRunning(file, reader) }));
  const last = seen.toSorted((a, b) => Date.parse(b.file.startedAt) - Date.parse(a.file.startedAt));
  return last.find(({ isRunning }) => isRunning) ?? last[0] ?? null;
}

export const thisReader = (bootID: string): StatusReader => ({
  root: "/",
  environment: process.env,
  isAlive,
  bootID,
});

/** Of a boot before, another process may have the same number and the same time since the boot. */
function isRunning({ process, bootID, ended }: LastingStatus, reader: StatusReader): boolean {
  return ended === undefined && bootID === reader.bootID && reader.isAlive(process);
}

/** null: not there, not readable, not trusted, or not a status of this form. */
function parsed<File>(form: z.ZodMiniType<File>, path: string): File | null {
  try {
    const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const text = size > MAX_STATUS_BYTES ? null : readIfThere(path);
    return text === null ? null : (form.safeParse(parseJson(text)).data ?? null);
  } catch {
    return null;
  }
}
