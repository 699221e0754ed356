// Registers the Node, once for each process of the shim: one attempt with each report, which come sooner after a
// failure.
import {
  FIRST_REGISTRATION_DELAY_MS,
  nextRegistrationDelayMs,
  type RegisteredNode,
  registerExisting,
  type Registration,
  tryRegister,
  updateDefaultLabels,
} from "../../shared/node/registration.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import {
  asKubelets,
  bystander,
  cordon,
  isBystander,
  kubeletsView,
  ownSetters,
} from "../../shared/node/bystander.ts";
import { leaveOthers } from "../../shared/node/parts.ts";
import { isSameTaint, UNSCHEDULABLE_TAINT } from "../../shared/node/initial-node.ts";
import { everSaid, keepOthersMarks, saidTaints } from "../../shared/node/taints.ts";
import { OWNER_ANNOTATION, ownershipFault } from "../../shared/node/ownership.ts";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { calculateDelayMs } from "../../shared/node/heartbeat.ts";
import { type DecidedCondition, decidedConditions, overDecisions } from "../../shared/node/decided.ts";
import { startEvents } from "../../shared/events/events.ts";
import { setNodeStatus } from "../../shared/node/update-node.ts";
import { recordNodeStatusEvent } from "../../shared/setters/record-node-status-event.ts";
import type { DraftNode } from "../../shared/setters/setter.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import { withinGrant } from "../../shared/from-report/within-grant.ts";
import { forgetWritten, grantHolder, recordLeftOut } from "./parts.ts";
import { claimingClient, isNodeMissing, recordLoss } from "./own-node.ts";
import type { Journal } from "../storage/journal.ts";
import type { Allowance } from "../storage/allowance.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import { formNow, wantedForm } from "./decide-status.ts";
import { AGAIN_WHEN_READY, staysDeleted, wasReady } from "./register-again.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { budgetInLease } from "./lease.ts";
import {
  MAX_NODE_BYTES,
  REGISTRATION_REQUESTS,
  sizeOf,
  spendAnyway,
  spendFreshEvents,
  spendRegistration,
} from "./budgets.ts";
import type { TickContext } from "./context.ts";
import { isReady, phaseOf, recordPhase, refusalMessage } from "./phase.ts";
import { type Result, success } from "../../shared/result.ts";
import type { LogMessage } from "../log.ts";

interface RegisterOutcome {
  phase: Phase;
  /** For the machine's operator. */
  message?: string;
  /** Present when the attempt failed. */
  retryInMs?: number;
}

/** How often a taken name is checked. */
const LOOK_EVERY_MS = 60_000;

/** Returns the phase "registered" once the Node exists and is ours. A taken name may become free again. */
export async function register(context: TickContext, deadlineMs: number): Promise<RegisterOutcome> {
  const { records, report, memory, deployment } = context;
  const known = records.get("registration");
  const nowMs = context.nowMs();
  const isSameProcess = known?.startId === report.startId;
  const isDeleted = isSameProcess && known.phase === "node deleted";
  if (isSameProcess && isSettled(context, known.phase, nowMs)) {
    const message = isDeleted ? staysDeleted(context) : undefined;
    return { phase: known.phase, ...(message !== undefined && { message }) };
  }
  if (!context.requests.allows("node", REGISTRATION_REQUESTS)) return waiting(context, ASKS_TOO_OFTEN);
  const process = records.get("process");
  if (process?.startId !== report.startId) {
    const written = records.get("node")?.node;
    const cost = { aMinute: context.requests.aMinute, nodeBytes: written ? sizeOf(written) : 0 };
    const left = spendRegistration(process?.registrations, nowMs, cost);
    if (!left.ok) return waiting(context, STARTED_TOO_OFTEN, left.error);
    beginProcess(context, left.value, nowMs);
  }
  const initial = initialNode(context, nowMs);
  if (!initial.ok) {
    context.log(`registration waits: ${initial.error}`);
    return { phase: "registering", message: initial.error, retryInMs: nextDelayMs(context) };
  }
  const { node } = initial.value;
  // Before anything is recorded: a Node that is not Ready is no reason to undo what somebody has tidied up.
  const isSilenceOver = records.get("deletion")?.silentDays !== undefined;
  if (isDeleted && !isSilenceOver && !isReady(node))
    return { phase: "node deleted", message: AGAIN_WHEN_READY };
  recordInitial(context, initial.value, nowMs);
  // A cordon comes and goes with its taint.
  const said = (node.spec.taints ?? []).filter((taint) => !isSameTaint(taint, UNSCHEDULABLE_TAINT));
  if (isDeleted || isKnownNotReady(context))
    keepOthersMarks(node, records.get("node")?.node ?? {}, everSaid(known));
  if (sizeOf(node) > MAX_NODE_BYTES) return waiting(context, TOO_LARGE);
  node.metadata.annotations = { ...node.metadata.annotations, [OWNER_ANNOTATION]: deployment };
  const attempt = await tryToRegister(context, node, deadlineMs);
  if (!attempt.ok && attempt.error.reason === "not ours") {
    context.lost = { phase: "name taken", reason: attempt.error.message };
  }
  if (context.lost) return { phase: recordLoss(context, context.lost) };
  if (context.facts.settings.registerNode === false && isMissing(attempt, context.name)) {
    records.put("registration", { ...known, startId: report.startId, phase: "waiting for Node" });
    return { phase: "waiting for Node" };
  }
  if (!attempt.ok) {
    if (attempt.error.reason === "not ours") throw new Error("a refusal that is no loss");
    const { step, error } = attempt.error;
    context.log(`registration failed: ${step}`, error);
    return { phase: phaseOf(error), ...refusalMessage(error), retryInMs: nextDelayMs(context) };
  }
  delete memory.registrationDelayMs;
  const done: LogMessage = `Node ${attempt.value.outcome}${isDeleted ? " again: it was deleted" : ""}`;
  context.log(done);
  context.journal.note("registration", done, nowMs);
  remember(context, attempt.value, said);
  return { phase: "registered" };
}

