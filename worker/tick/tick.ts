// Runs a fresh report's steps: registration, lease, status. Stores their memory. The next report retries failed steps.
import { missingRuntime } from "../../shared/from-report/missing-runtime.ts";
import type { ApiError } from "../../shared/kubernetes/api-error.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { NodeMarks } from "../../shared/node/own-labels.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { type Environment, fleetIndex, registerAgain } from "../env.ts";
import { kubeConnector } from "../kube/connect.ts";
import { withDeadline } from "../kube/deadline.ts";
import type { TokenSource } from "../kube/token.ts";
import { machineLog } from "../log.ts";
import type { Stored } from "../storage/journal.ts";
import type { Enrolment, LostPhase } from "../storage/records.ts";
import type { RequestBudget } from "./budgets.ts";
import { takeTurn } from "./decide-status.ts";
import { lastContact, renewedAtOf, type RenewingMachine, renewLease } from "./lease.ts";
import type { TickMemory } from "./memory.ts";
import { type Loss, type Noticed, recordLoss, takeNotice } from "./own-node.ts";
import { nodeFeatureMessage } from "./node-feature.ts";
import { TURN_DEADLINE_MS, type TurningMachine } from "./node-turn.ts";
import { learnNames, leftOutMessage, othersMessage } from "./parts.ts";
import { isReady, phaseAfter, refusalMessage } from "./phase.ts";
import { staysDeleted } from "./register-again.ts";
import { register, type RegisteringMachine } from "./registration.ts";
import { writeRuleTaints } from "./rule-taints.ts";
import { isStatusDue, writeStatus, type WritingMachine } from "./status.ts";

export interface TickInput extends Stored, Pick<TurningMachine, "nodeTurn"> {
  env: Environment;
  marks: NodeMarks;
  /** The current cluster token. */
  token: TokenSource;
  enrolment: Enrolment;
  report: Report;
  /** The last accepted facts, within the deployment's bounds; undefined if there are none. */
  facts: Facts | undefined;
  memory: TickMemory;
  requests: RequestBudget;
  /** Asks the cluster object whether it reports each change of the Node by another writer. Never rejects. */
  isWatched: () => Promise<boolean>;
  /** Returns the cluster's minor version as last learned by an object of this isolate; undefined if none has. */
  clusterMinor: () => number | undefined;
  /** Returns the current time in milliseconds. Typically currentMs. */
  nowMs: () => number;
  /** Returns a random number below 1. Typically Math.random. */
  random: () => number;
}

export interface TickOutcome {
  phase: Phase;
  ready: boolean;
  /** A message for the machine's operator, who can act on it. */
  message?: string;
  /** Milliseconds until the next report; present if the next report must come sooner than the interval. */
  reportInMs?: number;
}

type TickingMachine = RegisteringMachine & RenewingMachine & WritingMachine;

/**
 * The time limit of a registration with the checks before it. Registration, lease and status share 8 s, since the shim's
 * deadline is 9 s.
 */
const REGISTRATION_DEADLINE_MS = 4000;
const LEASE_DEADLINE_MS = 3000;
const STATUS_DEADLINE_MS = 4000;
/** The time limit of a change of rules' taints, which is rare. */
const TAINTS_DEADLINE_MS = 1000;
/** The least reports in a lease duration for skipping a renewal: one lost report must not expire the lease. */
const LEAST_REPORTS = 3;

const runtimeIsMissing = (name: string) =>
  `its container runtime is gone: start it, or have an operator run \`rollcall node set ${name} --runtime none\``;

