// Registers the Node once per shim process, with one attempt per report. After a failure the machine reports sooner.
import { startEvents } from "../../shared/events/events.ts";
import { reportedInitialNode } from "../../shared/from-report/reported-node.ts";
import { writtenMinor } from "../../shared/from-report/kubelet-version.ts";
import { NOTHING_REMEMBERED } from "../../shared/from-report/reported-status.ts";
import { withinGrant } from "../../shared/from-report/within-grant.ts";
import type { Node, Taint } from "../../shared/kubernetes/types.ts";
import {
  asKubelets,
  bystander,
  cordon,
  isBystander,
  kubeletsView,
  ownSetters,
} from "../../shared/node/bystander.ts";
import { type DecidedCondition, decidedConditions, overDecisions } from "../../shared/node/decided.ts";
import { calculateDelayMs } from "../../shared/node/heartbeat.ts";
import { isSameTaint, UNSCHEDULABLE_TAINT } from "../../shared/node/initial-node.ts";
import { OWNER_ANNOTATION } from "../../shared/node/ownership.ts";
import { leaveOthers } from "../../shared/node/parts.ts";
import {
  FIRST_REGISTRATION_DELAY_MS,
  nextRegistrationDelayMs,
  type RegisteredNode,
  registerExisting,
  type Registration,
  type RegistrationFailure,
  tryRegister,
  updateDefaultLabels,
} from "../../shared/node/registration.ts";
import { everAsked, keepOthersMarks, askedTaints } from "../../shared/node/taints.ts";
import { setNodeStatus } from "../../shared/node/update-node.ts";
import type { Phase } from "../../shared/protocol/answers.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Report } from "../../shared/protocol/report.ts";
import { reportIntervalMs } from "../../shared/protocol/settings.ts";
import { type Result, success } from "../../shared/result.ts";
import { recordNodeStatusEvent } from "../../shared/setters/record-node-status-event.ts";
import type { DraftNode } from "../../shared/setters/setter.ts";
import type { RegisterAgain } from "../env.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import type { LogMessage, MachineLog } from "../log.ts";
import { RATE_LIMITS, take, type TokenBucket } from "../storage/token-bucket.ts";
import type { Journal, Stored } from "../storage/journal.ts";
import type { OccurredEvent } from "../storage/outbox.ts";
import type { NodeRecordStore } from "../storage/records.ts";
import {
  MAX_NODE_BYTES,
  REGISTRATION_REQUESTS,
  type RequestBudget,
  sizeOf,
  spendAnyway,
  spendRegistration,
} from "./budgets.ts";
import { formNow, type FormingMachine, wantedForm } from "./decide-status.ts";
import { budgetInLease } from "./lease.ts";
import type { TickMemory } from "./memory.ts";
import { publishAgain } from "./node-feature.ts";
import { type TurningMachine, waitForTurn } from "./node-turn.ts";
import { claimNode, isNodeMissing, recordLoss } from "./own-node.ts";
import { grantHolder, recordLeftOut, ruledParts } from "./parts.ts";
import { isReady, phaseAfter, recordPhase, refusalMessage } from "./phase.ts";
import { AGAIN_WHEN_READY, staysDeleted, wasReady } from "./register-again.ts";
import { addRuleTaints, noteRuleTaints } from "./rule-taints.ts";

export interface RegisteringMachine extends FormingMachine, Stored, TurningMachine {
  name: string;
  facts: Facts;
  report: Pick<Report, "startId" | "vitals">;
  registerAgain: RegisterAgain;
  requests: Pick<RequestBudget, "allows" | "aMinute">;
  /** Returns the cluster's minor version; undefined if it is not known. */
  clusterMinor: () => number | undefined;
  client: (withinMs: number) => KubeClient;
  log: MachineLog;
}

type RegistrationMemory = Pick<
  TickMemory,
  "registrationDelayMs" | "lookedAtMs" | "setters" | "lease" | "status" | "budget" | "nodeVersion" | "written"
>;