/** What a process remembers ends with it, but for a counter of the kernel's: it may have ended the process itself. */
function beginProcess(context: TickContext, registrations: Allowance, nowMs: number): void {
  const { records, report, memory, facts } = context;
  const { isFresh, left } = spendFreshEvents(records.get("process")?.freshEvents, nowMs);
  const process = { startId: report.startId, registrations, freshEvents: left };
  context.journal.begin({ process, events: startEvents(facts), isFresh }, nowMs);
  const { oom = NOTHING_REMEMBERED.oom } = records.get("memory") ?? {};
  if (oom.kills === null) records.remove("memory");
  else records.put("memory", { ...NOTHING_REMEMBERED, oom });
  records.remove("deletion");
  delete memory.setters;
}

/** Meanwhile the machine reports at least as often as ever: its Node, where there is one, is renewed. */
function waiting({ facts }: TickContext, message: string, waitMs = Number.MAX_VALUE): RegisterOutcome {
  const retryInMs = Math.min(reportIntervalMs(facts.settings), waitMs);
  return { phase: "registering", message, retryInMs };
}

const STARTED_TOO_OFTEN = "its shim was started too often: it is registered again later";
const ASKS_TOO_OFTEN = "its requests to the apiserver are used up: it is registered later";
const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not created`;

/** The next report registers, no matter how the last registration ended; false: there was none yet. */
export function registerAgain(records: NodeRecordStore, journal: Journal, nowMs: number): boolean {
  const known = records.get("registration");
  if (!known) return false;
  records.put("registration", { ...known, startId: "", phase: "registered" });
  records.remove("deletion");
  journal.note("registration", "an operator asked to register again", nowMs);
  return true;
}

/** One transaction of SQLite, since nothing is awaited. */
function remember(context: TickContext, { outcome, node }: RegisteredNode, said: readonly Taint[]): void {
  const { records, memory, report, facts, random, journal } = context;
  const nowMs = context.nowMs();
  if (isReadyAtFirst(context, outcome, node)) {
    const tell = (type: string, reason: string, message: string) =>
      journal.tell({ type, reason, message }, nowMs);
    recordNodeStatusEvent(context.name, tell)("Normal", "NodeReady");
  }
  // From here on, events are about differences from the Node that exists.
  records.put("decided", decidedConditions(node));
  // A creation writes the whole status; the lease of a Node that was found still carries what an earlier process wrote.
  const { nodeStatusReportFrequencyMs } = facts.settings;
  const status =
    outcome === "created"
      ? {
          lastStatusReportTimeMs: nowMs,
          delayAfterNodeStatusChangeMs: calculateDelayMs({ random, nodeStatusReportFrequencyMs }),
        }
      : { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
  memory.status = status;
  memory.budget = spendAnyway(memory.budget ?? budgetInLease(memory.lease, nowMs), sizeOf(node), nowMs);
  memory.nodeVersion = node.metadata?.resourceVersion;
  if (outcome === "created") {
    context.created = node;
    forgetWritten(context);
  }
  records.put("node", { node, ...status, readAgain: false });
  const known = records.get("registration");
  const createdAtMs = outcome === "created" ? nowMs : known?.createdAtMs;
  const created = createdAtMs !== undefined && { createdAtMs };
  const enrolmentId = context.enrolment.id;
  const { taints, notice } = saidTaints(known, said, outcome === "created" ? null : node);
  records.put("registration", {
    startId: report.startId,
    phase: "registered",
    ...created,
    enrolmentId,
    ...taints,
  });
  if (notice !== null) journal.note("registration", `${notice}; ${newNode(context.name)}`, nowMs);
  recordPhase({ records, journal }, "registered", nowMs);
}

/** Has this process created the Node, Ready as it is? A kubelet's becomes Ready a moment later, which is an event. */
function isReadyAtFirst(
  { records, report }: TickContext,
  outcome: RegisteredNode["outcome"],
  node: Node,
): boolean {
  if (!isReady(node) || records.get("registration")?.startId === report.startId) return false;
  if (outcome === "created") return true;
  // A creation whose answer was lost has left the Node as it was decided.
  if (records.get("node")) return false;
  const since = (conditions: readonly DecidedCondition[] = []) =>
    conditions.find(({ type }) => type === "Ready")?.lastTransitionTime;
  return since(node.status?.conditions) === since(records.get("decided"));
}

const newNode = (name: string) =>
  `a new Node has what is said: kubectl delete node ${name}, then rollcall node register ${name}`;

function nextDelayMs({ memory, random }: TickContext): number {
  memory.registrationDelayMs = nextRegistrationDelayMs(
    memory.registrationDelayMs ?? FIRST_REGISTRATION_DELAY_MS,
  );
  // Random, so that a fleet does not come back all at once after an apiserver's restart.
  return Math.round(memory.registrationDelayMs * (1 - 0.25 * random()));
}

/** Is there nothing to ask the apiserver now? */
function isSettled(context: TickContext, phase: Phase, nowMs: number): boolean {
  const { lookedAtMs } = context.memory;
  if (phase === "waiting for Node") return false;
  if (phase === "node deleted") return staysDeleted(context) !== undefined;
  if (phase !== "name taken") return true;
  const sinceMs = lookedAtMs === undefined ? LOOK_EVERY_MS : nowMs - lookedAtMs;
  // A clock that was set back must not extend the wait.
  return sinceMs >= 0 && sinceMs < LOOK_EVERY_MS;
}

/** Is the last known Node this machine's, and was it not Ready any more? Then a cordon of it outlives the Node. */
function isKnownNotReady({ records, enrolment }: TickContext): boolean {
  return records.get("registration")?.enrolmentId === enrolment.id && !wasReady(records);
}

/** A Node that may not be created here, or whose name was taken, is read first. */
async function tryToRegister(
  context: TickContext,
  node: DraftNode,
  deadlineMs: number,
): Promise<Registration> {
  const { deployment, name, records, facts } = context;
  const client = claimingClient(context, context.client(deadlineMs));
  const claim = (existing: Parameters<typeof ownershipFault>[0]) => ownershipFault(existing, deployment);
  const mayCreate = facts.settings.registerNode !== false;
  const bound = (existing: Node, reconciled: DraftNode) => {
    const holder = grantHolder(context);
    // The labels are reconciled again, as a kubelet's: the Node that exists may be one for pods, or have the earlier form.
    reconciled.metadata.labels = { ...existing.metadata?.labels };
    asKubelets(reconciled);
    updateDefaultLabels(kubeletsView(node), reconciled);
    const left = withinGrant(kubeletsView(existing), reconciled, facts, holder);
    bystander(context.enrolment.withoutFactsOnlyTaint, formNow(context, existing), existing)(reconciled);
    leaveOthers(existing, reconciled, holder.fieldManager);
    recordLeftOut(context, "registration", [...(records.get("leftOut")?.registration ?? []), ...left]);
  };
  const shouldReset = () => facts.devices?.recorded === false;
  if (!mayCreate || records.get("registration")?.phase === "name taken") {
    const found = await registerExisting(client, node, claim, shouldReset, bound);
    if (!mayCreate || !isMissing(found, name)) return found;
  }
  return tryRegister(client, node, claim, shouldReset, bound);
}

function isMissing(attempt: Registration, name: string): boolean {
  if (attempt.ok || attempt.error.reason !== "request failed") return false;
  return attempt.error.step === "get" && isNodeMissing(attempt.error.error, name);
}

interface Initial {
  node: DraftNode;
  /** What its setters caused. */
  events: readonly OccurredEvent[];
  leftOut: readonly string[];
}

/** The Node to register with. It is decided once for each process, so that a further attempt causes no event twice. */
function initialNode(context: TickContext, nowMs: number): Result<Initial> {
  const { records, report, enrolment, facts } = context;
  const memory = structuredClone(NOTHING_REMEMBERED);
  const events: OccurredEvent[] = [];
  const reported = {
    name: context.name,
    facts,
    vitals: report.vitals,
    nowMs,
    memory,
    runtimeMemory: records.get("runtime") ?? {},
    recordEvent: (type: string, reason: string, message: string) =>
      void events.push({ type, reason, message }),
  };
  const decided = records.get("decided") ?? [];
  const initial = reportedInitialNode(reported, enrolment, (setters) =>
    overDecisions(setters, undefined, decided),
  );
  if (!initial.ok) return initial;
  const { node } = initial.value;
  const leftOut = withinGrant(undefined, node, facts, grantHolder(context));
  setNodeStatus(node, ownSetters(context, grantHolder(context).fieldManager, wantedForm(context)));
  if (context.marks.isUnschedulable && isBystander(node, enrolment.withoutFactsOnlyTaint)) cordon(node);
  return success({ node, events, leftOut });
}

/** Call it before the Node is sent. */
function recordInitial(context: TickContext, { node, events, leftOut }: Initial, nowMs: number): void {
  recordLeftOut(context, "registration", leftOut);
  const memory = context.records.get("memory") ?? NOTHING_REMEMBERED;
  context.journal.decide({ node, memory, events, nowMs });
}
