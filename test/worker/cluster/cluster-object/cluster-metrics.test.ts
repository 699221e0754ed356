// Tests the metrics of the cluster object in each of its states.
import { expect, test } from "vitest";
import type { Sample } from "../../../../worker/metrics/metrics.ts";
import { clusterMetrics, type KnownOfCluster } from "../../../../worker/cluster/cluster-object.ts";
import { withKnownLabels } from "../../support/metric-labels.ts";

const ok = { check: "apiserver", state: "ok", message: "" } as const;
const failure = { at: "2026-01-01T00:00:00.000Z", reason: "Unanswered", message: "" };
const WELL: KnownOfCluster = {
  apiserver: ok,
  token: { source: "secret" },
  watch: null,
  durations: { samples: () => [] },
};

/** Returns the samples by name and state, for example `{ "rollcall_watch_state live": 1 }`. */
function said(known: Partial<KnownOfCluster>): Record<string, unknown> {
  const entries = Object.entries(withKnownLabels(clusterMetrics({ ...WELL, ...known })));
  return Object.fromEntries(
    entries.flatMap(([name, samples]) =>
      (samples as Sample[]).map(({ labels, value }) => [[name, ...Object.values(labels)].join(" "), value]),
    ),
  );
}
const SAID = { rollcall_cluster_reachable: 1 };

test.each<[situation: string, known: Partial<KnownOfCluster>, expected: Record<string, number>]>([
  ["a token without an end, which is not renewed, and no watch", {}, SAID],
  [
    "a token that is renewed",
    {
      token: {
        source: "secret",
        expiresAt: "2026-01-02T00:00:00.000Z",
        renewFrom: "2026-01-01T12:00:00.000Z",
      },
    },
    {
      ...SAID,
      rollcall_cluster_token_renewal_failed: 0,
      rollcall_cluster_token_expiry_timestamp_seconds: 1_767_312_000,
    },
  ],
  [
    "an apiserver that does not answer",
    { apiserver: { ...ok, state: "failed" } },
    { ...SAID, rollcall_cluster_reachable: 0 },
  ],
  [
    "a token that could not be renewed",
    { token: { source: "renewed", expiresAt: "2026-01-02T00:00:00.000Z", lastFailure: failure } },
    {
      ...SAID,
      rollcall_cluster_token_renewal_failed: 1,
      rollcall_cluster_token_expiry_timestamp_seconds: 1_767_312_000,
    },
  ],
  [
    "a watch that is down",
    { watch: { state: "down", nodes: 7, waiting: 2, beyond: 0 } },
    {
      ...SAID,
      "rollcall_watch_state live": 0,
      "rollcall_watch_state down": 1,
      "rollcall_watch_state paused": 0,
      "rollcall_watch_state starting": 0,
      rollcall_watch_nodes: 7,
      rollcall_watch_waiting_changes: 2,
    },
  ],
])("%s", (_, known, expected) => {
  expect(said(known)).toEqual(expected);
});
