// Describes the watch of the deployment's Nodes, in words for its operator.
import { type ApiError, apiErrorText, isForbidden } from "../kubernetes/api-error.ts";
import { type CheckResult, warning } from "./check-result.ts";

/** The state of the watch that the cluster object keeps on the Nodes. Times are milliseconds since 1970. */
export interface WatchState {
  /** `paused`: there is no Node to watch. `starting`: the watch has neither succeeded nor failed yet. */
  state: "live" | "down" | "paused" | "starting";
  nodes: number;
  /** The number of changed Nodes whose node objects have not been notified yet. */
  waiting: number;
  /** The number of Nodes that are not watched, because the watch has reached its limit of Nodes. */
  beyond: number;
  /** The time at which the watch failed; absent while it works. */
  downSinceMs?: number;
  error?: ApiError;
  /** The time of the apiserver's last answer to the watch; absent while the apiserver answers. */
  unansweredSinceMs?: number;
  /** Why the leases of machines without a socket cannot be listed; absent if they can. */
  leasesError?: ApiError;
  /** The time at which the Worker last listed all Nodes. */
  listedAtMs?: number;
}

const LATER = "what others do to a Node is noticed within minutes, and not seconds";

/** Describes the watch. `watch` is null if NODE_WATCH is off, or no apiserver is configured. */
export function checkWatch(watch: WatchState | null): CheckResult {
  const check = "watch";
  if (!watch) return { check, state: "ok", message: `off, by NODE_WATCH or without KUBE_URL: ${LATER}` };
  const { state, nodes, waiting, beyond } = watch;
  if (state === "down") return { check, ...downFault(watch) };
  if (beyond > 0)
    return { check, ...warning(`${beyond} Nodes are too many for it: of them, ${LATER}`, SPLIT) };
  if (state === "live" && watch.leasesError) return { check, ...leasesFault(watch.leasesError) };
  const words = { live: "live", paused: "there is no Node to watch", starting: "it begins" }[state];
  const counted = state === "live" ? `, ${nodes} Nodes, ${waiting} changes wait` : "";
  return { check, state: "ok", message: words + counted };
}

function leasesFault(error: ApiError) {
  const late = "the silence of a machine without a socket is noticed within five minutes";
  const message = `live, but leases cannot be listed: ${apiErrorText(error)}: ${late}`;
  const cure = isForbidden(error) ? "kubectl apply -f infra/rbac/rollcall.yaml" : SEE_CLUSTER_LOG;
  return warning(message, cure);
}

const SEE_CLUSTER_LOG = "see the Worker's log for `leases are not listed`";
const SPLIT = "divide the machines among several deployments";

function downFault({ downSinceMs = 0, error, listedAtMs }: WatchState) {
  const why = error ? apiErrorText(error) : "";
  const listed = listedAtMs === undefined ? "never" : new Date(listedAtMs).toISOString();
  const message = `down since ${new Date(downSinceMs).toISOString()}: ${why}; last listed: ${listed}; ${LATER}`;
  if (error?.kind === "unanswered" && error.cure !== undefined) return warning(message, error.cure);
  return warning(
    message,
    error && isForbidden(error)
      ? "kubectl apply -f infra/rbac/rollcall.yaml, which lets the account list and watch Nodes; or set NODE_WATCH to off"
      : "see that what is between the Worker and the apiserver lets an answer through that lasts for minutes",
  );
}
