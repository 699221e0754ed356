import { describe, expect, it } from "vitest";
import {
  type ApiError,
  apiErrorText,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
} from "../../../shared/kubernetes/api-error.ts";

const refusal = (code: number, reason?: string): ApiError => ({
  kind: "status",
  status: { code, ...(reason ? { reason } : {}) },
});

const kinds = { isNotFound, isForbidden, isConflict, isAlreadyExists };

describe("the kind of an apiserver's error", () => {
  it.each<{ situation: string; error: ApiError; is: string[] }>([
    { situation: "404 NotFound", error: refusal(404, "NotFound"), is: ["isNotFound"] },
    { situation: "403 Forbidden", error: refusal(403, "Forbidden"), is: ["isForbidden"] },
    { situation: "409 Conflict", error: refusal(409, "Conflict"), is: ["isConflict"] },
    {
      situation: "409 AlreadyExists is no conflict",
      error: refusal(409, "AlreadyExists"),
      is: ["isAlreadyExists"],
    },
    { situation: "404 without a reason, as of a proxy", error: refusal(404), is: ["isNotFound"] },
    { situation: "409 without a reason", error: refusal(409), is: ["isConflict"] },
    { situation: "the reason wins over the code", error: refusal(404, "Forbidden"), is: ["isForbidden"] },
    { situation: "500 InternalError", error: refusal(500, "InternalError"), is: [] },
    { situation: "no answer at all", error: { kind: "unanswered", message: "connection refused" }, is: [] },
  ])("$situation → $is", ({ error, is }) => {
    const names = Object.entries(kinds).filter(([, isOfKind]) => isOfKind(error));
    expect(names.map(([name]) => name)).toEqual(is);
  });

  it.each<{ error: ApiError; text: string }>([
    {
      error: { kind: "status", status: { code: 409, reason: "Conflict", message: "changed" } },
      text: "changed",
    },
    { error: refusal(409, "Conflict"), text: "Conflict" },
    { error: refusal(502), text: "status 502" },
    { error: { kind: "unanswered", message: "connection refused" }, text: "connection refused" },
  ])("as text: $text", ({ error, text }) => {
    expect(apiErrorText(error)).toBe(text);
  });
});
