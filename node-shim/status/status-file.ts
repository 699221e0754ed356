// The status file of the running shim, which `status`, `doctor` and `join` read: its path and its schema. It has no
// secret: no key, no ticket, no startId.
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
/** A status file has about 1 KB, and with the longest texts less than this. */
export const MAX_STATUS_BYTES = 65_536;

/**
 * The fields that every version of the shim writes in the same form. A version that upgrades itself reads here whether
 * the new one reports, and installs the former one again if it cannot read them.
 */
const lastingSchema = z.object({
  /** The absolute path of the shim's state folder. */
  state: z.string(),
  shim: z.string(),
  /** "pid starttime" */
  process: z.string(),
  bootID: z.string(),
  startedAt: z.string(),
  /** Absent if this process has had no answer. */
  answer: z.optional(z.object({ at: z.string() })),
  ended: z.optional(z.object({ at: z.string() })),
});
export type LastingStatus = z.infer<typeof lastingSchema>;

/** Times are RFC 3339, by the machine's clock. */
const schema = z.extend(lastingSchema, {
  version: z.literal(1),
  name: z.string(),
  origin: z.string(),
  /** The machine key's; "" before the key is read. */
  thumbprint: z.string(),
  /** Why the first report has to wait. */
  waiting: z.optional(z.string()),
  /** The last report, with a `fault` if the Worker did not accept it. */
  report: z.optional(
    z.object({
      at: z.string(),
      /** `reason` is a problem's, or "failed" if there was no answer. */
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
      /** Present if this shim is older. */
      workerVersion: z.optional(z.string()),
    }),
  ),
  nextReportAt: z.optional(z.string()),
  /** How reports are sent; absent if not known yet. */
  transport: z.optional(
    z.object({
      via: z.enum(["socket", "http"]),
      since: z.string(),
      /** --transport */
      choice: z.enum(TRANSPORTS),
      /** Why there is no socket, if something is wrong. */
      fault: z.optional(z.string()),
      /** The earliest time of the next attempt at a socket; absent: with the Worker's next offer. */
      againAt: z.optional(z.string()),
    }),
  ),
  /** The message and the source of a Ready condition that is not True, by this machine's own facts. */
  notReady: z.optional(z.object({ source: z.string(), message: z.string() })),
  /** null if there is none. Absent if it is unknown. */
  runtime: z.optional(z.nullable(z.string())),
  dropIns: z.optional(
    z.object({ working: z.int(), failures: z.array(z.object({ name: z.string(), error: z.string() })) }),
  ),
  /** Why the shim ended, unless it was asked to. */
  ended: z.optional(z.object({ at: z.string(), fault: z.string() })),
});
export type StatusFile = z.infer<typeof schema>;

/** A status file, and whether the shim that wrote it still runs. */
export interface SeenStatus<File extends LastingStatus = StatusFile> {
  file: File;
  isRunning: boolean;
}

/** The properties of a machine that the status depends on. */
export interface StatusReader {
  /** "/"; in tests another folder. */
  root: string;
  environment: NodeJS.ProcessEnv;
  /** Typically isAlive. */
  isAlive: (process: string) => boolean;
  /** "" if there is none. */
  bootID: string;
}

/** A shim writes into the folder that systemd gave it, else into its state folder. */
export function statusPath(state: string, environment: NodeJS.ProcessEnv): string {
  return join(runtimeFolder(environment) ?? resolve(state), FILE);
}

function runtimeFolder(environment: NodeJS.ProcessEnv): string | undefined {
  return environment["RUNTIME_DIRECTORY"]?.split(delimiter)[0] || undefined;
}

/** Reads the status of this state folder's running shim, else of the last one. null if this user may read none. */
export function readStatus(state: string, reader: StatusReader): SeenStatus | null {
  return lastStatus(schema, state, reader);
}

/** Reads the status of a shim of any version. */
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

/** After a restart, another process may have the same number and the same start time. */
function isRunning({ process, bootID, ended }: LastingStatus, reader: StatusReader): boolean {
  return ended === undefined && bootID === reader.bootID && reader.isAlive(process);
}

/** null if the file is missing, unreadable, not trusted, or of another form. */
function parsed<File>(form: z.ZodMiniType<File>, path: string): File | null {
  try {
    const { size = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    const text = size > MAX_STATUS_BYTES ? null : readIfThere(path);
    return text === null ? null : (form.safeParse(parseJson(text)).data ?? null);
  } catch {
    return null;
  }
}
