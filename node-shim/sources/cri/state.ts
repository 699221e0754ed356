// Interprets the runtime's answers as the kubelet's runtimeState and updateRuntimeUp do, with the same texts. Calls no
// runtime; the clock is an argument.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { RUNTIME_DOWN } from "../../../shared/from-report/missing-runtime.ts";
import { FACTS_LIMITS, LIMITS } from "../../../shared/protocol/limits.ts";
import type { RuntimeCondition, StatusAnswer } from "./methods.ts";

/** maxWaitForContainerRuntime */
const SYNC_THRESHOLD_MS = 30_000;

export interface RuntimeState {
  /** When the runtime was last seen ready, by the caller's clock; null: never. */
  lastSyncMs: number | null;
  networkError: string | null;
  runtimeError: string | null;
  handlers?: NonNullable<Facts["runtimeHandlers"]>;
  features?: NonNullable<Facts["runtimeFeatures"]>;
}

/** Before the first answer (newRuntimeState). */
export const UNKNOWN_STATE: RuntimeState = {
  lastSyncMs: null,
  networkError: "network state unknown",
  runtimeError: null,
};

/** Upstream updateRuntimeUp, with an answer. Handlers and features are taken from a ready runtime alone. */
export function stateAfter(state: RuntimeState, answer: StatusAnswer, nowMs: number): RuntimeState {
  const conditions = answer.status?.conditions ?? [];
  const network = conditions.find(({ type }) => type === "NetworkReady");
  const runtime = conditions.find(({ type }) => type === "RuntimeReady");
  const networkError = network?.status ? null : `container runtime network not ready: ${described(network)}`;
  if (!runtime?.status)
    return { ...state, networkError, runtimeError: `container runtime not ready: ${described(runtime)}` };
  return {
    lastSyncMs: nowMs,
    networkError,
    runtimeError: null,
    handlers: handlersOf(answer),
    ...(answer.features && {
      features: { supplementalGroupsPolicy: answer.features.supplementalGroupsPolicy },
    }),
  };
}

/** Upstream runtimeErrors and networkErrors: what keeps the Node from being Ready. */
export function errorsOf(state: RuntimeState, nowMs: number): NonNullable<Vitals["errors"]> {
  const { lastSyncMs, runtimeError, networkError } = state;
  const runtime = runtimeError === null ? [] : [bounded(runtimeError)];
  if (lastSyncMs === null) runtime.unshift("container runtime status check may not have completed yet");
  else if (isOverdue(lastSyncMs, nowMs)) runtime.unshift(RUNTIME_DOWN);
  return {
    ...(runtime.length > 0 && { runtime }),
    ...(networkError !== null && { network: [bounded(networkError)] }),
  };
}

/** Is a sign of life from then too old by now? */
export function isOverdue(atMs: number, nowMs: number): boolean {
  return nowMs - atMs >= SYNC_THRESHOLD_MS;
}

/** Sorted by name, so that another order is no change. */
function handlersOf({ runtimeHandlers }: StatusAnswer): NonNullable<Facts["runtimeHandlers"]> {
  const handlers = runtimeHandlers.map(({ name, features }) => ({
    name,
    supportsRecursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
    supportsUserNamespaces: features?.userNamespaces ?? false,
  }));
  return handlers
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
    .slice(0, FACTS_LIMITS.runtimeHandlers);
}

/** RuntimeCondition.String; Go prints a missing one as <nil>. */
function described(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return "<nil>";
  const { type, status, reason, message } = condition;
  return `${type}=${status} reason:${reason} message:${message}`;
}

function bounded(text: string): string {
  return text.slice(0, LIMITS.textLength);
}
