import { describe, expect, it } from "vitest";
import { fastNodeStatusUpdate, syncNodeStatus } from "../../vectors/upstream/node-status-loop.ts";
import {
  type HeartbeatState,
  type HeartbeatSteps,
  isUpdateStatusPeriodExpired,
  updateNodeStatus,
} from "../../../shared/node/heartbeat.ts";
import type { ApiError } from "../../../shared/kubernetes/api-error.ts";
import type { JsonObject } from "../../../shared/kubernetes/json.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { nodeSchema } from "../../../shared/kubernetes/patch/node-schema.ts";
import { draftOf, updateNode } from "../../../shared/node/update-node.ts";
import { failure, success, valueOr } from "../../../shared/result.ts";
import type { Setter } from "../../../shared/setters/setter.ts";
import { applyStrategicMergePatch } from "../../../infra/local/apiserver/patch/strategic-merge-patch.ts";
import { nodeInfo } from "../setters/node-info.ts";

const MINUTE = 60_000;
const REQUIRED = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" };
const known: Node = { metadata: { name: "node-1" }, status: { phase: "Pending" } };
const unreachable: ApiError = { kind: "unanswered", message: "connection refused" };

describe("isUpdateStatusPeriodExpired", () => {
  const expired = (sinceMs: number, delayAfterNodeStatusChangeMs: number) =>
    isUpdateStatusPeriodExpired(
      { now: () => sinceMs, nodeStatusReportFrequencyMs: 5 * MINUTE },
      { lastStatusReportTimeMs: 0, delayAfterNodeStatusChangeMs },
    );

  it.each([
    { situation: "just before the period's end", sinceMs: 5 * MINUTE - 1, delayMs: 0, isExpired: false },
    { situation: "at its end", sinceMs: 5 * MINUTE, delayMs: 0, isExpired: true },
    {
      situation: "a nanosecond before a longer one's end",
      sinceMs: 6 * MINUTE,
      delayMs: MINUTE + 1e-6,
      isExpired: false,
    },
    { situation: "at a longer one's end", sinceMs: 6 * MINUTE, delayMs: MINUTE, isExpired: true },
    { situation: "at a shorter one's end", sinceMs: 4 * MINUTE, delayMs: -MINUTE, isExpired: true },
  ])("$situation → $isExpired", ({ sinceMs, delayMs, isExpired }) => {
    expect(expired(sinceMs, delayMs)).toBe(isExpired);
  });

  it("never written by this process → true", () => {
    const state = { lastStatusReportTimeMs: null, delayAfterNodeStatusChangeMs: 0 };
    expect(isUpdateStatusPeriodExpired({ now: () => 0, nodeStatusReportFrequencyMs: MINUTE }, state)).toBe(
      true,
    );
  });
});

/**
 * Returns the steps for a Node whose phase the setters change. `answers` are the answers to its patches, in order.
 */
function setup(answers: (Node | ApiError)[], phase = "Running") {
  const attempts: number[] = [];
  const patches: JsonObject[] = [];
  const marked: (readonly string[])[] = [];
  let repeatedFailures = 0;
  const steps: HeartbeatSteps = {
    readNode: (attempt) => {
      attempts.push(attempt);
      return Promise.resolve(success(known));
    },
    updateNode: (original) => {
      const node = draftOf(original);
      const changed = node.status.phase !== phase;
      node.status.phase = phase;
      return { node, changed, errors: ["no images"] };
    },
    patchNodeStatus: (_, patch) => {
      patches.push(patch);
      const answer = answers.shift() ?? known;
      return Promise.resolve(
        "kind" in answer && "message" in answer ? failure(answer as ApiError) : success(answer as Node),
      );
    },
    now: () => 1000,
    random: () => 0.75,
    nodeStatusReportFrequencyMs: 5 * MINUTE,
    markVolumesAsReportedInUse: (volumes) => marked.push(volumes),
    onRepeatedHeartbeatFailure: () => {
      repeatedFailures++;
    },
  };
  const state: HeartbeatState = { lastStatusReportTimeMs: 500, delayAfterNodeStatusChangeMs: 0 };
  return { steps, state, attempts, patches, marked, failures: () => repeatedFailures };
}

