// Sums up what a node object knows of its machine, for the fleet index. Pure: the same knowledge is the same summary, and
// nothing of what changes with every report is in it.
import type { Node, NodeCondition } from "../kubernetes/types.ts";
import type { Phase } from "../protocol/answers.ts";
import type { Facts } from "../protocol/facts.ts";
import { fleetStateOf, type FleetState } from "./state.ts";
import type { MachineSummary, SummarizedCondition } from "./summary.ts";
import { whyNotReady } from "./why.ts";

type DecidedCondition = Omit<NodeCondition, "lastHeartbeatTime">;

/** Of a machine that has not reported with its pin, `phase` is null, and there is neither a Node nor anything decided. */
export interface KnownMachine {
  isRevoked: boolean;
  phase: Phase | null;
  /** The Node is registered, and Ready as it was last known. */
  isReady: boolean;
  node: Node | undefined;
  decided: readonly DecidedCondition[];
  facts: Facts | undefined;
  skewMs: number;
  silentSinceMs: number | null;
  withheld: string;
  address: string;
  /** Of the startId. */
  process: string;
  transport: MachineSummary["transport"];
  key: MachineSummary["key"];
}

/** What a hostile machine, or somebody else, may put into the index. */
export const SUMMARY_LIMITS = { messageLength: 512, conditions: 64, labels: 256, process: 16 } as const;

export function stateOf({ isRevoked, silentSinceMs, phase, isReady }: KnownMachine): FleetState {
  return fleetStateOf({ isRevoked, isSilent: silentSinceMs !== null, phase, isReady });
}

/** `since`: the state, and when it began. */
export function summarize(
  known: KnownMachine,
  since: { state: FleetState; sinceMs: number },
): MachineSummary {
  const { phase, node, facts, silentSinceMs, key, skewMs, withheld, address, process, transport } = known;
  const conditions = conditionsOf(known);
  const ready = conditions.find(({ type }) => type === "Ready");
  const notReady = ready && ready.status !== "True" ? ready.message : undefined;
  const { runtime } = facts ?? {};
  return {
    state: since.state,
    sinceMs: since.sinceMs,
    phase,
    why: whyNotReady({ state: since.state, phase, isUsed: key.isUsed, notReady }),
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
  };
}

/**
 * The Node's, as last known, and over them what was decided, which may not be written yet. What somebody else has made
 * Unknown stays so: the node controller, which gives a Node up.
 */
function conditionsOf({ node, decided }: KnownMachine): SummarizedCondition[] {
  const known = node?.status?.conditions ?? [];
  const merged = known.map((condition) =>
    condition.status === "Unknown"
      ? condition
      : (decided.find(({ type }) => type === condition.type) ?? condition),
  );
  const more = decided.filter(({ type }) => !known.some((condition) => condition.type === type));
  const isReady = ({ type }: { type: string }) => type === "Ready";
  const all: readonly DecidedCondition[] = [...merged, ...more];
  const ordered = [
    ...all.filter((each) => !isReady(each)).slice(0, SUMMARY_LIMITS.conditions),
    ...all.filter(isReady),
  ];
  return ordered.map(({ type, status, reason = "", message = "", lastTransitionTime }) => ({
    type,
    status,
    reason,
    message: message.slice(0, SUMMARY_LIMITS.messageLength).toWellFormed(),
    sinceMs: timeOf(lastTransitionTime),
  }));
}

/** In milliseconds since 1970; 0: not known. */
const timeOf = (time: string | undefined): number => Date.parse(time ?? "") || 0;
