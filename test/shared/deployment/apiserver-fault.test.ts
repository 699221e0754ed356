import { expect, it } from "vitest";
import { apiserverFault } from "../../../shared/deployment/apiserver-fault.ts";

const found = (check: string, state: string, message: string) => ({
  check,
  state,
  message,
  checkedAt: "2026-01-01T12:00:00Z",
  since: "2026-01-01T11:45:00Z",
});

it.each([
  ["it works", [found("apiserver", "ok", "it accepts the token")], null],
  ["another check failed", [found("registry", "failed", "it does not answer")], null],
  ["no check", [], null],
  [
    "it failed",
    [found("registry", "ok", ""), found("apiserver", "failed", "it does not answer: gone")],
    { since: "2026-01-01T11:45:00Z", text: "does not answer: gone" },
  ],
  [
    "it failed, with a sentence as the reason",
    [found("apiserver", "failed", "it does not answer: Network connection lost.")],
    { since: "2026-01-01T11:45:00Z", text: "does not answer: Network connection lost" },
  ],
])("%s", (_, checks, fault) => {
  expect(apiserverFault({ checks })).toEqual(fault);
});
