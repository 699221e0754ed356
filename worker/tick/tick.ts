// Runs what a fresh report sets off: registration, lease, status, with the functions of shared/ over this machine's
// records. Each step fails by itself, and the next report tries again.
import { missingRuntime } from "../../shared/from-report/missing-runtime.ts";
import { registerAgain } from "../env.ts";
import { kubeConnector } from "../kube/connect.ts";
import { machineLog } from "../log.ts";
import { leftOutMessage } from "./left-out.ts";
import type { Loss, TickContext, TickInput, TickOutcome } from "./context.ts";
import { renewLease } from "./lease.ts";
import { recordLoss } from "./own-node.ts";
import { isReady, phaseOf, refusalMessage } from "./phase.ts";
import { staysDeleted } from "./register-again.ts";
import { register } from "./registration.ts";
import { writeStatus } from "./status.ts";

/** Registration and status share 8 s, less what the lease takes of them: the shim's own deadline is 9 s. */
const REGISTRATION_DEADLINE_MS = 4000;
const LEASE_DEADLINE_MS = 3000;
const STATUS_DEADLINE_MS = 4000;

const runtimeIsMissing = (name: string) =>
  `its container runtime is gone: start it, or have an operator say \`rollcall node set ${name} --runtime none\``;

export async function tick(input: TickInput): Promise<TickOutcome> {
  const { env, enrolment, records, facts } = input;
  if (!facts) return { phase: "facts refused", ready: false };
  if (!env.KUBE_URL) return { phase: "apiserver not configured", ready: false };
  const name = enrolment.name;
  const context: TickContext = {
    ...input,
    name,
    deployment: env.DEPLOYMENT,
    registerAgain: registerAgain(env),
    facts,
    client: kubeConnector(env, input.token, input.nowMs, (what) => input.requests.take(what)),
    log: machineLog(name),
  };
  const startedMs = input.nowMs();
  const isRegistered = records.get("registration")?.startId === input.report.startId;
  const wasEvicted = isRegistered && input.memory.lease === undefined;

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
  const lease = await renewLease(context, LEASE_DEADLINE_MS);
  if (context.lost) return lostOutcome(context, context.lost);
  const spentMs = Math.max(0, input.nowMs() - startedMs);
  const leftMs = REGISTRATION_DEADLINE_MS + STATUS_DEADLINE_MS - spentMs;
  const reportedMs = input.memory.status?.lastStatusReportTimeMs;
  const status = await writeStatus(context, lease, leftMs);
  if (context.lost) return lostOutcome(context, context.lost);
  // An object that is evicted between its reports loses the time of this write, unless the lease has it.
  const isWritten = input.memory.status?.lastStatusReportTimeMs !== reportedMs;
  if (wasEvicted && isWritten && lease.renewed) await renewLease(context, LEASE_DEADLINE_MS);
  const leaseError = lease.renewed ? null : lease.error;
  const error = status.ok ? leaseError : status.error;
  const ready = isReady(records.get("node")?.node);
  if (error) return { phase: phaseOf(error), ready, ...refusalMessage(error) };
  const isRuntimeMissing = missingRuntime(facts, records.get("runtime") ?? {}) !== null;
  const notice =
    input.memory.withheld ??
    leftOutMessage(records) ??
    (isRuntimeMissing ? runtimeIsMissing(name) : undefined);
  return { phase: "registered", ready, ...(notice !== undefined && { message: notice }) };
}

function lostOutcome(context: TickContext, lost: Loss): TickOutcome {
  const phase = recordLoss(context, lost);
  const message = phase === "node deleted" ? staysDeleted(context) : undefined;
  return { phase, ready: false, ...(message !== undefined && { message }) };
}