export async function tick(input: TickInput): Promise<TickOutcome> {
  const { env, records, facts, memory, report, nowMs } = input;
  if (!facts) return { phase: "facts refused", ready: false };
  if (!env.KUBE_URL) return { phase: "apiserver not configured", ready: false };
  const machine = { ...input, ...surroundings(input), facts };
  const startedMs = nowMs();
  const isRegistered = records.get("registration")?.startId === report.startId;
  const wasEvicted = isRegistered && memory.lease === undefined;

  await takeTurn(machine, machine.formTurn);
  await learnNames(machine);
  const registered = await register(machine, memory, REGISTRATION_DEADLINE_MS - spentMs(machine, startedMs));
  Object.assign(memory, registered.memory);
  const { phase, message, retryInMs, created } = registered;
  // A registration that conflicted keeps its phase, and the next report tries again to register.
  if (phase !== "registered" || retryInMs !== undefined) {
    // While a restarted shim cannot register, the lease of its known Node is still renewed.
    const wasRegistered = records.get("registration")?.phase === "registered";
    if (retryInMs !== undefined && wasRegistered) await renew(machine, memory, created);
    return {
      phase,
      ready: phase === "registered" && isReady(records.get("node")?.node),
      ...(message !== undefined && { message }),
      ...(retryInMs !== undefined && { reportInMs: retryInMs }),
    };
  }
  const { error, lost } = await writeHeartbeat(machine, memory, { startedMs, wasEvicted, created });
  if (lost) return lose(machine, memory, lost);
  if (!error) await writeRuleTaints(machine, memory, TAINTS_DEADLINE_MS);
  const ready = isReady(records.get("node")?.node);
  if (error) return { phase: phaseAfter(error, records), ready, ...refusalMessage(error) };
  const isRuntimeMissing = missingRuntime(facts, records.get("runtime") ?? {}) !== null;
  const notice =
    memory.withheld ??
    joined([leftOutMessage(records), othersMessage(records), nodeFeatureMessage(records)]) ??
    (isRuntimeMissing ? runtimeIsMissing(machine.name) : undefined);
  return { phase: "registered", ready, ...(notice !== undefined && { message: notice }) };
}

const spentMs = ({ nowMs }: Pick<TickInput, "nowMs">, startedMs: number) => Math.max(0, nowMs() - startedMs);

interface Heartbeat {
  error?: ApiError | null;
  lost?: Loss;
}

/**
 * Writes the lease first, so that a status that hangs or is refused does not delay it. If the whole status is due,
 * writes only the status, which the node controller accepts as a heartbeat; the lease follows with the next report.
 */
async function writeHeartbeat(
  machine: TickingMachine,
  memory: TickMemory,
  { startedMs, wasEvicted, created }: { startedMs: number; wasEvicted: boolean; created: Node | undefined },
): Promise<Heartbeat> {
  if (isStatusInstead(machine, memory)) return writeStatusInstead(machine, memory, created);
  const lease = await renew(machine, memory, created);
  if (lease.lost) return lease;
  const leftMs = REGISTRATION_DEADLINE_MS + STATUS_DEADLINE_MS - spentMs(machine, startedMs);
  const status = await write(machine, memory, lease, leftMs);
  if (status.lost) return status;
  // An object that is evicted between reports loses the time of this status write, so the lease stores it.
  if (wasEvicted && status.isWritten && lease.renewed) {
    const { lost } = await renew(machine, memory, created);
    if (lost) return { lost };
  }
  return { error: status.error ?? (lease.renewed ? null : lease.error) };
}

/** Writes the status as the heartbeat. Renews the lease if the status was not written. */
async function writeStatusInstead(
  machine: TickingMachine,
  memory: TickMemory,
  created: Node | undefined,
): Promise<Heartbeat> {
  const status = await write(machine, memory, contactNow(machine, memory), STATUS_DEADLINE_MS);
  if (status.lost) return status;
  if (status.isWritten) {
    memory.renewedAtMs = machine.nowMs();
    return { error: null };
  }
  const lease = await renew(machine, memory, created);
  if (lease.lost) return lease;
  return { error: status.error ?? (lease.renewed ? null : lease.error) };
}

/** Returns true if the status is due, and the lease lasts for one report more even if this report is lost. */
function isStatusInstead(
  { facts, records, nowMs }: Pick<TickingMachine, "facts" | "records" | "nowMs">,
  memory: TickMemory,
): boolean {
  // The first report of a process writes both the lease and the status.
  const isFirst = (memory.status?.lastStatusReportTimeMs ?? null) === null;
  if (isFirst || memory.leaseBackOff || memory.statusBackOff) return false;
  const everyMs = reportIntervalMs(facts.settings);
  // Even if the status is due with each report, every second report renews the lease.
  const sinceMs = nowMs() - (renewedAtOf(memory.lease ?? null) ?? 0);
  const isRecent = sinceMs >= 0 && sinceMs <= everyMs;
  const isLong = LEAST_REPORTS * everyMs <= facts.settings.nodeLeaseDurationSeconds * 1000;
  return isRecent && isLong && isStatusDue({ records, memory, facts }, nowMs());
}

