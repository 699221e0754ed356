import { expect, test } from "vitest";
import { machinePath } from "../../../../infra/page/base/api.ts";

test.each([
  ["edge-1", "", "/v1/nodes/edge-1"],
  ["edge-1.b", "/timeline", "/v1/nodes/edge-1.b/timeline"],
  ["../tokens?x#y", "/history", "/v1/nodes/..%2Ftokens%3Fx%23y/history"],
])("%s, %s → %s", (name, what, path) => {
  expect(machinePath(name, what)).toBe(path);
});
