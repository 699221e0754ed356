// Tests the result of a probe of the apiserver, and how often a probe is sent.
import { describe, expect, it, test } from "vitest";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { failure, success } from "../../../shared/result.ts";
import { ApiserverProbe, PROBED_EVERY_MS } from "../../../worker/kube/probe.ts";

const refused = (code: number, more: object = {}): ApiResult<Node> =>
  failure({ kind: "status", status: { code, message: `status ${code}`, ...more } });
const unanswered = failure({ kind: "unanswered" as const, message: "no answer in time" });
const MISSING = refused(404, { reason: "NotFound", details: { kind: "nodes", name: "rollcall-readyz" } });

test.each<[situation: string, answer: ApiResult<Node>, state: string, said: RegExp]>([
  ["there is no such Node", MISSING, "ok", /accepts the token/],
  ["there is one", success({}), "ok", /accepts the token/],
  ["no answer", unanswered, "failed", /does not answer: no answer in time/],
  [
    "something else answers",
    failure({ kind: "unanswered", message: "HTTP 530", cure: "do this" }),
    "failed",
    /not answer: HTTP 530/,
  ],
  ["the token has ended", refused(401), "failed", /does not accept the token: status 401/],
  ["the account may not", refused(403, { reason: "Forbidden" }), "failed", /does not let .* read Nodes/],
  ["it is overloaded", refused(429), "failed", /answers 429/],
  ["it is no apiserver's path", refused(404), "failed", /answers 404/],
])("%s → %s", async (_, answer, state, said) => {
  const { finding } = await new ApiserverProbe(
    async () => answer,
    () => 0,
  ).probe();
  expect(finding).toMatchObject({ check: "apiserver", state, message: expect.stringMatching(said) });
  expect(finding.cure === undefined).toBe(state === "ok");
  if (!answer.ok && answer.error.kind === "unanswered" && answer.error.cure !== undefined)
    expect(finding.cure).toBe(answer.error.cure);
});

const NO_OBJECT = refused(404, { details: { kind: "nodefeatures" } });
test.each<[situation: string, answer: ApiResult<unknown> | null, state: string | undefined, cure?: RegExp]>([
  ["the Worker writes none", null, undefined],
  ["there is no such object", NO_OBJECT, "ok"],
  [
    "no CustomResourceDefinition",
    failure({ kind: "unanswered", message: "HTTP 404 without" }),
    "warning",
    /install/,
  ],
  ["the account may not", refused(403), "warning", /node-features.yaml/],
])("NodeFeatures: %s → %s", async (_, answer, state, cure) => {
  const ask = () => answer && Promise.resolve(answer);
  const { finding, features } = await new ApiserverProbe(
    async () => MISSING,
    () => 0,
    ask,
  ).probe();
  expect(finding.state).toBe("ok");
  expect(features?.state).toBe(state);
  if (cure) expect(features?.cure).toMatch(cure);
  const { features: beside } = await new ApiserverProbe(
    async () => unanswered,
    () => 0,
    ask,
  ).probe();
  expect(beside).toBeUndefined();
});

describe("how often a probe is sent", () => {
  function counted() {
    const asked = { times: 0, nowMs: 1_000_000, answer: MISSING };
    const ask = async () => {
      asked.times++;
      return asked.answer;
    };
    return { asked, probe: new ApiserverProbe(ask, () => asked.nowMs) };
  }

  it.each([
    ["within the time that an outcome is good", PROBED_EVERY_MS - 1, 1],
    ["after it", PROBED_EVERY_MS, 2],
    ["after the clock was set back", -1, 2],
  ])("again %s", async (_, laterMs, times) => {
    const { asked, probe } = counted();
    await probe.probe();
    asked.nowMs += laterMs;
    await probe.probe();
    expect(asked.times).toBe(times);
  });

  it("a thousand callers at once → one request, and all get its result", async () => {
    const { asked, probe } = counted();
    const outcomes = await Promise.all(Array.from({ length: 1000 }, () => probe.probe()));
    expect(asked.times).toBe(1);
    expect(new Set(outcomes).size).toBe(1);
  });

  it("a failure is cached no longer than a success", async () => {
    const { asked, probe } = counted();
    asked.answer = unanswered;
    expect((await probe.probe()).finding.state).toBe("failed");
    asked.answer = MISSING;
    expect((await probe.probe()).finding.state).toBe("failed");
    asked.nowMs += PROBED_EVERY_MS;
    expect(await probe.probe()).toMatchObject({ finding: { state: "ok" }, atMs: asked.nowMs });
  });
});
