import { describe, expect, test } from "vitest";
import { apiFault, ApiRefusal } from "../../../infra/local/kube-admin.ts";

describe("a failed request to the apiserver → one line", () => {
  const status = { kind: "Status", code: 403, message: 'nodes "a" is forbidden:\nno' };
  test.each([
    ["its Status", JSON.stringify(status), 'the apiserver refused: HTTP 403, nodes "a" is forbidden:'],
    [
      "its Status, indented",
      JSON.stringify(status, null, 2),
      'the apiserver refused: HTTP 403, nodes "a" is forbidden:',
    ],
    ["another body", "<html>", "the apiserver refused: HTTP 403"],
    ["no body", "", "the apiserver refused: HTTP 403"],
  ])("%s", (_situation, body, line) => {
    expect(apiFault(new ApiRefusal(403, body))).toBe(line);
  });

  test("no answer → the fault of the connection", () => {
    expect(apiFault(new Error("connect ECONNREFUSED 127.0.0.1:1\n  at x"))).toBe(
      "connect ECONNREFUSED 127.0.0.1:1",
    );
  });
});
