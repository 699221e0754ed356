// Tests the shim's next step after a failed enrolment.
import { describe, expect, it } from "vitest";
import { afterEnrolment, atItsTurn } from "../../../node-shim/worker-link/enrol.ts";
import type { Reason } from "../../../shared/protocol/answers.ts";
import { failure, success } from "../../../shared/result.ts";
import { problem } from "../../../worker/problems.ts";

const refused = (reason: Reason, retryAfterMs?: number) => ({
  reason: "refused" as const,
  problem: problem(reason, { title: "Title", detail: "Detail." }),
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

describe("a failed enrolment", () => {
  it.each([
    [
      "the name is another machine's, at the earliest",
      refused("name-pinned"),
      0,
      30_000,
      /^waiting for an operator: .*Detail.*token-7$/,
    ],
    ["the name is another machine's, at the latest", refused("name-pinned"), 0.999, 59_970, /^waiting/],
    ["the Worker sets a longer wait", refused("name-pinned", 90_000), 0, 90_000, /^waiting/],
    ["the Worker has a fault", refused("internal"), 0.5, 2500, /trying again$/],
    ["the Worker is not configured", refused("not-configured"), 0.5, 2500, /Title\. Detail\.; trying again$/],
    ["its signature arrived too late", refused("challenge-stale"), 0.5, 2500, /trying again$/],
    ["its address is over a limit", refused("rate-limited", 60_000), 0.5, 60_000, /trying again$/],
    ["many machines are ahead", refused("busy", 40_000), 0.5, 40_000, /^waiting to enrol: Detail\.$/],
    ["the Worker has a fault and sets a wait", refused("internal", 7000), 0.5, 7000, /trying again$/],
    [
      "the Worker cannot be reached",
      { reason: "failed" as const, message: "no" },
      0.5,
      2500,
      /failed: no; trying again$/,
    ],
  ])("%s → tries again after that wait, and logs it", (_, fault, random, waitMs, say) => {
    const next = afterEnrolment(fault, "token-7", 1, () => random);
    expect(next.waitMs).toBeCloseTo(waitMs);
    expect(next.message).toMatch(say);
  });

  it.each([
    [1, 5000],
    [2, 10_000],
    [4, 40_000],
    [5, 60_000],
    [50, 60_000],
  ])("%i failures in a row → waits up to %i ms", (failures, waitMs) => {
    expect(afterEnrolment(refused("internal"), "token-7", failures, () => 1).waitMs).toBe(waitMs);
  });

  it.each<Reason>(["token-refused", "wrong-origin", "unauthenticated", "invalid-body"])(
    "%s → ends with advice",
    (reason) => {
      expect(() => afterEnrolment(refused(reason), "token-7", 1, Math.random)).toThrow(
        /^enrolment refused: Title\. Detail\. Join token: token-7$/,
      );
    },
  );
});

describe("an enrolment at its turn", () => {
  const enrolled = success({ kid: "kid", ticket: "ticket" });
  const busy = failure(refused("busy", 7000));
  const unproven = failure(refused("unauthenticated"));
  it.each([
    ["other machines are ahead twice → waits twice", [busy, busy, enrolled], enrolled, [7000, 7000]],
    ["no time in the answer → waits five seconds", [failure(refused("busy")), enrolled], enrolled, [5000]],
    ["the Worker has another reason → returns the refusal at once", [unproven, enrolled], unproven, []],
  ])("%s", async (_, answers, expected, waits) => {
    const waited: number[] = [];
    const wait = (ms: number) => Promise.resolve(void waited.push(ms));
    expect(await atItsTurn(() => Promise.resolve(answers[waited.length]!), wait)).toBe(expected);
    expect(waited).toEqual(waits);
  });

  it("the caller stops → returns the refusal", async () => {
    const never = () => Promise.reject(new Error("waited"));
    expect(await atItsTurn(() => Promise.resolve(busy), never, AbortSignal.abort())).toBe(busy);
  });
});
