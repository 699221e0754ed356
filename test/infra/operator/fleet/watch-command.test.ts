// Tests rollcall watch: the lines for changes of machines, and the end of the command.
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { type Answered, type FakeWorker, fakeWorker, play } from "../played.ts";

let worker: FakeWorker;
let states: Record<string, string>;
/** Further machines, each of which waits for a name: the name, by the time when the machine began to wait. */
let waiting: Record<string, string>;
let next: Answered[];
beforeAll(async () => {
  worker = await fakeWorker(() => {
    const machines = Object.entries(states).map(([name, state]) => ({
      name,
      state,
      since: "2026-01-01T00:00:00Z",
      why: state === "silent" ? "nothing is heard of it" : "",
    }));
    for (const [since, name] of Object.entries(waiting))
      machines.push({ name, state: "pending", since, why: "" });
    return next.shift() ?? { body: { machines, counts: { matching: {}, fleet: {} }, cursor: null } };
  });
});
afterAll(() => worker.close());
beforeEach(() => {
  states = { "b-1": "silent", "b-2": "ready" };
  waiting = {};
  next = [];
  worker.asked.length = 0;
});

const watch = (args: string[], steps: (() => void)[] = []) =>
  play(["watch", "-l", "site=b", ...args], { url: worker.url, whileWaiting: () => steps.shift()?.() });

it("until all are ready → a line for each, then 0", async () => {
  const steps = [
    () => undefined,
    () => (states = { "b-1": "ready" }),
    () => (states = { "b-1": "ready", "b-3": "not-ready" }),
  ];
  const back = () => (states = { "b-1": "ready", "b-3": "ready" });
  states["b-2"] = "blocked";
  const { code, stdout } = await watch(
    ["--until", "ready"],
    [...steps.slice(0, 1), () => (states = { "b-1": "not-ready" }), steps[2] as () => void, back],
  );
  expect(code).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "12:00:00Z  b-1  silent  nothing is heard of it",
    "12:00:00Z  b-2  blocked",
    "12:00:04Z  b-1  silent → not-ready",
    "12:00:04Z  b-2  blocked → no longer matches",
    "12:00:06Z  b-1  not-ready → ready",
    "12:00:06Z  b-3  not-ready",
    "12:00:08Z  b-3  not-ready → ready",
    "",
  ]);
  expect(worker.asked[0]).toMatchObject({ query: { selector: "site=b", sort: "name" } });
});

test.each<[situation: string, step: () => void, line: string]>([
  ["its own changes are told", () => (states["b-2"] = "not-ready"), "b-2  ready → not-ready"],
  ["so is a second one", () => (waiting["2026-01-01T11:00:00Z"] = "b-2"), "b-2  pending"],
  ["so is the end of it", () => (waiting = {}), "b-2  pending → no longer matches"],
])("a name that another machine asks for as well → %s", async (_, step, line) => {
  states = { "b-2": "ready" };
  waiting = { "2026-01-01T10:00:00Z": "b-2" };
  const { stdout } = await watch(["--for", "4s"], [step]);
  expect(stdout.trimEnd().split("\n")).toEqual([
    "12:00:00Z  b-2  ready",
    "12:00:00Z  b-2  pending",
    `12:00:02Z  ${line}`,
  ]);
});

test.each<[situation: string, args: string[], code: number]>([
  ["the time is over, and they are not", ["--until", "ready", "--for", "1m"], 6],
  ["the time is over, and nothing was waited for", ["--for", "10s"], 0],
  ["they are already", ["--until", "ready,silent"], 0],
])("%s → %j ends with %i", async (_, args, code) => {
  expect(await watch(args)).toMatchObject({ code, stderr: "" });
});

it("nobody matches → that is not what was waited for", async () => {
  states = {};
  expect(await watch(["--until", "ready", "--for", "10s"])).toMatchObject({ code: 6, stdout: "" });
});

it("a Worker that fails for a moment → goes on; five times → ends", async () => {
  const failing = { status: 500, body: { title: "It fails" } };
  const whole = { body: { machines: [], counts: { matching: {}, fleet: {} }, cursor: null } };
  next = [whole, failing, failing, failing, failing];
  expect(await watch(["--for", "20s"])).toMatchObject({ code: 0, stderr: "" });
  next = [whole, failing, failing, failing, failing, failing];
  expect(await watch(["--for", "20s"])).toMatchObject({ code: 1, stderr: "rollcall: It fails. \n" });
  next = [failing];
  expect(await watch(["--for", "20s"])).toMatchObject({ code: 1 });
});

it("-o jsonl → an object a line", async () => {
  const { stdout } = await watch(["-o", "jsonl", "--for", "1s"]);
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { at: "2026-01-01T12:00:00.000Z", name: "b-1", from: null, to: "silent", why: "nothing is heard of it" },
    { at: "2026-01-01T12:00:00.000Z", name: "b-2", from: null, to: "ready", why: "" },
  ]);
});

test.each<[args: string[], message: RegExp]>([
  [["--until", "asleep"], /"asleep" is none of ready, not-ready/],
  [["--for", "soon"], /must be a duration/],
  [["-o", "yaml"], /-o yaml is for what ends: use jsonl/],
])("%j → 2", async (args, says) => {
  expect(await watch(args)).toEqual({ code: 2, stdout: "", stderr: expect.stringMatching(says) });
});
