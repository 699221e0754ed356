// Whether a Node has room for pods: its taint, and what the machine's join token says.
import { expect, test } from "vitest";
import type { NodeStatus, Taint } from "../../../shared/kubernetes/types.ts";
import { FACTS_ONLY_TAINT } from "../../../shared/node/ownership.ts";
import { withoutPods } from "../../../shared/node/without-pods.ts";

const OTHER: Taint = { key: "example.com/shop", effect: "NoSchedule" };
const ADVICE: Taint = { ...FACTS_ONLY_TAINT, effect: "PreferNoSchedule" };
const MUST = false;
const MAY_GO_WITHOUT = true;

test.each<[situation: string, taints: Taint[] | undefined, token: boolean, pods: string]>([
  ["tainted", [OTHER, FACTS_ONLY_TAINT], MUST, "0"],
  ["somebody has removed the taint", [OTHER], MUST, "0"],
  ["somebody has removed all taints", undefined, MUST, "0"],
  ["the token lets it go without, and it does", [OTHER], MAY_GO_WITHOUT, "110"],
  ["the token lets it go without, and it has no taints", undefined, MAY_GO_WITHOUT, "110"],
  ["the token lets it go without, and it does not", [FACTS_ONLY_TAINT], MAY_GO_WITHOUT, "0"],
  ["the token lets it go without, and it has the key with another effect", [ADVICE], MAY_GO_WITHOUT, "110"],
])("%s → allocatable for %4$s pods, and the capacity stays", (_, taints, token, pods) => {
  const status: NodeStatus = { capacity: { cpu: "4", pods: "110" }, allocatable: { cpu: "3", pods: "110" } };
  const allocatable = status.allocatable;
  const node = { metadata: {}, spec: { ...(taints && { taints }) }, status: { ...status } };
  expect(withoutPods(token)(node)).toBeNull();
  expect(node.status).toEqual({ ...status, allocatable: { cpu: "3", pods } });
  // The last known Node may share it.
  expect(allocatable).toEqual({ cpu: "3", pods: "110" });
});

test("no allocatable yet → none", () => {
  const node = { metadata: {}, spec: {}, status: {} };
  expect(withoutPods(MUST)(node)).toBeNull();
  expect(node.status).toEqual({});
});
