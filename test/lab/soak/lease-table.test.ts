// Tests the leases of the made-up apiserver: it checks versions like a real one.
import { expect, it } from "vitest";
import { LeaseTable } from "./lease-table.ts";

const PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const RENEWED = "2026-01-01T00:00:10.000000Z";
const leaseOf = (renewTime: string, resourceVersion?: string) =>
  JSON.stringify({ metadata: { name: "edge-1", resourceVersion }, spec: { renewTime } });

it("is created once, renewed with its version, and not with another one; renewals are reported", () => {
  const told: [string, number][] = [];
  const table = new LeaseTable((name, atMs) => told.push([name, atMs]));
  const ask = (method: string, path: string, body = "") => {
    const answer = table.answer(method, path, body);
    return answer && [answer.status, (JSON.parse(answer.text) as { metadata?: object }).metadata];
  };
  const edge = `${PATH}/edge-1`;
  expect(ask("GET", edge)?.[0]).toBe(404);
  expect(ask("PUT", edge, leaseOf(RENEWED))?.[0]).toBe(404);
  const [made, metadata] =
    ask("POST", `${PATH}?fieldManager=rollcall`, leaseOf("2026-01-01T00:00:00.000000Z")) ?? [];
  expect([made, metadata]).toMatchObject([201, { name: "edge-1", resourceVersion: "1" }]);
  expect(ask("POST", PATH, leaseOf(RENEWED))?.[0]).toBe(409);
  expect(ask("PUT", edge, leaseOf(RENEWED, "1"))).toEqual([
    200,
    { ...(metadata as object), resourceVersion: "2" },
  ]);
  expect(ask("PUT", edge, leaseOf(RENEWED, "1"))?.[0]).toBe(409);
  expect(ask("DELETE", edge)?.[0]).toBe(200);
  expect(ask("GET", edge)?.[0]).toBe(404);
  expect(told).toEqual([
    ["edge-1", Date.UTC(2026, 0, 1)],
    ["edge-1", Date.UTC(2026, 0, 1, 0, 0, 10)],
  ]);
});

it("other objects → null", () => {
  expect(new LeaseTable(() => undefined).answer("GET", "/api/v1/nodes/edge-1", "")).toBeNull();
});
