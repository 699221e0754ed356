import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Node, NodeStatus } from "../../../shared/kubernetes/types.ts";
import { nodeStatusHasChanged, updateNode } from "../../../shared/node/update-node.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { Setter } from "../../../shared/setters/setter.ts";
import { nodeInfo } from "../setters/node-info.ts";

const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", zone: "a" };
const unchanged = (): Result<boolean> => success(false);
const nothing: Setter = () => null;

describe("pod CIDR", () => {
  const node: Node = { metadata: { labels }, spec: { podCIDRs: ["10.0.0.0/24", "2001:db8::/64"] } };
  test.each<[string, Result<boolean>, boolean, string[]]>([
    ["known: no change", success(false), false, []],
    ["new: changed", success(true), true, []],
    ["cannot be set: counts as changed", failure("no runtime"), true, ["no runtime"]],
  ])("%s", (_, outcome, changed, errors) => {
    const asked: string[] = [];
    const update = updateNode(
      node,
      (podCIDRs) => {
        asked.push(podCIDRs);
        return outcome;
      },
      "linux",
      "amd64",
      [],
    );
    expect(update).toEqual({ node: { ...node, status: {} }, changed, errors });
    expect(asked).toEqual(["10.0.0.0/24,2001:db8::/64"]);
  });

  test("a Node without one does not call it", () => {
    const ask = (): Result<boolean> => failure("asked");
    expect(updateNode({ metadata: { labels } }, ask, "linux", "amd64", []).errors).toEqual([]);
  });
});

describe("required labels", () => {
  test.each([
    ["there: unchanged", labels, false],
    ["no labels at all", undefined, true],
    ["os missing", { "kubernetes.io/arch": "amd64", zone: "a" }, true],
    ["architecture missing", { "kubernetes.io/os": "linux", zone: "a" }, true],
    ["architecture wrong", { ...labels, "kubernetes.io/arch": "arm64" }, true],
  ])("%s", (_, before, changed) => {
    const original: Node = { metadata: before ? { labels: before } : {} };
    const update = updateNode(original, unchanged, "linux", "amd64", [nothing]);
    expect(update.changed).toBe(changed);
    expect(update.node.metadata.labels).toEqual({
      ...before,
      "kubernetes.io/os": "linux",
      "kubernetes.io/arch": "amd64",
    });
    expect(original.metadata?.labels).toBe(before);
  });
});

describe("a field that an older apiserver drops", () => {
  type Fields = Pick<NodeStatus, "features" | "runtimeHandlers"> & {
    info?: Pick<NonNullable<NodeStatus["nodeInfo"]>, "swap" | "runningInUserNamespace">;
  };
  const statusOf = ({ info, ...fields }: Fields, phase = ""): NodeStatus => ({
    phase,
    nodeInfo: { ...nodeInfo({}), ...info },
    ...fields,
  });
  const FIELDS: [name: string, one: Fields, another: Fields][] = [
    [
      "runningInUserNamespace",
      { info: { runningInUserNamespace: false } },
      { info: { runningInUserNamespace: true } },
    ],
    ["swap", { info: { swap: { capacity: 1 } } }, { info: { swap: { capacity: 2 } } }],
    [
      "features",
      { features: { supplementalGroupsPolicy: true } },
      { features: { supplementalGroupsPolicy: false } },
    ],
    ["runtimeHandlers", { runtimeHandlers: [{ name: "runc" }] }, { runtimeHandlers: [{ name: "kata" }] }],
  ];
  describe.each(FIELDS)("%s", (_name, one, another) => {
    test.each<[situation: string, was: Fields, is: Fields, phase: string, changed: boolean]>([
      ["the apiserver's Node lacks it → no change, because an apiserver may drop it", {}, one, "", false],
      ["another part has changed → the write has it as well", {}, one, "Running", true],
      ["the apiserver keeps it, equal → no change", one, one, "", false],
      ["the apiserver keeps it, another value → changed", one, another, "", true],
      ["an older shim does not send it → removed", one, {}, "", true],
    ])("%s", (_situation, was, is, phase, changed) => {
      const status = statusOf(is, phase);
      const setter: Setter = (node) => {
        node.status = status;
        return null;
      };
      const original: Node = { metadata: { labels }, status: statusOf(was) };
      const update = updateNode(original, unchanged, "linux", "amd64", [setter]);
      expect(update.changed).toBe(changed);
      expect(update.node.status).toEqual(status);
    });
  });
});

