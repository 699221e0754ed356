import { ApiException } from "@kubernetes/client-node";
import { describe, expect, test } from "vitest";
import { apiFault } from "../../../infra/local/api-fault.ts";

describe("a failed request to the apiserver → one line", () => {
  const status = { kind: "Status", code: 403, message: 'nodes "a" is forbidden:\nno' };
  test.each([
    ["its Status, as an object", status, 'the apiserver refused: HTTP 403, nodes "a" is forbidden:'],
    [
      "its Status, as text",
      JSON.stringify(status),
      'the apiserver refused: HTTP 403, nodes "a" is forbidden:',
    ],
    ["another body", "<html>", "the apiserver refused: HTTP 403"],
    ["no body", undefined, "the apiserver refused: HTTP 403"],
  ])("%s", (_situation, body, line) => {
    expect(apiFault(new ApiException(403, "m", body, { "x-secret": "s" }))).toBe(line);
  });

  test("no answer → the fault of the connection", () => {
    expect(apiFault(new Error("connect ECONNREFUSED 127.0.0.1:1\n  at x"))).toBe(
      "connect ECONNREFUSED 127.0.0.1:1",
    );
  });
});
