// Makes a machine's summary for the fleet index, from fields that do not change with every report.
import { isOfOperators } from "../kubernetes/lifecycle-conditions.ts";
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { Phase } from "../protocol/answers.ts";
import type { Facts } from "../protocol/facts.ts";
import { type FleetState, fleetStateOf, isClusterAway } from "./state.ts";
import type { MachineSummary, SummarizedCondition } from "./summary.ts";
import { asUnknown, BEING_REMOVED, unreadyOf } from "./unready.ts";
import { problemsText } from "./well-conditions.ts";

type DecidedCondition = Omit<NodeCondition, "lastHeartbeatTime">;

/** The node object's knowledge about its machine. Before the pin's first report, it has no Node and no decisions. */
export interface KnownMachine {
  isRevoked: boolean;
  /** true if the machine is being removed. Then `phase` is the reason why its Node is not deleted yet. */
  isLeaving: boolean;
  phase: Phase | null;
  /** true if the Node is registered, and was Ready when the Worker last knew it. */
  isReady: boolean;
  node: Node | undefined;
  decided: readonly DecidedCondition[];
  facts: Facts | undefined;
  skewMs: number;
  silentSinceMs: number | null;
  withheld: string;
  address: string;
  /** The digest of the startId of the shim's process. */
  process: string;
  transport: MachineSummary["transport"];
  /** The rules of the deployment that match the machine. */
  rules: readonly string[];
  key: MachineSummary["key"];
}

/** The limits of summary parts that a hostile machine or another writer can make large, in characters or entries. */
export const SUMMARY_LIMITS = { messageLength: 512, conditions: 64, labels: 256, process: 16 } as const;

export function stateOf(machine: KnownMachine): FleetState {
  const isRevoked = machine.isRevoked || machine.isLeaving;
  const isSilent = machine.silentSinceMs !== null;
  return fleetStateOf({ ...machine, isRevoked, isSilent, hasFault: hasFault(machine) });
}

/** Reports whether the machine is not ready by its last report. */
const hasFault = ({ decided }: KnownMachine) => decided.find(isReady)?.status === "False";

/** Returns the machine's summary. `since` has the state and its start. */
export function summarize(
  known: KnownMachine,
  since: { state: FleetState; sinceMs: number },
): MachineSummary {
  const { phase, node, facts, silentSinceMs, key, skewMs, withheld, address, process, transport } = known;
  const conditions = conditionsOf(known, since.sinceMs);
  const { runtime } = facts ?? {};
  return {
    state: since.state,
    sinceMs: since.sinceMs,
    phase,
    why: whyNotReady(known, since.state, conditions),
    conditions,
    labels: Object.fromEntries(Object.entries(node?.metadata?.labels ?? {}).slice(0, SUMMARY_LIMITS.labels)),
    isUnschedulable: node?.spec?.unschedulable ?? false,
    versions: {
      shim: facts?.versions?.shim ?? "",
      kernel: facts?.versions?.kernel ?? "",
      os: facts?.versions?.osImage ?? "",
      runtime: runtime ? `${runtime.name}://${runtime.version}` : "",
      architecture: facts?.platform.architecture ?? "",
    },
    addresses: (node?.status?.addresses ?? []).map(({ type, address: text }) => ({ type, address: text })),
    address,
    capacity: node?.status?.capacity ?? {},
    skewMs,
    silentSinceMs,
    boot: facts?.machine?.bootID ?? "",
    process: process.slice(0, SUMMARY_LIMITS.process),
    transport,
    withheld,
    key,
    createdMs: timeOf(node?.metadata?.creationTimestamp),
    ...(known.rules.length > 0 && { rules: [...known.rules] }),
  };
}

const isReady = ({ type }: { type: string }) => type === "Ready";

/** Reports whether an operator or a controller has set the Node's condition after the decision `own`. */
const isByOperator = ({ type, lastTransitionTime }: DecidedCondition, own: DecidedCondition) =>
  isOfOperators(type) && timeOf(lastTransitionTime) > timeOf(own.lastTransitionTime);

