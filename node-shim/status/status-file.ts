// Defines the running shim's status file for `status`, `doctor` and `join`. It has no secret: no key, ticket, startId.
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import * as z from "zod/mini";
import type { Phase } from "../../shared/protocol/answers.ts";
import { isAlive } from "../base/process-id.ts";
import { parseJson, readIfThere } from "../base/state-file.ts";
import { TRANSPORTS } from "../machine/transport.ts";

const FILE = "status.json";
/** The folder of the unit's RuntimeDirectory=. */
const SERVICE_FOLDER = "/run/rollcall-node-shim";
/** The most bytes read of a status file, which has about 1 KB, and less than this limit with the longest texts. */
export const MAX_STATUS_BYTES = 65_536;

/**
 * The fields that every version of the shim writes in the same form. During an upgrade, the old version reads them
 * to see whether the new version reports. If the fields are unreadable, the old version is installed again.
 */
const lastingSchema = z.object({
  /** The absolute path of the shim's state folder. */
  state: z.string(),
  shim: z.string(),
  /** The process of the shim: "pid starttime". */
  process: z.string(),
  bootID: z.string(),
  startedAt: z.string(),
  /** The Worker's last answer. Absent if this process has had no answer. */
  answer: z.optional(z.object({ at: z.string() })),
  ended: z.optional(z.object({ at: z.string() })),
});
export type LastingStatus = z.infer<typeof lastingSchema>;

/** The whole status. Times are RFC 3339, by the machine's clock. */
const schema = z.extend(lastingSchema, {
  version: z.literal(1),
  name: z.string(),
  origin: z.string(),
  /** The thumbprint of the machine's key; "" before the key is read. */
  thumbprint: z.string(),
  /** The reason why the first report has to wait. */
  waiting: z.optional(z.string()),
  /** The last report, with a `fault` if the Worker did not accept it. */
  report: z.optional(
    z.object({
      at: z.string(),
      /** The `reason` of the Worker's problem, or "failed" if there was no answer. */
      fault: z.optional(z.object({ reason: z.string(), message: z.string() })),
    }),
  ),
  /** The Worker's last answer to a report that it accepted. */
  answer: z.optional(
    z.object({
      at: z.string(),
      phase: z.custom<Phase>((phase) => typeof phase === "string"),
      ready: z.boolean(),
      message: z.optional(z.string()),
      factsRefused: z.optional(z.object({ path: z.string(), message: z.string() })),
      /** The Worker's version. Present only if this shim is older. */
      workerVersion: z.optional(z.string()),
    }),
  ),
  nextReportAt: z.optional(z.string()),
  /** The transport of reports. Absent while unknown. */
  transport: z.optional(
    z.object({
      via: z.enum(["socket", "http"]),
      since: z.string(),
      /** The value of --transport. */
      choice: z.enum(TRANSPORTS),
      /** The reason why there is no socket, if that is a fault. */
      fault: z.optional(z.string()),
      /** The earliest next attempt to open a socket. Absent if the attempt follows the Worker's next offer. */
      againAt: z.optional(z.string()),
    }),
  ),
  /** The source and the message of a Ready condition that is not True, computed from this machine's own facts. */
  notReady: z.optional(z.object({ source: z.string(), message: z.string() })),
  /** The types of the pressure conditions that are True, like MemoryPressure, by this machine's own signals. */
  pressures: z.optional(z.array(z.string())),
  /** The container runtime; null if there is none. Absent if unknown. */
  runtime: z.optional(z.nullable(z.string())),
  dropIns: z.optional(
    z.object({ working: z.int(), failures: z.array(z.object({ name: z.string(), error: z.string() })) }),
  ),
  /** The reason why the shim ended, unless it was asked to stop. */
  ended: z.optional(z.object({ at: z.string(), fault: z.string() })),
});
export type StatusFile = z.infer<typeof schema>;

