// Tests which requests' durations are counted, and in which bucket.
import { expect, it, test } from "vitest";
import { DURATION_BUCKETS, Durations } from "../../../../worker/metrics/metrics.ts";

const NODES = "https://kube.test/api/v1/nodes";

/** Counts one request of this duration, and returns the samples afterwards. */
async function after(tookMs: number, answer: Response | Error, url = NODES, init: RequestInit = {}) {
  let nowMs = 1000;
  const durations = new Durations(() => nowMs);
  const ask = durations.timed(async () => {
    nowMs += tookMs;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const outcome = await ask(url, init).catch((error: unknown) => error);
  return { outcome, samples: durations.samples() };
}

test.each<[situation: string, url: string, init: RequestInit, answer: Response | Error, labels: object]>([
  ["a list", NODES, {}, Response.json({}), { verb: "GET", code: "200" }],
  ["a watch", `${NODES}?watch=1`, { method: "GET" }, Response.json({}), { verb: "WATCH", code: "200" }],
  [
    "one that is refused",
    NODES,
    { method: "POST" },
    new Response("", { status: 403 }),
    { verb: "POST", code: "403" },
  ],
  ["one without an answer", NODES, {}, new Error("connection refused"), { verb: "GET", code: "none" }],
])("%s → counted, and answered as it was", async (_, url, init, answer, labels) => {
  const { outcome, samples } = await after(30, answer, url, init);
  expect(outcome).toBe(answer);
  expect(samples).toEqual([{ labels, value: { counts: expect.any(Array), sum: 0.03 }, sinceMs: 1030 }]);
});

test.each([
  [0, 0],
  [5, 0],
  [6, 1],
  [20_000, DURATION_BUCKETS.length - 1],
  [20_001, DURATION_BUCKETS.length],
  [-5, 0],
])("%i ms → bucket %i", async (ms, bucket) => {
  const { samples } = await after(ms, Response.json({}));
  const counts = [...DURATION_BUCKETS, Infinity].map((_, index) => (index === bucket ? 1 : 0));
  expect(samples).toMatchObject([{ value: { counts } }]);
});

it("two of one kind → one sample, which counts from the first one on", async () => {
  let nowMs = 0;
  const durations = new Durations(() => (nowMs += 10));
  const ask = durations.timed(async () => Response.json({}));
  await ask(NODES, {});
  await ask(NODES, {});
  expect(durations.samples()).toMatchObject([{ value: { sum: 0.02 }, sinceMs: 20 }]);
});