/**
 * Returns the Node's last conditions, replaced by later decisions. A Ready that the node controller has set to Unknown
 * stays Unknown. The controller's other Unknown conditions do not replace the last report's, which may have the cause.
 * While the cluster cannot be written, a reported Ready of False stays False: that fault is the machine's own. A
 * condition that operators set is the newer one of Node and decision.
 */
function conditionsOf(machine: KnownMachine, sinceMs: number): SummarizedCondition[] {
  const { node, decided } = machine;
  const known = node?.status?.conditions ?? [];
  const isFalse = isClusterAway(machine.phase) && hasFault(machine);
  const merged = known.map((condition) => {
    const own = decided.find(({ type }) => type === condition.type) ?? condition;
    const isMarked = isReady(condition) && condition.status === "Unknown" && !isFalse;
    return isMarked || isByOperator(condition, own) ? condition : own;
  });
  const more = decided.filter(({ type }) => !known.some((condition) => condition.type === type));
  const all: readonly DecidedCondition[] = [...merged, ...more];
  const ordered = [
    ...all.filter((each) => !isReady(each)).slice(0, SUMMARY_LIMITS.conditions),
    ...all.filter(isReady),
  ];
  const unready = unreadyOf(machine);
  const present = unready ? asUnknown(ordered, unready, sinceMs) : ordered;
  return present.map(({ type, status, reason = "", message = "", lastTransitionTime }) => ({
    type,
    status,
    reason,
    message: cut(message),
    sinceMs: timeOf(lastTransitionTime),
  }));
}

/** Returns milliseconds since 1970; 0 if the time is not known. */
const timeOf = (time: string | undefined): number => Date.parse(time ?? "") || 0;

const OF_PHASE: Partial<Record<Phase, string>> = {
  registering: "its Node is not registered yet",
  "setup failed": "its shim cannot start: its history says why",
  "facts refused": "its facts are refused: `node-shim status` on it says which",
  "waiting for Node": "it may not create its Node (registerNode is false): create the Node",
  cloned:
    "several machines report with its key: give each copy a state folder and a token of its own, then trust it",
  "two shims": "two shims report from it: stop one of them",
  "name taken":
    "another writer has or updates the Node of this name: remove that one, or give this machine another name",
  "node deleted": "its Node was deleted: register it again, or forget the machine",
  "apiserver unreachable": "the apiserver does not answer the Worker: check the connection between them",
  "apiserver refuses":
    "the apiserver refuses the Worker's requests: GET /readyz and the Worker's log say why",
  "apiserver not configured": "the Worker has no KUBE_URL",
};

/** Returns why a machine is not ready, in one line for operators; "" if it is ready, or no reason is known. */
function whyNotReady(
  { phase, decided, isLeaving, key: { isUsed } }: KnownMachine,
  state: FleetState,
  conditions: readonly SummarizedCondition[],
): string {
  const problems = cut(problemsText(decided));
  switch (state) {
    case "revoked":
      if (isLeaving) return `${BEING_REMOVED}${isClusterAway(phase) ? `: ${OF_PHASE[phase!]}` : ""}`;
      return "its keys are revoked: forget it, or let it enrol with a new token";
    case "silent":
      if (!isUsed) return "it has enrolled and never reported: start its shim";
      return `no report: check its power, its network and its shim${problems && `; its last report: ${problems}`}`;
    case "ready":
    case "pending":
      return "";
    default:
      if (isClusterAway(phase))
        return `${problems && `${problems}; besides, `}${(phase && OF_PHASE[phase]) ?? ""}`;
      if (!isUsed) return "it has enrolled and not reported yet";
      return (phase && OF_PHASE[phase]) ?? notReadyText(decided.find(isReady), conditions.find(isReady));
  }
}

/** Returns why the Node is not Ready. `decided`: the Ready of the last report; `known`: the Ready of the Node. */
function notReadyText(decided: DecidedCondition | undefined, known: SummarizedCondition | undefined): string {
  if (decided && decided.status !== "True") return cut(decided.message ?? "");
  if (!known || known.status === "True") return "";
  const isByOthers = decided !== undefined || known.status === "Unknown";
  return isByOthers ? `Ready is ${known.status} in the cluster: the next report corrects it` : known.message;
}

const cut = (text: string) => text.slice(0, SUMMARY_LIMITS.messageLength).toWellFormed();