async function renew(machine: TickingMachine, memory: TickMemory, created: Node | undefined) {
  const renewal = await renewLease(machine, memory, LEASE_DEADLINE_MS, created);
  Object.assign(memory, renewal.memory);
  return renewal;
}

async function write(
  machine: TickingMachine,
  memory: TickMemory,
  contact: ReturnType<typeof lastContact>,
  deadlineMs: number,
) {
  // The status write gets no `lease` and `renewedAtMs` to return, since both may change while the status is written.
  const { lease: _lease, renewedAtMs: _at, ...known } = memory;
  const status = await writeStatus(machine, known, contact, deadlineMs);
  Object.assign(memory, status.memory);
  return status;
}

function contactNow({ facts, nowMs }: Pick<TickingMachine, "facts" | "nowMs">, { renewedAtMs }: TickMemory) {
  return lastContact(renewedAtMs, facts.settings.nodeLeaseDurationSeconds, nowMs());
}

/** The input of a notice. `report`: undefined, so that nothing is written, if the last is too old or limits forbid. */
export type NoticeInput = Omit<TickInput, "report"> & { report: Report | undefined };

/** The result for a Node that another writer has changed. `isWritten`: the status was written. */
export type NoticeOutcome =
  | (Exclude<Noticed, { kind: "lost" }> & { isWritten?: boolean })
  | { kind: "lost"; phase: LostPhase | "waiting for Node" };

/** Handles another writer's change between reports: puts back the status. Only fresh reports renew the lease. */
export async function tickOnNotice(input: NoticeInput, seen: Node | null): Promise<NoticeOutcome> {
  const { env, records, facts, memory, report } = input;
  const registration = records.get("registration");
  if (!facts || !env.KUBE_URL || !registration) return { kind: "passed over" };
  const machine = { ...input, ...surroundings(input), facts };
  // A taken name may have become free, so the next report checks the name.
  if (registration.phase === "name taken") memory.lookedAtMs = undefined;
  const client = () => machine.client(STATUS_DEADLINE_MS);
  const noticed = await takeNotice(machine, client, seen, memory.nodeVersion);
  if (noticed.kind === "lost") {
    const { phase } = lose({ ...machine, report: report ?? registration }, memory, noticed.lost);
    return { kind: "lost", phase };
  }
  if (noticed.kind !== "taken") return noticed;
  memory.nodeVersion = noticed.nodeVersion;
  // The machine of a Node set to Unknown may be dead. Only a fresh report writes the Node again.
  if (noticed.isGivenUp) return noticed;
  // A process of the shim that has not registered yet must only register.
  const isRegistered = report?.startId === registration.startId;
  if (!report || !isRegistered || memory.renewedAtMs === undefined) return noticed;
  const ticking = { ...machine, report, isBetweenReports: true as const };
  const { lost, isWritten } = await write(ticking, memory, contactNow(machine, memory), STATUS_DEADLINE_MS);
  return lost ? { kind: "lost", phase: lose(ticking, memory, lost).phase } : { ...noticed, isWritten };
}

/** Returns the surroundings that a step needs in addition to the tick's input. */
function surroundings({ env, enrolment: { name }, token, nowMs, requests }: Omit<TickInput, "report">) {
  return {
    name,
    deployment: env.DEPLOYMENT,
    registerAgain: registerAgain(env),
    client: kubeConnector(env, token, nowMs, (what) => requests.take(what)),
    log: machineLog(name),
    formTurn: () =>
      withDeadline(TURN_DEADLINE_MS, () => fleetIndex(env).formTurn(), null, env.timer).catch(() => null),
  };
}

function joined(texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter((text) => text !== undefined).join("; ") || undefined;
}

function lose(
  machine: Parameters<typeof recordLoss>[0] & Parameters<typeof staysDeleted>[0],
  memory: TickMemory,
  lost: Loss,
): TickOutcome & { phase: LostPhase | "waiting for Node" } {
  const phase = recordLoss(machine, lost);
  memory.lookedAtMs = machine.nowMs();
  const message = phase === "node deleted" ? staysDeleted(machine) : undefined;
  return { phase, ready: false, ...(message !== undefined && { message }) };
}
