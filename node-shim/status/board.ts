// Writes the running shim's status to a file after each report. Never fsyncs; the file's faults stay out of the loop.
import { resolve } from "node:path";
import { nodeOf } from "../machine/preview-node.ts";
import { parsedSettings } from "../../shared/from-report/parsed-settings.ts";
import { readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { printableTexts } from "../../shared/protocol/printable.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
import { DEFAULT_SETTINGS } from "../../shared/protocol/settings.ts";
import { type EvictionState, NO_PRESSURE, synchronizeEviction } from "../../shared/resources/eviction.ts";
import { VERSION } from "../../shared/version.ts";
import type { Log } from "../base/log.ts";
import { thisProcess } from "../base/process-id.ts";
import { type Replacement, replacedFile } from "../base/state-file.ts";
import type { Reported } from "../loop/loop.ts";
import type { TransportInUse } from "../worker-link/link.ts";
import type { ReportOutcome } from "../worker-link/reporter.ts";
import { sparePath, type StatusFile, statusPath } from "./status-file.ts";

/** Every user who may enter the folder can read the file, which has no secret. */
const STATUS_FILE: Replacement = { mode: 0o644, giveUpMs: 5000 };

type Noted = Partial<Pick<StatusFile, "thumbprint" | "waiting" | "ended">>;

export interface StatusBoard {
  file: () => StatusFile;
  note: (noted: Noted) => void;
  /** Must be called after each report. */
  reported: (report: Reported) => void;
  /** Must be called when the transport has changed. */
  transport: (transport: TransportInUse) => void;
  /** Resolves once the latest status is written, or the write has failed. Never rejects. */
  written: () => Promise<void>;
}

interface BoardOptions {
  name: string;
  origin: string;
  /** The state folder. */
  state: string;
  bootID: string;
  environment: NodeJS.ProcessEnv;
  /** Returns the wall clock's time in milliseconds since 1970. */
  nowMs: () => number;
  log: Log;
  /** The root of the file system. Absent: "/". */
  root?: string;
}

export function statusBoard({
  name,
  origin,
  state,
  bootID,
  environment,
  nowMs,
  log,
  root = "/",
}: BoardOptions): StatusBoard {
  const at = (ms: number) => new Date(ms).toISOString();
  const write = latestFile([statusPath(state, environment), sparePath(state, root)], log);
  let file: StatusFile = {
    version: 1,
    name,
    origin,
    state: resolve(state),
    thumbprint: "",
    shim: VERSION,
    process: thisProcess(),
    bootID,
    startedAt: at(nowMs()),
  };
  let eviction = NO_PRESSURE;
  const put = (noted: Partial<StatusFile>) => {
    file = { ...file, ...noted };
    write.put(JSON.stringify(shortTexts(file)));
  };
  return {
    file: () => file,
    note: put,
    reported: (report) => {
      eviction = evictionAfter(report, eviction, nowMs());
      const { conditions } = eviction;
      const pressures = conditions.length === 0 ? undefined : [...conditions];
      put({ ...notedOf(report, file, nowMs()), pressures });
    },
    transport: (transport) => put({ transport: transportOf(transport, file.transport, nowMs()) }),
    written: write.done,
  };
}

/** Decides the pressure conditions from the report's signals, as the Worker does. */
function evictionAfter({ facts, vitals }: Reported, before: EvictionState, nowMs: number): EvictionState {
  const { settings } = facts;
  const {
    evictionPressureTransitionPeriodMs: periodMs = DEFAULT_SETTINGS.evictionPressureTransitionPeriodMs,
  } = settings;
  return synchronizeEviction(parsedSettings(settings).thresholds, vitals.signals, before, nowMs, periodMs);
}

function transportOf(
  { via, choice, fault, againInMs }: TransportInUse,
  before: StatusFile["transport"],
  nowMs: number,
): StatusFile["transport"] {
  const since = before?.via === via ? before.since : new Date(nowMs).toISOString();
  const againAt = againInMs === null ? undefined : new Date(nowMs + againInMs).toISOString();
  return { via, since, choice, ...(fault !== null && { fault }), ...(againAt !== undefined && { againAt }) };
}

/** Returns the fields of the status that a report changes. */
export function notedOf(
  { facts, vitals, outcome, nextInMs }: Reported,
  before: Pick<StatusFile, "name" | "answer">,
  nowMs: number,
): Partial<StatusFile> {
  const at = new Date(nowMs).toISOString();
  const { runtime, dropIns } = facts;
  return {
    ...outcomeOf(outcome, at),
    nextReportAt: new Date(nowMs + nextInMs).toISOString(),
    notReady: notReadyOf(before.name, facts, vitals, nowMs, outcome),
    runtime: runtime && `${runtime.name}://${runtime.version}`,
    dropIns: dropIns ? { working: dropIns.working, failures: dropIns.failures.map(shortFailure) } : undefined,
    waiting: undefined,
  };
}

/** The most characters of a drop-in's error. A status has the errors of up to 32 drop-ins. */
const FAILURE_LENGTH = 200;
const shortFailure = ({ name, error }: { name: string; error: string }) => ({
  name,
  error: error.slice(0, FAILURE_LENGTH).toWellFormed(),
});

function outcomeOf(outcome: Reported["outcome"], at: string): Pick<StatusFile, "report" | "answer"> {
  if (outcome.ok) {
    const { phase, ready, message, factsRefused, workerVersion } = outcome.value;
    return { report: { at }, answer: { at, phase, ready, message, factsRefused, workerVersion } };
  }
  const fault = outcome.error;
  if (fault.reason === "failed") return { report: { at, fault } };
  const { reason, title, detail } = fault.problem;
  return { report: { at, fault: { reason, message: `${title}. ${detail}` } } };
}

/** Shortens texts of the Worker and of programs, and replaces characters that are unsafe on a terminal. */
function shortTexts<T>(file: T): T {
  const text = JSON.stringify(printableTexts(file), (_, value: unknown) =>
    typeof value === "string" ? value.slice(0, LIMITS.textLength).toWellFormed() : value,
  );
  return JSON.parse(text) as T;
}

/**
 * Returns a writer that writes one text at a time, to the first path that can be written. While the file system is slow,
 * only the latest text waits.
 */
function latestFile(
  [path, spare]: readonly [path: string, spare: string],
  log: Log,
): { put: (text: string) => void; done: () => Promise<void> } {
  let waiting: string | null = null;
  let writing: Promise<void> | null = null;
  let isFailing = false;
  const first = replacedFile(path, STATUS_FILE);
  const second = replacedFile(spare, { ...STATUS_FILE, makeMode: 0o755 });

  async function writeAll(): Promise<void> {
    for (let text = waiting; text !== null; text = waiting) {
      waiting = null;
      const fault = await first.write(text);
      if (fault === null && isFailing) await second.remove();
      const spareFault = fault === null ? null : await second.write(text);
      if (fault !== null && !isFailing)
        log(
          "warn",
          spareFault === null
            ? `status: ${fault}; ${spare} has the status until the fault is over`
            : `status: ${fault}; reports go on, and \`node-shim status\` shows less`,
        );
      isFailing = fault !== null;
    }
    writing = null;
  }

  return {
    put(text) {
      waiting = text;
      writing ??= writeAll();
    },
    done: async () => writing ?? undefined,
  };
}

/** Runs the Worker's setters on own facts to find why the Node is not Ready; undefined if Ready or without answer. */
function notReadyOf(
  name: string,
  facts: Facts,
  vitals: Vitals,
  nowMs: number,
  outcome: ReportOutcome,
): StatusFile["notReady"] {
  if (!outcome.ok || outcome.value.ready) return undefined;
  const initial = nodeOf(name, facts, vitals, nowMs);
  if (!initial.ok) return { source: "facts", message: initial.error };
  const ready = readyConditionOf(initial.value.node);
  if (ready === undefined || ready.status === "True") return undefined;
  return { source: sourceOf(vitals), message: ready.message ?? "" };
}

function sourceOf({ errors = {}, shuttingDown }: Vitals): string {
  if (shuttingDown) return "shutdown";
  return (["runtime", "network", "storage"] as const).find((source) => errors[source]?.length) ?? "facts";
}