/** A status file, and whether the shim that wrote it still runs. */
export interface SeenStatus<File extends LastingStatus = StatusFile> {
  file: File;
  isRunning: boolean;
  /** true if the file is in the state folder. Absent in a status that was not read from a file. */
  isInState?: boolean;
}

/** The functions and values of the machine that reading a status needs. */
export interface StatusReader {
  /** The root of the file system: "/", or a test's folder. */
  root: string;
  environment: NodeJS.ProcessEnv;
  /** Returns whether a process still runs. Typically isAlive. */
  isAlive: (process: string) => boolean;
  /** The ID of the present boot; "" if unknown. */
  bootID: string;
}

/** Returns the path of the status file: in the folder that systemd gave the shim, else in the state folder. */
export function statusPath(state: string, environment: NodeJS.ProcessEnv): string {
  return join(runtimeFolder(environment) ?? resolve(state), FILE);
}

/** Returns the path that replaces statusPath while its folder cannot be written: in memory, for this state folder alone. */
export function sparePath(state: string, root: string): string {
  const digest = createHash("sha256").update(resolve(state)).digest("hex");
  return join(root, SERVICE_FOLDER, `status-${digest.slice(0, 12)}.json`);
}

function runtimeFolder(environment: NodeJS.ProcessEnv): string | undefined {
  return environment["RUNTIME_DIRECTORY"]?.split(delimiter)[0] || undefined;
}

/** Reads this state folder's status, of the running or last shim; null if this user may read none. */
export function readStatus(state: string, reader: StatusReader): SeenStatus | null {
  return lastStatus(schema, state, reader);
}

/** Reads the status of a shim of any version; null if this user may read no status. */
export function readLastingStatus(state: string, reader: StatusReader): SeenStatus<LastingStatus> | null {
  return lastStatus(lastingSchema, state, reader);
}

function lastStatus<File extends LastingStatus>(
  form: z.ZodMiniType<File>,
  state: string,
  reader: StatusReader,
): SeenStatus<File> | null {
  const ownPath = join(resolve(state), FILE);
  const paths = [
    ...[runtimeFolder(reader.environment) ?? []].flat().map((folder) => join(folder, FILE)),
    join(reader.root, SERVICE_FOLDER, FILE),
    sparePath(state, reader.root),
    ownPath,
  ];
  const seen = paths
    .flatMap((path) => parsed(form, path) ?? [])
    .filter(({ file }) => file.state === resolve(state))
    .map(({ file, path, writtenMs }) => {
      const startedMs = Date.parse(file.startedAt);
      return { file, isRunning: isRunning(file, reader), isInState: path === ownPath, startedMs, writtenMs };
    });
  // One shim has two files while it cannot replace the first one.
  const last = seen.toSorted((a, b) => b.startedMs - a.startedMs || b.writtenMs - a.writtenMs);
  const { file, isRunning: runs, isInState } = last.find(({ isRunning }) => isRunning) ?? last[0] ?? {};
  return file === undefined ? null : { file, isRunning: runs === true, isInState: isInState === true };
}

export const thisReader = (bootID: string): StatusReader => ({
  root: "/",
  environment: process.env,
  isAlive,
  bootID,
});

/** Returns whether a status's shim still runs. Compares boot IDs, as a reboot may reuse process ID and start time. */
function isRunning({ process, bootID, ended }: LastingStatus, reader: StatusReader): boolean {
  return ended === undefined && bootID === reader.bootID && reader.isAlive(process);
}

/** Reads and parses a status file; null if the file is missing, unreadable, not trusted, or of another form. */
function parsed<File>(
  form: z.ZodMiniType<File>,
  path: string,
): { file: File; path: string; writtenMs: number } | null {
  try {
    const { size = 0, mtimeMs: writtenMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const text = size > MAX_STATUS_BYTES ? null : readIfThere(path);
    const file = text === null ? undefined : form.safeParse(parseJson(text)).data;
    return file === undefined ? null : { file, path, writtenMs };
  } catch {
    return null;
  }
}