describe("updateNodeStatus", () => {
  it("unchanged within the period → nothing is sent, and the Node is the one that was read", async () => {
    const { steps, state, patches, marked } = setup([], "Pending");
    expect(await updateNodeStatus(steps, state)).toEqual(
      success({ outcome: "unchanged", node: known, errors: ["no images"] }),
    );
    expect(patches).toEqual([]);
    expect(marked).toEqual([[]]);
    expect(state).toEqual({ lastStatusReportTimeMs: 500, delayAfterNodeStatusChangeMs: 0 });
  });

  it("changed → the difference is sent, and the next period is shifted", async () => {
    const answer: Node = { ...known, status: { phase: "Running" } };
    const { steps, state, patches } = setup([answer]);
    expect(await updateNodeStatus(steps, state)).toMatchObject(success({ outcome: "patched", node: answer }));
    expect(patches).toEqual([{ status: { phase: "Running" } }]);
    expect(state).toEqual({ lastStatusReportTimeMs: 1000, delayAfterNodeStatusChangeMs: 75_000 });
  });

  it("refused four times → the fifth try still counts, and each reads the Node again", async () => {
    const { steps, state, attempts, failures } = setup(Array.from({ length: 4 }, () => unreachable));
    expect(await updateNodeStatus(steps, state)).toMatchObject(success({ outcome: "patched" }));
    expect(attempts).toEqual([0, 1, 2, 3, 4]);
    expect(failures()).toBe(3);
  });

  it("refused five times → failed, with the last error, and not recorded as written", async () => {
    const { steps, state, attempts, failures } = setup(Array.from({ length: 9 }, () => unreachable));
    expect(await updateNodeStatus(steps, state)).toEqual(failure(unreachable));
    expect(attempts).toHaveLength(5);
    expect(failures()).toBe(4);
    expect(state.lastStatusReportTimeMs).toBe(500);
  });
});

describe("runningInUserNamespace, reported every 10 s, and changed after 11 minutes", () => {
  it.each<[apiserver: string, keepsField: boolean, writtenAtSeconds: number[], shown: boolean | undefined]>([
    ["an apiserver of 1.37 keeps it → the change is written at once", true, [300, 600, 660, 960], true],
    ["an apiserver of 1.36 drops it → only periodic writes", false, [300, 600, 900], undefined],
  ])("%s", async (_, keepsField, writtenAtSeconds, shown) => {
    let stored: Node = {
      metadata: { name: "node-1", labels: REQUIRED },
      status: { nodeInfo: nodeInfo({ bootID: "b" }) },
    };
    let nowMs = 0;
    const writtenAt: number[] = [];
    const { steps, state } = setup([]);
    const setter: Setter = (node) => {
      node.status.nodeInfo = nodeInfo({ bootID: "b", runningInUserNamespace: nowMs >= 11 * MINUTE });
      return null;
    };
    const heartbeat: HeartbeatSteps = {
      ...steps,
      readNode: () => Promise.resolve(success(stored)),
      updateNode: (original) => updateNode(original, () => success(false), "linux", "amd64", [setter]),
      patchNodeStatus: (original, patch) => {
        const applied = applyStrategicMergePatch(original as object as JsonObject, patch, nodeSchema);
        stored = valueOr(applied, {});
        if (!keepsField) delete stored.status?.nodeInfo?.runningInUserNamespace;
        writtenAt.push(nowMs / 1000);
        return Promise.resolve(success(stored));
      },
      now: () => nowMs,
      random: () => 0.5,
    };
    Object.assign(state, { lastStatusReportTimeMs: 0 });
    for (; nowMs <= 16 * MINUTE; nowMs += 10_000) await updateNodeStatus(heartbeat, state);
    expect(writtenAt).toEqual(writtenAtSeconds);
    expect(stored.status?.nodeInfo?.runningInUserNamespace).toBe(shown);
  });
});

describe("syncNodeStatus", () => {
  it("not registered → no heartbeat", async () => {
    const { steps, state, attempts } = setup([]);
    const outcome = await syncNodeStatus(steps, state, () => Promise.resolve(false));
    expect(outcome).toBe("not registered");
    expect(attempts).toEqual([]);
  });
});

describe("fastNodeStatusUpdate", () => {
  it("a Node that has no Ready condition yet → not done, and the runtime is not read", async () => {
    const { steps, state } = setup([]);
    const never = () => Promise.reject(new Error("not to be called"));
    expect(await fastNodeStatusUpdate(steps, state, false, never, never)).toBe(false);
  });
});