describe("setters", () => {
  test("all run in order, also after a failure, and changes before a failure stay", () => {
    const fails: Setter = (node) => {
      node.status.phase = "Running";
      return "no luck";
    };
    const appends: Setter = (node) => {
      node.status.phase = `${node.status.phase ?? ""}!`;
      return null;
    };
    const update = updateNode({ metadata: { labels } }, unchanged, "linux", "amd64", [fails, appends]);
    expect(update.errors).toEqual(["no luck"]);
    expect(update.node.status.phase).toBe("Running!");
    expect(update.changed).toBe(true);
  });

  test("the last known Node does not change, and shares its unchanged parts", () => {
    const original: Node = { metadata: { labels }, status: { phase: "Pending", images: [{ names: ["a"] }] } };
    const before = structuredClone(original);
    const setsPhase: Setter = (node) => {
      node.status.phase = "Running";
      return null;
    };
    const { node } = updateNode(original, unchanged, "linux", "amd64", [setsPhase]);
    expect(original).toEqual(before);
    expect(node.status.images).toBe(original.status?.images);
  });
});

describe("a status has changed", () => {
  const text = fc.constantFrom("", "a", "b");
  const time = fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-02T00:00:00Z");
  const resources = fc.dictionary(
    fc.constantFrom("cpu", "memory", "example.com/gpu"),
    fc.constantFrom("1", "1000m", "2Gi"),
  );
  const flag = fc.boolean();
  const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });

  const fields = {
    capacity: resources,
    allocatable: resources,
    phase: text,
    conditions: some(
      fc.record({
        type: text,
        status: text,
        reason: text,
        message: text,
        lastHeartbeatTime: time,
        lastTransitionTime: time,
      }),
    ),
    addresses: some(fc.record({ type: text, address: text })),
    daemonEndpoints: fc.record({ kubeletEndpoint: fc.record({ Port: fc.nat(2) }) }),
    images: some(fc.record({ names: some(text), sizeBytes: fc.nat(2) })),
    volumesInUse: some(text),
    volumesAttached: some(fc.record({ name: text, devicePath: text })),
    config: fc.record({
      error: text,
      assigned: fc.record({ configMap: fc.record({ name: text, namespace: text, kubeletConfigKey: text }) }),
    }),
    runtimeHandlers: some(fc.record({ name: text, features: fc.record({ userNamespaces: flag }) })),
    features: fc.record({ supplementalGroupsPolicy: flag }),
    declaredFeatures: some(text),
  } satisfies { [Field in keyof NodeStatus]: fc.Arbitrary<NodeStatus[Field]> };
  const status: fc.Arbitrary<NodeStatus> = fc.record(fields, { requiredKeys: [] });

  test("a status has not changed from itself, nor from an equal one, for any content", () => {
    fc.assert(
      fc.property(status, (original) => {
        expect(nodeStatusHasChanged(original, original)).toBe(false);
        expect(nodeStatusHasChanged(original, structuredClone(original))).toBe(false);
      }),
    );
  });

  test("a change counts in both directions", () => {
    fc.assert(
      fc.property(status, status, (a, b) => {
        expect(nodeStatusHasChanged(a, b)).toBe(nodeStatusHasChanged(b, a));
      }),
    );
  });

  test("neither heartbeat times nor the order of conditions of different types are a change", () => {
    const conditions = fc.uniqueArray(
      fields.conditions.map(([first]) => first ?? { type: "", status: "" }),
      {
        selector: ({ type }) => type,
      },
    );
    fc.assert(
      fc.property(conditions, time, (original, lastHeartbeatTime) => {
        const current = original.toReversed().map((condition) => ({ ...condition, lastHeartbeatTime }));
        expect(nodeStatusHasChanged({ conditions: original }, { conditions: current })).toBe(false);
      }),
    );
  });

  test.each([
    ["the same instant in another zone", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", false],
    ["the same instant with a fraction of zero", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z", false],
    ["a nanosecond later", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", true],
    ["less than a nanosecond later", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.0000000009Z", false],
  ])("transition time, %s → changed: %j", (_, before, after, changed) => {
    const at = (lastTransitionTime: string): NodeStatus => ({
      conditions: [{ type: "A", status: "True", lastTransitionTime }],
    });
    expect(nodeStatusHasChanged(at(before), at(after))).toBe(changed);
  });
});
