// Runs what a fresh report sets off: registration, lease, status, with the functions of shared/ over this machine's
// records. Each step fails by itself, and the next report tries again.
import { missingRuntime } from "../../shared/from-report/missing-runtime.ts";
import { fleetIndex, registerAgain } from "../env.ts";
import { kubeConnector } from "../kube/connect.ts";
import { withDeadline } from "../kube/deadline.ts";
import { machineLog } from "../log.ts";
import { leftOutMessage, othersMessage } from "./parts.ts";
import type { Loss, TickContext, TickInput, TickOutcome } from "./context.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { lastRenewalStanding, renewedAtOf, renewLease } from "./lease.ts";
import { type NoticeContext, type Noticed, recordLoss, takeNotice } from "./own-node.ts";
import { takeTurn } from "./decide-status.ts";
import { isReady, phaseOf, refusalMessage } from "./phase.ts";
import { staysDeleted } from "./register-again.ts";
import { register } from "./registration.ts";
import { isStatusDue, writeStatus } from "./status.ts";

/** Registration and status share 8 s, less what the lease takes of them: the shim's own deadline is 9 s. */
const REGISTRATION_DEADLINE_MS = 4000;
const LEASE_DEADLINE_MS = 3000;
const STATUS_DEADLINE_MS = 4000;
/** If the fleet index does not answer by then, the next report asks again. */
const TURN_DEADLINE_MS = 500;
/** A lease waits for a report where it lasts for so many of them: another one may get lost. */
const LEAST_REPORTS = 3;

const runtimeIsMissing = (name: string) =>
  `its container runtime is gone: start it, or have an operator say \`rollcall node set ${name} --runtime none\``;

export async function tick(input: TickInput): Promise<TickOutcome> {
  const { env, records, facts } = input;
  if (!facts) return { phase: "facts refused", ready: false };
  if (!env.KUBE_URL) return { phase: "apiserver not configured", ready: false };
  const context: TickContext = { ...input, ...surroundings(input), facts };
  const startedMs = input.nowMs();
  const isRegistered = records.get("registration")?.startId === input.report.startId;
  const wasEvicted = isRegistered && input.memory.lease === undefined;

  await takeTurn(context);
  const { phase, message, retryInMs } = await register(context, REGISTRATION_DEADLINE_MS);
  if (phase !== "registered") {
    // While a restarted shim cannot register, the lease of its known Node is still renewed.
    const wasRegistered = records.get("registration")?.phase === "registered";
    if (retryInMs !== undefined && wasRegistered) await renewLease(context, LEASE_DEADLINE_MS);
    return {
      phase,
      ready: false,
      ...(message !== undefined && { message }),
      ...(retryInMs !== undefined && { reportInMs: retryInMs }),
    };
  }
  const error = await writeHeartbeat(context, startedMs, wasEvicted);
  if (context.lost) return lostOutcome(context, context.lost);
  const ready = isReady(records.get("node")?.node);
  if (error) return { phase: phaseOf(error), ready, ...refusalMessage(error) };
  const isRuntimeMissing = missingRuntime(facts, records.get("runtime") ?? {}) !== null;
  const notice =
    input.memory.withheld ??
    joined([leftOutMessage(records), othersMessage(context)]) ??
    (isRuntimeMissing ? runtimeIsMissing(context.name) : undefined);
  return { phase: "registered", ready, ...(notice !== undefined && { message: notice }) };
}

/**
 * The lease goes first: a status that hangs or is refused must not starve it. Where the whole status is due anyway, that
 * is the heartbeat, for which the node controller takes it as well, and the lease follows with the next report.
 */
async function writeHeartbeat(
  context: TickContext,
  startedMs: number,
  wasEvicted: boolean,
): Promise<ApiError | null> {
  const { memory, nowMs } = context;
  if (isStatusInstead(context)) return writeStatusInstead(context);
  const lease = await renewLease(context, LEASE_DEADLINE_MS);
  if (context.lost) return null;
  const spentMs = Math.max(0, nowMs() - startedMs);
  const leftMs = REGISTRATION_DEADLINE_MS + STATUS_DEADLINE_MS - spentMs;
  const reportedMs = memory.status?.lastStatusReportTimeMs;
  const status = await writeStatus(context, lease, leftMs);
  if (context.lost) return null;
  // An object that is evicted between its reports loses the time of this write, unless the lease has it.
  const isWritten = memory.status?.lastStatusReportTimeMs !== reportedMs;
  if (wasEvicted && isWritten && lease.renewed) await renewLease(context, LEASE_DEADLINE_MS);
  const leaseError = lease.renewed ? null : lease.error;
  return status.ok ? leaseError : status.error;
}