interface Registered {
  phase: Phase;
  /** A message for the machine's operator. */
  message?: string;
  /** Milliseconds until the next attempt; present if this attempt failed. */
  retryInMs?: number;
  /** The Node; present if this attempt has created it. */
  created?: Node;
  /** The fields of the memory that have changed. */
  memory?: RegistrationMemory;
}

/** The time between two checks of a name that another writer has taken. */
const CHECK_EVERY_MS = 60_000;

/** Registers the Node. Returns `registered` once this deployment's Node exists. Checks a taken name again. */
export async function register(
  machine: RegisteringMachine,
  before: RegistrationMemory,
  deadlineMs: number,
): Promise<Registered> {
  const { records, report } = machine;
  const known = records.get("registration");
  const nowMs = machine.nowMs();
  const isSameProcess = known?.startId === report.startId;
  const isDeleted = isSameProcess && known.phase === "node deleted";
  if (isSameProcess && isSettled(machine, before.lookedAtMs, known.phase, nowMs)) {
    const message = isDeleted ? staysDeleted(machine) : undefined;
    return { phase: known.phase, ...(message !== undefined && { message }) };
  }
  if (!machine.requests.allows("node", REGISTRATION_REQUESTS)) return waiting(machine, ASKS_TOO_OFTEN);
  const process = records.get("process");
  if (process?.startId === report.startId) return attemptWith(machine, before, isDeleted, nowMs, deadlineMs);
  const written = records.get("node")?.node;
  const cost = { aMinute: machine.requests.aMinute, nodeBytes: written ? sizeOf(written) : 0 };
  const left = spendRegistration(process?.registrations, nowMs, cost);
  if (!left.ok) return waiting(machine, STARTED_TOO_OFTEN, left.error);
  beginProcess(machine, left.value, nowMs);
  const registered = await attemptWith(machine, before, isDeleted, nowMs, deadlineMs);
  return { ...registered, memory: { ...registered.memory, setters: undefined } };
}

async function attemptWith(
  machine: RegisteringMachine,
  before: RegistrationMemory,
  isDeleted: boolean,
  nowMs: number,
  deadlineMs: number,
): Promise<Registered> {
  const { records, log, deployment } = machine;
  const known = records.get("registration");
  const initial = initialNode(machine, nowMs);
  if (!initial.ok) {
    log(`registration waits: ${initial.error}`);
    return { phase: "registering", message: initial.error, ...retry(machine, before) };
  }
  const { node } = initial.value;
  // A machine that is not Ready does not restore its deleted Node. This check precedes the record of the decision.
  const isSilenceOver = records.get("deletion")?.silentDays !== undefined;
  if (isDeleted && !isSilenceOver && !isReady(node))
    return { phase: "node deleted", message: AGAIN_WHEN_READY };
  recordInitial(machine, initial.value, nowMs);
  // The taint of a cordon is not restored, because the taint appears and disappears with the cordon.
  const taints = (node.spec.taints ?? []).filter((taint) => !isSameTaint(taint, UNSCHEDULABLE_TAINT));
  if (isDeleted || isKnownNotReady(machine)) {
    const ours = [...everAsked(known), ...(records.get("ruleTaints") ?? [])];
    keepOthersMarks(node, records.get("node")?.node ?? {}, ours);
  }
  addRuleTaints(node, machine);
  if (sizeOf(node) > MAX_NODE_BYTES) return waiting(machine, TOO_LARGE);
  node.metadata.annotations = { ...node.metadata.annotations, [OWNER_ANNOTATION]: deployment };
  const held = await waitForTurn(machine, node, 0);
  if (held) return waiting(machine, held.message, held.waitMs);
  const { attempt, lease } = await tryToRegister(machine, node, deadlineMs);
  if (!attempt.ok) return recordFailure(machine, before, attempt.error, lease);
  const done: LogMessage = `Node ${attempt.value.outcome}${isDeleted ? " again: it was deleted" : ""}`;
  log(done);
  machine.journal.note("registration", done, nowMs);
  return recordRegistered(machine, { ...before, ...lease }, attempt.value, taints, lease);
}

