// What the cluster object says in GET /metrics. Asks nobody: what is known is an argument.
import type { CheckResult } from "../../shared/deployment/check-result.ts";
import type { WatchState } from "../../shared/deployment/watch.ts";
import type { Durations } from "../metrics/durations.ts";
import type { Measured, Sample } from "../metrics/metrics.ts";
import type { TokenStatus } from "./token-chain.ts";

export interface KnownOfCluster {
  /** Of the apiserver. */
  apiserver: CheckResult;
  token: TokenStatus;
  /** null: the Nodes are not watched. */
  watch: WatchState | null;
  durations: Pick<Durations, "samples">;
}

const WATCH_STATES: readonly WatchState["state"][] = ["live", "down", "paused", "starting"];

export function clusterMetrics({ apiserver, token, watch, durations }: KnownOfCluster): Measured {
  const { expiresAt, renewFrom, lastFailure } = token;
  const isRenewed = renewFrom !== undefined || lastFailure !== undefined;
  return {
    rollcall_cluster_reachable: one(apiserver.state === "ok" ? 1 : 0),
    ...(expiresAt !== undefined && {
      rollcall_cluster_token_expiry_timestamp_seconds: one(Date.parse(expiresAt) / 1000),
    }),
    // Absent: nobody renews it, so that its end needs somebody sooner.
    ...(isRenewed && { rollcall_cluster_token_renewal_failed: one(lastFailure ? 1 : 0) }),
    ...(watch && {
      rollcall_watch_state: WATCH_STATES.map((state) => ({
        labels: { state },
        value: state === watch.state ? 1 : 0,
      })),
      rollcall_watch_nodes: one(watch.nodes),
      rollcall_watch_waiting_changes: one(watch.waiting),
    }),
    rollcall_apiserver_request_duration_seconds: durations.samples(),
  };
}

const one = (value: number): Sample[] => [{ labels: {}, value }];
