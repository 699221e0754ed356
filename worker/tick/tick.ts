// What a fresh report sets off: registration, lease, status. Calls the steps of shared/ over this machine's records;
// each step's failure is told apart, and none keeps the next report from trying again.
import { type ApiError, apiErrorText } from "../../shared/kubernetes/api-error.ts";
import type { Lease, Node } from "../../shared/kubernetes/types.ts";
import { type HeartbeatState, readyConditionOf } from "../../shared/node/heartbeat.ts";
import type { Phase, Report } from "../../shared/protocol/report.ts";
import type { ReportedMemory } from "../../shared/from-report/reported-status.ts";
import type { Environment } from "../env.ts";
import { kubeClient, type KubeClient } from "../kube/kube-client.ts";
import { renewLease } from "./lease.ts";
import type { Journal } from "../storage/journal.ts";
import type { Enrolment, NodeRecords, NodeRecordStore } from "../storage/records.ts";
import { fieldManagerOf } from "./other-writers.ts";
import { type Loss, recordLoss } from "./own-node.ts";
import { register } from "./registration.ts";
import { writeStatus } from "./status.ts";

/** What an eviction may lose. */
export interface TickMemory {
  /** The lease as it was written last: the next renewal needs no GET. */
  lease?: Lease | null;
  /** When a renewal last succeeded, as far as is known. */
  renewedAtMs?: number;
  /** What was said of the setters last: a fault that stays is said once. */
  setterErrors?: string;
  /** When the status was written last; the lease carries it over an eviction, so that it costs no row. */
  status?: HeartbeatState | undefined;
  /** The last heartbeat that was written: no later one may be older. */
  heartbeatMs?: number;
  /** What the setters remember; SQLite has it without what only counts while the machine is heard of. */
  setters?: ReportedMemory;
  /** The wait that follows the next registration attempt that fails. */
  registrationDelayMs?: number;
  /** When a name that is taken was looked at last. */
  lookedAtMs?: number;
}

export interface TickInput {
  env: Environment;
  enrolment: Enrolment;
  report: Report;
  records: NodeRecordStore;
  journal: Journal;
  memory: TickMemory;
  /** Date.now */
  nowMs: () => number;
  /** Math.random */
  random: () => number;
}

export interface TickOutcome {
  phase: Phase;
  ready: boolean;
  /** What the machine's operator can do something about. */
  message?: string;
  /** Sooner than the interval asks for. */
  reportInMs?: number;
}

/** What the steps of one tick share. */
export interface TickContext extends Omit<TickInput, "env"> {
  name: string;
  deployment: string;
  facts: NodeRecords["facts"]["facts"];
  /** A client whose calls end `withinMs` from now. */
  client: (withinMs: number) => KubeClient;
  log: (message: string, error?: ApiError) => void;
  /** The Node as this very tick has created it. */
  created?: Node;
  /** Set once the Node turns out to be no longer this machine's. */
  lost?: Loss;
}

/** Below the shim's own deadline of 9 s. The lease goes first and takes half of it at most. */
const REGISTRATION_DEADLINE_MS = 4000;
const LEASE_DEADLINE_MS = 3000;
const STATUS_DEADLINE_MS = 4000;

export async function tick(input: TickInput): Promise<TickOutcome> {
  const { env, enrolment, records } = input;
  const facts = records.get("facts")?.facts;
  if (!facts) return { phase: "facts refused", ready: false };
  if (env.KUBE_URL === "") return { phase: "apiserver not configured", ready: false };
  const name = enrolment.name;
  const context: TickContext = {
    ...input,
    name,
    deployment: env.DEPLOYMENT,
    facts,
    client: kubeOf(env, input.nowMs),
    log: logOf(name),
  };
  const startedMs = input.nowMs();
  const isRegistered = records.get("registration")?.startId === input.report.startId;
  const wasEvicted = isRegistered && input.memory.lease === undefined;

  const { phase, message, retryInMs } = await register(context, REGISTRATION_DEADLINE_MS);
  if (phase !== "registered") {
    // A Node that is known goes on being renewed while a restarted shim cannot register.
    const wasRegistered = records.get("registration")?.phase === "registered";
    if (retryInMs !== undefined && wasRegistered) await renewLease(context, LEASE_DEADLINE_MS);
    return {
      phase,
      ready: false,
      ...(message !== undefined && { message }),
      ...(retryInMs !== undefined && { reportInMs: retryInMs }),
    };
  }
  const lease = await renewLease(context, LEASE_DEADLINE_MS);
  if (context.lost) return { phase: recordLoss(context, context.lost), ready: false };
  const spentMs = Math.max(0, input.nowMs() - startedMs);
  const leftMs = REGISTRATION_DEADLINE_MS + STATUS_DEADLINE_MS - spentMs;
  const reportedMs = input.memory.status?.lastStatusReportTimeMs;
  const status = await writeStatus(context, lease, leftMs);
  if (context.lost) return { phase: recordLoss(context, context.lost), ready: false };
  // An object that is evicted between its reports has no next renewal to carry the time of this write.
  const isWritten = input.memory.status?.lastStatusReportTimeMs !== reportedMs;
  if (wasEvicted && isWritten && lease.renewed) await renewLease(context, LEASE_DEADLINE_MS);
  const error = status.error ?? (lease.renewed ? null : lease.error);
  return { phase: error ? phaseOf(error) : "registered", ready: isReady(records.get("node")?.node) };
}

export function phaseOf(error: ApiError): Phase {
  return error.kind === "unanswered" ? "apiserver unreachable" : "apiserver refuses";
}

/** As the apiserver has it. */
export function isReady(node: Node | undefined): boolean {
  return node !== undefined && readyConditionOf(node)?.status === "True";
}

export function kubeOf(env: Environment, nowMs: () => number): TickContext["client"] {
  const { KUBE } = env;
  return (withinMs) =>
    kubeClient({
      fetch: KUBE ? (url, init) => KUBE.fetch(url, init) : (url, init) => fetch(url, init),
      url: env.KUBE_URL,
      token: env.KUBE_TOKEN,
      fieldManager: fieldManagerOf(env.DEPLOYMENT),
      withinMs,
      nowMs,
    });
}

/** The whole reason goes here; the machine hears of a phase. */
export function logOf(name: string): TickContext["log"] {
  return (message, error) =>
    console.log(JSON.stringify({ node: name, message, ...(error && { error: apiErrorText(error) }) }));
}