function recordFailure(
  machine: RegisteringMachine,
  before: RegistrationMemory,
  failed: RegistrationFailure,
  lease: Pick<TickMemory, "lease">,
): Registered {
  const { records, report, facts, log, name, nowMs } = machine;
  if (failed.reason === "not ours") {
    const phase = recordLoss(machine, { phase: "name taken", reason: failed.message });
    return { phase, memory: { ...lease, lookedAtMs: nowMs() } };
  }
  if (facts.settings.registerNode === false && isMissing(failed, name)) {
    const known = records.get("registration");
    records.put("registration", { ...known, startId: report.startId, phase: "waiting for Node" });
    return { phase: "waiting for Node", memory: lease };
  }
  const { step, error } = failed;
  log(`registration failed: ${step}`, error);
  const { memory, retryInMs } = retry(machine, before);
  return {
    phase: phaseAfter(error, records),
    ...refusalMessage(error),
    retryInMs,
    memory: { ...lease, ...memory },
  };
}

/** Begins a new shim process: clears the former one's memory. The OOM counter stays: an OOM kill may have ended it. */
function beginProcess(machine: RegisteringMachine, registrations: TokenBucket, nowMs: number): void {
  const { records, report, facts } = machine;
  const { isTaken, bucket } = take(records.get("process")?.freshEvents, RATE_LIMITS.freshEvents, nowMs);
  const process = { startId: report.startId, registrations, freshEvents: bucket };
  machine.journal.begin({ process, events: startEvents(facts), isFresh: isTaken }, nowMs);
  const { oom = NOTHING_REMEMBERED.oom } = records.get("memory") ?? {};
  if (oom.kills === null) records.remove("memory");
  else records.put("memory", { ...NOTHING_REMEMBERED, oom });
  records.remove("deletion");
}

/** Returns the phase `registering` with this message. The report interval stays, to renew an existing Node's lease. */
function waiting({ facts }: RegisteringMachine, message: string, waitMs = Number.MAX_VALUE): Registered {
  const retryInMs = Math.min(reportIntervalMs(facts.settings), waitMs);
  return { phase: "registering", message, retryInMs };
}

const STARTED_TOO_OFTEN = "its shim was started too often: it is registered again later";
const ASKS_TOO_OFTEN = "its requests to the apiserver are used up: it is registered later";
const TOO_LARGE = `its Node would be larger than ${MAX_NODE_BYTES} bytes: it is not created`;

/** Makes the next report register regardless of the last result; returns false if the machine has never registered. */
export function registerAgain(records: NodeRecordStore, journal: Journal, nowMs: number): boolean {
  const known = records.get("registration");
  if (!known) return false;
  records.put("registration", { ...known, startId: "", phase: "registered" });
  records.remove("deletion");
  publishAgain(records);
  journal.note("registration", "an operator asked to register again", nowMs);
  return true;
}

