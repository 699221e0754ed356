// Tests the Node's Ready condition in each state of the runtime, with the texts of upstream pkg/kubelet/runtime.go.
import { expect, test } from "vitest";
import { readyCondition } from "../../../../../shared/setters/ready.ts";
import {
  errorsOf,
  type RuntimeState,
  stateAfter,
  UNKNOWN_STATE,
} from "../../../../../node-shim/sources/cri/monitor.ts";
import type { StatusAnswer } from "../../../../../node-shim/sources/cri/runtime-client.ts";
import type { DraftNode } from "../../../../../shared/setters/setter.ts";

const condition = (type: string, status: boolean, reason = "", message = "") => ({
  type,
  status,
  reason,
  message,
});
const READY = condition("RuntimeReady", true);
const NETWORK_READY = condition("NetworkReady", true);
const NO_CNI = condition(
  "NetworkReady",
  false,
  "NetworkPluginNotReady",
  "Network plugin returns error: cni plugin not initialized",
);

function answer(...conditions: ReturnType<typeof condition>[]): StatusAnswer {
  return { status: { conditions }, runtimeHandlers: [], features: undefined };
}

/** Returns the message of the Ready condition for this state of the runtime. */
function ready(state: RuntimeState, nowMs: number): string {
  const errors = errorsOf(state, nowMs);
  const node: DraftNode = {
    metadata: { name: "a" },
    spec: {},
    status: { capacity: { cpu: "1", memory: "1", pods: "1" } },
  };
  readyCondition(
    "2026-01-01T00:00:00Z",
    () => errors.runtime ?? null,
    () => errors.network ?? null,
    () => null,
    () => null,
    () => null,
    () => undefined,
    false,
  )(node);
  return node.status.conditions?.[0]?.message ?? "";
}

test.each<[string, [atMs: number, answer: StatusAnswer][], nowMs: number, message: string]>([
  [
    "before the first answer",
    [],
    0,
    "[container runtime status check may not have completed yet, network state unknown]",
  ],
  [
    "never an answer, for long → the same",
    [],
    90_000,
    "[container runtime status check may not have completed yet, network state unknown]",
  ],
  ["ready", [[0, answer(READY, NETWORK_READY)]], 0, "kubelet is posting ready status"],
  [
    "silent for just under 30 s",
    [[0, answer(READY, NETWORK_READY)]],
    29_999,
    "kubelet is posting ready status",
  ],
  ["silent for 30 s", [[0, answer(READY, NETWORK_READY)]], 30_000, "container runtime is down"],
  [
    "back after that",
    [
      [0, answer(READY, NETWORK_READY)],
      [60_000, answer(READY, NETWORK_READY)],
    ],
    60_000,
    "kubelet is posting ready status",
  ],
  [
    "no network",
    [[0, answer(READY, NO_CNI)]],
    0,
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
      "message:Network plugin returns error: cni plugin not initialized",
  ],
  [
    "no longer ready: not down until 30 s after it was",
    [
      [0, answer(READY, NETWORK_READY)],
      [5000, answer(condition("RuntimeReady", false, "Why", "so"), NETWORK_READY)],
    ],
    10_000,
    "container runtime not ready: RuntimeReady=false reason:Why message:so",
  ],
  [
    "not ready for long",
    [
      [0, answer(READY, NETWORK_READY)],
      [5000, answer(condition("RuntimeReady", false, "Why", "so"), NETWORK_READY)],
    ],
    30_000,
    "[container runtime is down, container runtime not ready: RuntimeReady=false reason:Why message:so]",
  ],
  [
    "never ready",
    [[0, answer(condition("RuntimeReady", false), NO_CNI)]],
    0,
    "[container runtime status check may not have completed yet, " +
      "container runtime not ready: RuntimeReady=false reason: message:, " +
      "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
      "message:Network plugin returns error: cni plugin not initialized]",
  ],
  [
    "neither condition, but two others",
    [[0, answer(condition("A", true), condition("B", true))]],
    0,
    "[container runtime status check may not have completed yet, container runtime not ready: <nil>, " +
      "container runtime network not ready: <nil>]",
  ],
  [
    "another condition that is false → still Ready",
    [[0, answer(READY, NETWORK_READY, condition("ContainerdHasNoDeprecationWarnings", false))]],
    0,
    "kubelet is posting ready status",
  ],
])("%s", (_name, answers, nowMs, message) => {
  const state = answers.reduce((state, [atMs, answer]) => stateAfter(state, answer, atMs), UNKNOWN_STATE);
  expect(ready(state, nowMs)).toBe(message);
});

test("a text longer than a report may hold → cut", () => {
  const state = stateAfter(
    UNKNOWN_STATE,
    answer(READY, condition("NetworkReady", false, "x".repeat(9000))),
    0,
  );
  expect(errorsOf(state, 0).network?.map(({ length }) => length)).toEqual([1024]);
});

test("handlers and features of a ready runtime → sorted, kept while it is not ready", () => {
  const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
  const told: StatusAnswer = {
    ...answer(READY, NETWORK_READY),
    runtimeHandlers: [
      { name: "runc", features: undefined },
      { name: "", features },
    ],
    features: { supplementalGroupsPolicy: true },
  };
  const state = stateAfter(UNKNOWN_STATE, told, 0);
  const expected = {
    handlers: [
      { name: "", supportsRecursiveReadOnlyMounts: true, supportsUserNamespaces: false },
      { name: "runc", supportsRecursiveReadOnlyMounts: false, supportsUserNamespaces: false },
    ],
    features: { supplementalGroupsPolicy: true },
  };
  expect(state).toMatchObject(expected);
  expect(stateAfter(state, answer(condition("RuntimeReady", false), NO_CNI), 5000)).toMatchObject(expected);
});
