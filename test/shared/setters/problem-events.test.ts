// Tests that each event of a machine's problem detectors is recorded once, and only if the grant allows its name.
import { expect, test } from "vitest";
import type { Problems } from "../../../shared/protocol/problems.ts";
import { problemEvents, type ProblemState } from "../../../shared/setters/problem-events.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const OOM = { n: 1, type: "Warning", reason: "OOMKilling", message: "Killed process 7" } as const;
const HUNG = {
  ...OOM,
  n: 2,
  reason: "DockerHung",
  condition: "KernelDeadlock",
  message: "docker:7",
} as const;
const [SAID_OOM, SAID_HUNG] = ["Warning OOMKilling: Killed process 7", "Warning DockerHung: docker:7"];
const both: Problems = { start: "a", events: [OOM, HUNG] };

test.each<
  [situation: string, before: ProblemState, problems: Problems | undefined, events: string[], n?: number]
>([
  ["no detector → no event", { start: "a", n: 2 }, undefined, [], 2],
  ["the first report with events → each", { start: "", n: 0 }, both, [SAID_OOM, SAID_HUNG]],
  ["a later report with one more → that one", { start: "a", n: 1 }, both, [SAID_HUNG]],
  ["the same report again → none", { start: "a", n: 2 }, both, []],
  ["an older report → none, and none again later", { start: "a", n: 3 }, both, [], 3],
  ["another process of the shim → each", { start: "b", n: 9 }, both, [SAID_OOM, SAID_HUNG]],
])("%s", (_, before, problems, events, n = 2) => {
  const state = { ...before };
  expectOutcome(
    runSetter(({ recordEvent }) =>
      problemEvents(
        state,
        problems,
        () => true,
        recordEvent,
        () => undefined,
      ),
    ),
    { events },
  );
  expect(state.n).toBe(n);
});

test.each([
  [
    "its reason is allowed, the condition's type is not → the event alone",
    "OOMKilling",
    [SAID_OOM],
    ["event DockerHung"],
  ],
  [
    "a condition's type is allowed → the event of its change",
    "KernelDeadlock",
    [SAID_HUNG],
    ["event OOMKilling"],
  ],
])("%s", (_, allowed, events, leftOut) => {
  const left: string[] = [];
  const mayRecord = (name: string) => name === allowed;
  expectOutcome(
    runSetter(({ recordEvent }) =>
      problemEvents({ start: "", n: 0 }, both, mayRecord, recordEvent, (part) => left.push(part)),
    ),
    { events },
  );
  expect(left).toEqual(leftOut);
});
