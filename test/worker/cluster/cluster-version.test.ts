// Tests which minor version the Nodes report for the apiservers' answers over time, and when an apiserver is asked.
import { expect, test } from "vitest";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import { failure, success } from "../../../shared/result.ts";
import { ClusterVersion } from "../../../worker/cluster/cluster-version.ts";
import type { ServerVersion } from "../../../worker/kube/kube-client.ts";

/** An answer to GET /version; null if none comes. */
type Answer = string | null;

/** A cluster object's version in virtual time. `stored` outlives an eviction. */
function cluster(stored: number | null = null) {
  const state = {
    stored,
    nowMs: Date.UTC(2026, 0, 1),
    answer: null as Answer,
    asked: 0,
    notes: [] as string[],
  };
  const ask = (): Promise<ApiResult<ServerVersion>> => {
    state.asked++;
    const { answer } = state;
    return Promise.resolve(
      answer === null
        ? failure({ kind: "unanswered", message: "no answer in time" })
        : success({ gitVersion: answer }),
    );
  };
  const open = () =>
    new ClusterVersion({
      ask,
      store: { get: () => state.stored, put: (minor) => void (state.stored = minor) },
      note: (text) => void state.notes.push(text),
      nowMs: () => state.nowMs,
    });
  return { state, open };
}

const of = (minor: number) => `v1.${minor}.2`;

test.each<[situation: string, answers: [minute: number, answer: Answer, reported: number | undefined][]]>([
  ["the first answer → at once", [[0, of(37), 37]]],
  [
    "no answer → not known, asked again in five minutes",
    [
      [0, null, undefined],
      [5, of(36), 36],
    ],
  ],
  [
    "an answer that is no version → as none",
    [
      [0, "unknown", undefined],
      [5, "v2.1.0", undefined],
    ],
  ],
  ["a provider's version → its minor version", [[0, "v1.36.3-gke.100", 36]]],
  [
    "lower → at once",
    [
      [0, of(37), 37],
      [60, of(36), 36],
    ],
  ],
  [
    "higher → after an hour in which all answers were higher",
    [
      [0, of(36), 36],
      [60, of(37), 36],
      [90, of(37), 36],
      [115, of(37), 36],
      [120, of(37), 37],
    ],
  ],
  [
    "some apiservers higher → the hour begins again after each lower answer",
    [
      [0, of(36), 36],
      [60, of(37), 36],
      [90, of(36), 36],
      [150, of(37), 36],
      [205, of(37), 36],
      [210, of(37), 37],
    ],
  ],
  [
    "two releases at once → the least of the hour's answers",
    [
      [0, of(35), 35],
      [60, of(37), 35],
      [90, of(36), 35],
      [120, of(37), 36],
    ],
  ],
  [
    "no answer during a rise → the other answers count",
    [
      [0, of(36), 36],
      [60, of(37), 36],
      [90, null, 36],
      [120, of(37), 37],
    ],
  ],
])("the apiservers' version: %s", async (_, answers) => {
  const { state, open } = cluster();
  const [startMs, version] = [state.nowMs, open()];
  for (const [minute, answer, reported] of answers) {
    Object.assign(state, { nowMs: startMs + minute * 60_000, answer });
    expect(await version.minor(), `minute ${minute}`).toBe(reported);
  }
});

test.each<[situation: string, first: Answer, next: Answer, minutes: number]>([
  ["it has not changed → after an hour", of(36), of(36), 60],
  ["it has fallen → after an hour", of(37), of(36), 60],
  ["it may rise → after five minutes, for an answer of each apiserver", of(36), of(37), 5],
  ["no answer came → after five minutes", of(36), null, 5],
])("asked again: %s", async (_, first, next, minutes) => {
  const { state, open } = cluster();
  const version = open();
  state.answer = first;
  // Callers at the same time share a request.
  await Promise.all([version.minor(), version.minor()]);
  Object.assign(state, { nowMs: state.nowMs + 3_600_000, answer: next });
  await version.minor();
  expect(state.asked).toBe(2);
  state.nowMs += minutes * 60_000 - 1;
  await version.minor();
  expect(state.asked).toBe(2);
  state.nowMs += 1;
  await version.minor();
  expect(state.asked).toBe(3);
});

test("an eviction → the version is stored, and a rise takes another hour", async () => {
  const { state, open } = cluster(36);
  state.answer = of(37);
  expect(await open().minor()).toBe(36);
  state.nowMs += 3_599_000;
  const later = open();
  expect(await later.minor()).toBe(36);
  state.nowMs += 3_600_000;
  expect([await later.minor(), state.stored]).toEqual([37, 37]);
});

test("a change → a line for operators, with the version that the Nodes report", async () => {
  const { state, open } = cluster();
  state.answer = of(38);
  await open().minor();
  expect(state.notes).toEqual([
    "the cluster has Kubernetes 1.38: with its next status, each Node reports 1.37",
  ]);
});
