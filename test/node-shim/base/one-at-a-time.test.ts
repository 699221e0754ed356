import { unreadable } from "../../../node-shim/base/reading.ts";
import { success } from "../../../shared/result.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { oneAtATime } from "../../../node-shim/base/one-at-a-time.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns calls that wait until the test answers them. */
function calls() {
  const started: { argument: string; answer: (text: string) => void; fail: (error: unknown) => void }[] = [];
  const call = (argument: string) =>
    new Promise<string>((answer, fail) => {
      started.push({ argument, answer, fail });
    });
  return { started, call };
}

const settled = () => vi.advanceTimersByTimeAsync(0);

test("an answer in time → the answer, and no timer is left", async () => {
  const { started, call } = calls();
  const reading = oneAtATime("statfs", call, 2000)("/data");
  await vi.advanceTimersByTimeAsync(1999);
  started[0]?.answer("free");
  expect(await reading).toEqual(success("free"));
  expect(vi.getTimerCount()).toBe(0);
});

test("a failure → its text", async () => {
  const { started, call } = calls();
  const reading = oneAtATime("statfs", call, 2000)("/data");
  await settled();
  started[0]?.fail(new Error("EIO"));
  expect(await reading).toEqual(unreadable("EIO"));
});

test("a call that throws → its text, and the next one runs", async () => {
  const read = oneAtATime(
    "statfs",
    (path) => {
      if (path === "bad") throw new Error("bad path");
      return Promise.resolve(path);
    },
    2000,
  );
  expect(await read("bad")).toEqual(unreadable("bad path"));
  expect(await read("good")).toEqual(success("good"));
});

test("two at once → the second starts when the first has answered", async () => {
  const { started, call } = calls();
  const read = oneAtATime("statfs", call, 2000);
  const both = Promise.all([read("/a"), read("/b")]);
  await settled();
  expect(started.map(({ argument }) => argument)).toEqual(["/a"]);
  started[0]?.answer("a");
  await settled();
  started[1]?.answer("b");
  expect(await both).toEqual([success("a"), success("b")]);
});

test("no answer in time → given up; refused at once until it returns, then called again", async () => {
  const { started, call } = calls();
  const read = oneAtATime("statfs", call, 2000);
  const first = read("/hung");
  await vi.advanceTimersByTimeAsync(2000);
  expect(await first).toEqual(unreadable("statfs /hung has not returned within 2000 ms", "late"));
  expect(await read("/other")).toEqual(unreadable("statfs /hung has not returned within 2000 ms", "late"));
  expect(started).toHaveLength(1);

  started[0]?.answer("late");
  await settled();
  const next = read("/hung");
  await settled();
  started[1]?.answer("free");
  expect(await next).toEqual(success("free"));
});
