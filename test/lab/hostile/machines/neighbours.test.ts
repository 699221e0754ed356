// Tests the comparison of the cluster before and after a run, without the differences that heartbeats cause.
import { expect, it, test } from "vitest";
import type { Admin } from "./cluster.ts";
import { differences, notReady, snapshotOf } from "./neighbours.ts";

/** Returns a cluster with one Node, lease and namespace each. `different` changes the Node. */
const cluster = (different: object = {}, name = "honest-0"): Admin => {
  const node = {
    metadata: { name, resourceVersion: "1", managedFields: [{ manager: "kubelet", time: "1" }] },
  };
  const items = {
    "/api/v1/nodes": [{ ...node, ...different }],
    "/api/v1/namespaces": [{ metadata: { name: "n" } }],
  };
  return (_method, path) =>
    Promise.resolve({ status: 200, body: { items: items[path as keyof typeof items] ?? [] } });
};
const isHostile = (name: string) => name.startsWith("hostile-");
const metadata = (more: object) => ({
  metadata: { name: "honest-0", managedFields: [{ manager: "kubelet" }], ...more },
});

test.each<[situation: string, Admin, found: unknown[]]>([
  ["nothing", cluster(), []],
  ["a heartbeat", cluster(metadata({ resourceVersion: "2" })), []],
  ["the time of a write", cluster(metadata({ managedFields: [{ manager: "kubelet", time: "2" }] })), []],
  [
    "who wrote",
    cluster(metadata({ managedFields: [{ manager: "rollcall" }] })),
    [expect.stringMatching(/^\/api\/v1\/nodes\/honest-0: was .*kubelet.*, is .*rollcall/)],
  ],
  ["a label", cluster(metadata({ labels: { a: "b" } })), [expect.stringContaining("honest-0: was")]],
  [
    "another Node",
    cluster({ metadata: { name: "new" } }),
    ["/api/v1/nodes/honest-0 is gone", "/api/v1/nodes/new is new"],
  ],
  ["a hostile machine's Node", cluster({}, "hostile-00"), ["/api/v1/nodes/honest-0 is gone"]],
])("%s", async (_, after, found) => {
  const [was, is] = [await snapshotOf(cluster(), isHostile), await snapshotOf(after, isHostile)];
  expect(differences(was, is)).toEqual(found);
});

it.each<[situation: string, ready: string, renewedAt: string, found: unknown[]]>([
  ["Ready, its lease fresh", "True", "2026-01-01T00:00:00.000000Z", []],
  ["not Ready", "False", "2026-01-01T00:00:00.000000Z", [expect.stringContaining("a is not Ready")]],
  ["the last moment of its lease", "True", "2025-12-31T23:59:20.001000Z", []],
  ["its lease over", "True", "2025-12-31T23:59:20.000000Z", ["a: its lease was not renewed for 40000 ms"]],
  ["never renewed", "True", "", ["a: its lease was not renewed for NaN ms"]],
])("a Node that is %s", async (_, ready, renewTime, found) => {
  const answers: Record<string, object> = {
    nodes: { status: { conditions: [{ type: "Ready", status: ready }] } },
    leases: { spec: { renewTime, leaseDurationSeconds: 40 } },
  };
  const admin: Admin = (_method, path) =>
    Promise.resolve({ status: 200, body: answers[path.split("/").at(-2)!] });
  expect(await notReady(admin, ["a"], Date.UTC(2026, 0, 1))).toEqual(found);
});
