import { describe, expect, test } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Setter } from "../../../shared/setters/setter.ts";
import { updateNode } from "../../../shared/node/update-node.ts";
import { failure, type Result, success } from "../../../shared/result.ts";

const labels = { "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", zone: "a" };
const unchanged = (): Result<boolean> => success(false);
const nothing: Setter = () => null;

describe("pod CIDR", () => {
  const node: Node = { metadata: { labels }, spec: { podCIDRs: ["10.0.0.0/24", "2001:db8::/64"] } };
  test.each<[string, Result<boolean>, boolean, string[]]>([
    ["known: nothing to tell", success(false), false, []],
    ["new: changed", success(true), true, []],
    ["cannot be set: changed, to be on the safe side", failure("no runtime"), true, ["no runtime"]],
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

  test("a Node without one does not ask", () => {
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

describe("setters", () => {
  test("all run in order, whatever the others say, and what they set before they failed stays", () => {
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

  test("the Node that was last known stays as it was, and lends what did not change", () => {
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
