// Tests the messages about the watch of the Nodes that an operator reads, in each state of the watch.
import { expect, test } from "vitest";
import { checkWatch, type WatchState } from "../../../shared/deployment/watch.ts";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";

const AT = Date.UTC(2026, 0, 1);
const WELL: WatchState = { state: "live", nodes: 3, waiting: 2, beyond: 0, listedAtMs: AT };
const FORBIDDEN: ApiError = {
  kind: "status",
  status: { code: 403, reason: "Forbidden", message: "nodes is forbidden" },
};
const CUT: ApiError = { kind: "unanswered", message: "the watch ended at once" };
const down = (error: ApiError, more: Partial<WatchState> = {}): WatchState => ({
  ...WELL,
  state: "down",
  downSinceMs: AT + 1000,
  error,
  ...more,
});

test.each<[situation: string, watch: WatchState | null, state: string, message: RegExp, cure?: RegExp]>([
  ["is turned off", null, "ok", /^off, by NODE_WATCH or without KUBE_URL: .* within minutes/],
  ["is live", WELL, "ok", /^live, 3 Nodes, 2 changes wait$/],
  ["begins", { ...WELL, state: "starting" }, "ok", /^it begins$/],
  ["has nothing to watch", { ...WELL, state: "paused", nodes: 0 }, "ok", /^there is no Node to watch$/],
  [
    "has one Node more than it may have",
    { ...WELL, beyond: 1 },
    "warning",
    /^1 Nodes are too many for it/,
    /several deployments/,
  ],
  [
    "may not list or watch",
    down(FORBIDDEN),
    "warning",
    /^down since 2026-01-01T00:00:01.000Z: .*forbidden.*last listed: 2026-01-01T00:00:00.000Z/,
    /kubectl apply .*NODE_WATCH/,
  ],
  [
    "may not list leases",
    { ...WELL, leasesError: FORBIDDEN },
    "warning",
    /^live, but leases cannot be listed: .*forbidden: the silence of a machine without a socket/,
    /^kubectl apply -f infra.rbac.rollcall.yaml$/,
  ],
  [
    "gets no list of leases",
    { ...WELL, leasesError: CUT },
    "warning",
    /^live, but leases cannot be listed/,
    /the Worker's log/,
  ],
  ["is cut off by a proxy", down(CUT), "warning", /the watch ended at once/, /lasts for minutes/],
  [
    "gets answers that are not an apiserver's",
    down({ kind: "unanswered", message: "HTTP 530", cure: "see cloudflared's log" }),
    "warning",
    /HTTP 530/,
    /^see cloudflared's log$/,
  ],
  [
    "never received a list",
    { state: "down", nodes: 0, waiting: 0, beyond: 0, downSinceMs: AT, error: CUT },
    "warning",
    /last listed: never/,
    /lasts for minutes/,
  ],
  [
    "is down, and has too many Nodes: the outage comes first",
    down(CUT, { beyond: 1 }),
    "warning",
    /^down/,
    /minutes/,
  ],
])("a watch that %s", (_, watch, state, message, cure) => {
  const found = checkWatch(watch);
  expect(found).toMatchObject({ check: "watch", state, message: expect.stringMatching(message) });
  if (cure) expect(found.cure).toMatch(cure);
  else expect(found.cure).toBeUndefined();
});
