// Tests which pods the Worker fails, removes and leaves alone, and the pace and waits of the watch of pods.
import { describe, expect, it, test } from "vitest";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import type { WatchEnd } from "../../../worker/kube/watch-stream.ts";
import {
  type Pod,
  STRANDED_POD_LIMITS,
  type StrandedPodDependencies,
  StrandedPods,
} from "../../../worker/cluster/stranded-pods.ts";

const FACTS_ONLY = { key: "rollcall.dev/facts-only", effect: "NoSchedule" };
const node = (owner: string, taints = [FACTS_ONLY]): Node => ({
  metadata: { name: "edge-7", annotations: { "rollcall.dev/owner": owner } },
  spec: { taints },
});

function pod(name: string, more: { [part in keyof Pod]?: object } = {}): Pod {
  return {
    metadata: { namespace: "default", name, uid: `uid-${name}`, resourceVersion: "5", ...more.metadata },
    spec: { nodeName: "edge-7", ...more.spec },
    status: { phase: "Pending", ...more.status },
  };
}

const status = (code: number): ApiError => ({ kind: "status", status: { code, reason: "" } });

/** Runs one watch that sends these pods and then ends. Returns the requests and the log's messages. */
async function watched(
  pods: readonly Pod[],
  { found = node("rollcall"), ...more }: Partial<StrandedPodDependencies> & { found?: Node } = {},
) {
  const requests: string[] = [];
  const messages: string[] = [];
  const stranded = new StrandedPods({
    deployment: "rollcall",
    watch: async ({ onChange }) => {
      for (const object of pods) onChange({ type: "ADDED", object, length: 100 });
      // Each pod takes some turns of the microtask queue; the end of a watch drops the pods that still wait.
      for (let turn = 0; turn < 20 * pods.length; turn++) await Promise.resolve();
      return { kind: "ended" };
    },
    isOurs: (name) => name === "edge-7",
    getNode: async (name) => {
      requests.push(`get ${name}`);
      return success(found);
    },
    fail: async ({ metadata }, why) => {
      requests.push(`fail ${metadata.name}: ${why.reason}`);
      return success({});
    },
    remove: async ({ metadata }) => {
      requests.push(`remove ${metadata.name}`);
      return success({});
    },
    log: ({ message }) => void messages.push(message),
    nowMs: () => 0,
    pause: () => Promise.resolve(),
    ...more,
  });
  await stranded.watch(new AbortController().signal);
  return { requests, messages, stranded };
}

const byJob = [{ apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u", controller: true }];
const byAnOwner = byJob.map((owner) => ({ ...owner, controller: false }));
const deletionTimestamp = "2026-01-01T00:00:00Z";

describe("a pod that is bound to a Node without a kubelet", () => {
  test.each<[situation: string, pod: Pod, done: string[]]>([
    ["no controller → Failed", pod("p"), ["get edge-7", "fail p: NoKubelet"]],
    [
      "an owner that is no controller → Failed",
      pod("p", { metadata: { ownerReferences: byAnOwner } }),
      ["get edge-7", "fail p: NoKubelet"],
    ],
    [
      "a controller, which would replace it for ever → stays",
      pod("p", { metadata: { ownerReferences: byJob } }),
      [],
    ],
    ["deleted → gone", pod("p", { metadata: { deletionTimestamp } }), ["get edge-7", "remove p"]],
    [
      "deleted, of a controller → gone",
      pod("p", { metadata: { deletionTimestamp, ownerReferences: byJob } }),
      ["get edge-7", "remove p"],
    ],
    ["a kubelet has accepted it → stays", pod("p", { status: { startTime: deletionTimestamp } }), []],
    ["not bound → stays", pod("p", { spec: { nodeName: "" } }), []],
    ["on a Node of another writer → stays", pod("p", { spec: { nodeName: "worker-1" } }), []],
    ["no longer Pending → stays", pod("p", { status: { phase: "Running" } }), []],
  ])("%s", async (_situation, one, done) => {
    expect((await watched([one])).requests).toEqual(done);
  });

  test.each<[situation: string, found: Node]>([
    ["of another deployment", node("other")],
    ["that runs pods: it lacks the taint", node("rollcall", [])],
  ])("the Node is one %s → the pod stays", async (_situation, found) => {
    expect((await watched([pod("p")], { found })).requests).toEqual(["get edge-7"]);
  });

  it("the message names the Node and a remedy", async () => {
    const said: string[] = [];
    const fail: StrandedPodDependencies["fail"] = async (_pod, { message }) => {
      said.push(message);
      return success({});
    };
    await watched([pod("p")], { fail });
    expect(said).toEqual([
      "Node edge-7 has no kubelet: no program can start this pod there. Run the pod on another Node.",
    ]);
  });

  test.each([
    ["Conflict: the watch sends the changed pod", 409, []],
    ["NotFound: the pod is gone", 404, []],
    ["Forbidden", 403, ["a stranded pod stays"]],
  ])("the apiserver answers %s", async (_situation, code, messages) => {
    const fail = () => Promise.resolve(failure(status(code)));
    expect((await watched([pod("p")], { fail })).messages).toEqual(messages);
  });
});

test.each([
  ["at the limit → each is handled", STRANDED_POD_LIMITS.aWatch, STRANDED_POD_LIMITS.aWatch],
  ["one more → the next watch handles it", STRANDED_POD_LIMITS.aWatch + 1, STRANDED_POD_LIMITS.aWatch],
])("pods of one watch: %s", async (_situation, sent, handled) => {
  const pods = Array.from({ length: sent }, (_, each) => pod(`p-${each}`));
  const { messages } = await watched(pods);
  expect(messages).toHaveLength(handled);
});

it("the watch fails each time → waits of 1 s to 5 min, and one line of the log", async () => {
  const FAILED: WatchEnd = { kind: "failed", error: status(403) };
  let nowMs = 0;
  const startedMs: number[] = [];
  const { stranded, messages } = await watched([], {
    watch: () => {
      startedMs.push(nowMs);
      return Promise.resolve(FAILED);
    },
    nowMs: () => nowMs,
  });
  for (nowMs = 0; nowMs <= 1_200_000; nowMs += 500) await stranded.watch(new AbortController().signal);
  const waits = startedMs.slice(1).map((atMs, each) => (atMs - (startedMs[each] ?? 0)) / 1000);
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(messages).toEqual(["stranded pods are not watched"]);
});
