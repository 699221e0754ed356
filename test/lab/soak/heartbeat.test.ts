// Tests which requests count as a machine's heartbeat, in addition to its lease's renewals.
import { expect, test } from "vitest";
import { heartbeatOf } from "./made-up-apiserver.ts";

const PATH = "/api/v1/nodes/sim-1/status";
const patch = (type: string, lastHeartbeatTime?: string) =>
  JSON.stringify({ status: { conditions: [{ type: "MemoryPressure" }, { type, lastHeartbeatTime }] } });
const AT = "2026-11-24T03:00:00Z";

test.each<[situation: string, request: [method: string, path: string, body: string], name: string | null]>([
  ["a status with Ready's heartbeat", ["PATCH", PATH, patch("Ready", AT)], "sim-1"],
  ["with the client's parameters", ["PATCH", `${PATH}?fieldManager=rollcall`, patch("Ready", AT)], "sim-1"],
  ["Ready without its heartbeat", ["PATCH", PATH, patch("Ready")], null],
  ["another condition's", ["PATCH", PATH, patch("DiskPressure", AT)], null],
  ["no conditions", ["PATCH", PATH, '{"metadata":{}}'], null],
  ["the Node itself", ["PATCH", "/api/v1/nodes/sim-1", patch("Ready", AT)], null],
  ["read", ["GET", PATH, ""], null],
])("%s", (_, request, name) => {
  expect(heartbeatOf(...request)).toBe(name);
});