/** Records a successful registration, in one transaction of SQLite because nothing is awaited. */
function recordRegistered(
  machine: RegisteringMachine,
  before: RegistrationMemory,
  { outcome, node }: RegisteredNode,
  taints: readonly Taint[],
  lease: Pick<TickMemory, "lease">,
): Registered {
  const { records, report, facts, random, journal, name, enrolment } = machine;
  const nowMs = machine.nowMs();
  const isCreated = outcome === "created";
  if (isReadyAtFirst(machine, outcome, node)) {
    const record = (type: string, reason: string, message: string) =>
      journal.tell({ type, reason, message }, nowMs);
    recordNodeStatusEvent(name, record)("Normal", "NodeReady");
  }
  // The decisions that follow report their differences from the existing Node as events.
  records.put("decided", decidedConditions(node));
  // A creation writes the whole status. The lease of a found Node still has the status time of an earlier process.
  const { nodeStatusReportFrequencyMs } = facts.settings;
  const status = isCreated
    ? {
        lastStatusReportTimeMs: nowMs,
        delayAfterNodeStatusChangeMs: calculateDelayMs({ random, nodeStatusReportFrequencyMs }),
      }
    : { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
  // Other writers have not undone any part of a new Node.
  if (isCreated) records.remove("putBack");
  records.put("node", { node, ...status, readAgain: false });
  if (isCreated) noteRuleTaints(machine, node);
  const known = records.get("registration");
  const createdAtMs = isCreated ? nowMs : known?.createdAtMs;
  const stated = askedTaints(known, taints, isCreated ? null : node);
  records.put("registration", {
    startId: report.startId,
    phase: "registered",
    ...(createdAtMs !== undefined && { createdAtMs }),
    enrolmentId: enrolment.id,
    ...stated.taints,
  });
  if (stated.notice !== null) journal.note("registration", `${stated.notice}; ${newNode(name)}`, nowMs);
  recordPhase({ records, journal }, "registered", nowMs);
  const budget = spendAnyway(before.budget ?? budgetInLease(before.lease, nowMs), sizeOf(node), nowMs);
  const memory: RegistrationMemory = {
    ...lease,
    registrationDelayMs: undefined,
    status,
    budget,
    nodeVersion: node.metadata?.resourceVersion,
    ...(isCreated && { written: {} }),
  };
  return { phase: "registered", ...(isCreated && { created: node }), memory };
}

/** Returns true if this process created a Ready Node, which needs an event like a kubelet's on becoming Ready. */
function isReadyAtFirst(
  { records, report }: RegisteringMachine,
  outcome: RegisteredNode["outcome"],
  node: Node,
): boolean {
  if (!isReady(node) || records.get("registration")?.startId === report.startId) return false;
  if (outcome === "created") return true;
  // The creation's answer may have been lost: the existing Node then has the conditions that were decided.
  if (records.get("node")) return false;
  const since = (conditions: readonly DecidedCondition[] = []) =>
    conditions.find(({ type }) => type === "Ready")?.lastTransitionTime;
  return since(node.status?.conditions) === since(records.get("decided"));
}

const newNode = (name: string) =>
  `a new Node has the configured taints: kubectl delete node ${name}, then rollcall node register ${name}`;

function retry({ random }: RegisteringMachine, before: RegistrationMemory) {
  const registrationDelayMs = nextRegistrationDelayMs(
    before.registrationDelayMs ?? FIRST_REGISTRATION_DELAY_MS,
  );
  // The delay is random, so that a fleet's machines do not all return at the same moment after an apiserver's restart.
  const retryInMs = Math.round(registrationDelayMs * (1 - 0.25 * random()));
  return { retryInMs, memory: { registrationDelayMs } };
}

/** Returns true if the registration needs no request to the apiserver now. */
function isSettled(
  machine: RegisteringMachine,
  lookedAtMs: number | undefined,
  phase: Phase,
  nowMs: number,
): boolean {
  if (phase === "waiting for Node") return false;
  if (phase === "node deleted") return staysDeleted(machine) !== undefined;
  if (phase !== "name taken") return true;
  const sinceMs = lookedAtMs === undefined ? CHECK_EVERY_MS : nowMs - lookedAtMs;
  // A clock that was put back must not extend the wait.
  return sinceMs >= 0 && sinceMs < CHECK_EVERY_MS;
}

/** Returns true if the last known Node is this machine's and was not Ready: then a cordon outlives a deletion. */
function isKnownNotReady({ records, enrolment }: RegisteringMachine): boolean {
  return records.get("registration")?.enrolmentId === enrolment.id && !wasReady(records);
}

/** Tries once to register. Reads the Node first if the machine may not create it, or its name was taken. */
async function tryToRegister(
  machine: RegisteringMachine,
  node: DraftNode,
  deadlineMs: number,
): Promise<{ attempt: Registration; lease: Pick<TickMemory, "lease"> }> {
  const { name, records, facts } = machine;
  const client = machine.client(deadlineMs);
  // The lease that the registration reads here saves the renewal a GET.
  let lease: Pick<TickMemory, "lease"> = {};
  const claim = async (existing: Node) => {
    const claimed = await claimNode(machine, client, existing);
    if (!claimed.ok) return claimed;
    if (claimed.value.lease) lease = { lease: claimed.value.lease };
    return success(claimed.value.node);
  };
  const bound = (existing: Node, reconciled: DraftNode) => restoreOthers(machine, node, existing, reconciled);
  const mayCreate = facts.settings.registerNode !== false;
  const shouldReset = () => facts.devices?.recorded === false;
  if (!mayCreate || records.get("registration")?.phase === "name taken") {
    const attempt = await registerExisting(client, node, claim, shouldReset, bound);
    if (!mayCreate || attempt.ok || !isMissing(attempt.error, name)) return { attempt, lease };
  }
  return { attempt: await tryRegister(client, node, claim, shouldReset, bound), lease };
}

/** Copies from `existing` to `reconciled` the parts of the Node that the machine must not change. */
function restoreOthers(
  machine: RegisteringMachine,
  node: DraftNode,
  existing: Node,
  reconciled: DraftNode,
): void {
  const { facts, enrolment, records } = machine;
  const holder = grantHolder(machine);
  // The labels are reconciled again as a kubelet would: the Node may be for pods, or have the earlier form.
  reconciled.metadata.labels = { ...existing.metadata?.labels };
  asKubelets(reconciled);
  updateDefaultLabels(kubeletsView(node), reconciled);
  const left = withinGrant(kubeletsView(existing), reconciled, facts, holder);
  bystander(enrolment.withoutFactsOnlyTaint, formNow(machine, existing), existing)(reconciled);
  leaveOthers(existing, reconciled, holder.fieldManager);
  recordLeftOut(machine, "registration", [...(records.get("leftOut")?.registration ?? []), ...left]);
}

function isMissing(failed: RegistrationFailure, name: string): boolean {
  return failed.reason === "request failed" && failed.step === "get" && isNodeMissing(failed.error, name);
}

interface Initial {
  node: DraftNode;
  /** The events that the setters caused. */
  events: readonly OccurredEvent[];
  leftOut: readonly string[];
}

/** Returns the Node to register with. A second attempt of a process causes no event twice. */
function initialNode(machine: RegisteringMachine, nowMs: number): Result<Initial> {
  const { name, records, report, enrolment, facts, marks } = machine;
  const memory = structuredClone(NOTHING_REMEMBERED);
  const events: OccurredEvent[] = [];
  const reported = {
    name,
    facts,
    vitals: report.vitals,
    nowMs,
    memory,
    runtimeMemory: records.get("runtime") ?? {},
    clusterMinor: machine.clusterMinor() ?? writtenMinor(records.get("node")?.node ?? {}),
    recordEvent: (type: string, reason: string, message: string) =>
      void events.push({ type, reason, message }),
  };
  const decided = records.get("decided") ?? [];
  const initial = reportedInitialNode(reported, enrolment, (setters) =>
    overDecisions(setters, undefined, decided),
  );
  if (!initial.ok) return initial;
  const { node } = initial.value;
  const holder = grantHolder(machine);
  const ruled = ruledParts(machine);
  const leftOut = [...withinGrant(undefined, node, facts, holder), ...ruled.leftOut];
  setNodeStatus(node, ownSetters(machine, holder.fieldManager, wantedForm(marks), ruled.parts));
  if (marks.isUnschedulable && isBystander(node, enrolment.withoutFactsOnlyTaint)) cordon(node);
  return success({ node, events, leftOut });
}

/** Records the decision about the new Node. Call it before the Node is sent. */
function recordInitial(machine: RegisteringMachine, { node, events, leftOut }: Initial, nowMs: number): void {
  recordLeftOut(machine, "registration", leftOut);
  const memory = machine.records.get("memory") ?? NOTHING_REMEMBERED;
  machine.journal.decide({ node, memory, events, nowMs });
}