/** Where the status is not written after all, the lease is renewed. */
async function writeStatusInstead(context: TickContext): Promise<ApiError | null> {
  const { memory, nowMs } = context;
  const reportedMs = memory.status?.lastStatusReportTimeMs;
  const standing = { renewed: false, error: null, ...lastRenewalStanding(context) };
  const status = await writeStatus(context, standing, STATUS_DEADLINE_MS);
  if (context.lost) return null;
  if (memory.status?.lastStatusReportTimeMs !== reportedMs) {
    memory.renewedAtMs = nowMs();
    return null;
  }
  const lease = await renewLease(context, LEASE_DEADLINE_MS);
  const leaseError = lease.renewed ? null : lease.error;
  return status.ok ? leaseError : status.error;
}

/** Is the status due, and can the lease wait for one report more, whatever becomes of that one? */
function isStatusInstead(context: TickContext): boolean {
  const { facts, memory, nowMs } = context;
  // The first report of a process writes both.
  const isFirst = (memory.status?.lastStatusReportTimeMs ?? null) === null;
  if (isFirst || memory.leaseBackOff || memory.statusBackOff) return false;
  const everyMs = reportIntervalMs(facts.settings);
  // Also where the status is due with each report, the lease is renewed with every other one.
  const sinceMs = nowMs() - (renewedAtOf(memory.lease ?? null) ?? 0);
  const isRecent = sinceMs >= 0 && sinceMs <= everyMs;
  const isLong = LEAST_REPORTS * everyMs <= facts.settings.nodeLeaseDurationSeconds * 1000;
  return isRecent && isLong && isStatusDue(context);
}

/** `report`: the last one; undefined: it is too old, or too much was written already, and nothing is written now. */
export type NoticeInput = Omit<TickInput, "report"> & { report: Report | undefined };

/**
 * What somebody else's change of the Node sets off between reports. The status is written where something of it is to be
 * put back, and never the lease: that is for fresh reports.
 */
export async function tickOnNotice(input: NoticeInput, seen: Node | null): Promise<Noticed> {
  const { env, records, facts, memory, report } = input;
  const registration = records.get("registration");
  if (!facts || !env.KUBE_URL || !registration) return { kind: "passed over" };
  const context = { ...input, ...surroundings(input), facts };
  const noticing: NoticeContext = { ...context, report: report ?? registration };
  const noticed = await takeNotice(noticing, () => context.client(STATUS_DEADLINE_MS), seen);
  // What the node controller has given up only a fresh report brings back: the machine may be dead.
  if (noticed.kind !== "taken" || noticed.isGivenUp) return noticed;
  // A process of the shim that has not registered yet writes nothing else.
  const isRegistered = report?.startId === registration.startId;
  if (!report || !isRegistered || memory.renewedAtMs === undefined) return noticed;
  const ticking: TickContext = { ...context, report };
  const renewal = { renewed: false, error: null, ...lastRenewalStanding(ticking) };
  await writeStatus(ticking, renewal, STATUS_DEADLINE_MS);
  return ticking.lost ? { kind: "lost", phase: recordLoss(ticking, ticking.lost) } : noticed;
}

/** What a step needs beside its input. */
function surroundings({ env, enrolment: { name }, token, nowMs, requests }: Omit<TickInput, "report">) {
  return {
    name,
    deployment: env.DEPLOYMENT,
    registerAgain: registerAgain(env),
    client: kubeConnector(env, token, nowMs, (what) => requests.take(what)),
    log: machineLog(name),
    formTurn: () => withDeadline(TURN_DEADLINE_MS, () => fleetIndex(env).formTurn(), null).catch(() => null),
  };
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter((text) => text !== undefined).join("; ") || undefined;
}

function lostOutcome(context: TickContext, lost: Loss): TickOutcome {
  const phase = recordLoss(context, lost);
  const message = phase === "node deleted" ? staysDeleted(context) : undefined;
  return { phase, ready: false, ...(message !== undefined && { message }) };
}
