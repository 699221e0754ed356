// Tests that `singleFlight` runs its work once at a time, and that at most one run waits for the present run.
import { expect, it } from "vitest";
import { singleFlight } from "../../worker/paced.ts";

/** Returns work whose runs end when the test ends them. */
function work() {
  const runs: PromiseWithResolvers<number>[] = [];
  const call = singleFlight(() => {
    runs.push(Promise.withResolvers());
    return runs.at(-1)!.promise;
  });
  return { runs, call };
}

/** Lets all resolved promises continue. */
const settled = async () => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

it("a call → runs at once; calls during it → wait for one more run, and get its result", async () => {
  const { runs, call } = work();
  const first = call();
  const during = [call(), call()];
  await settled();
  expect(runs).toHaveLength(1);
  runs[0]!.resolve(1);
  await settled();
  expect(runs).toHaveLength(2);
  const last = call();
  await settled();
  expect(runs).toHaveLength(2);
  runs[1]!.resolve(2);
  await settled();
  expect(runs).toHaveLength(3);
  runs[2]!.resolve(3);
  expect(await Promise.all([first, ...during, last])).toEqual([1, 2, 2, 3]);
});

it("a run that fails → only its own call fails; the next one runs", async () => {
  const { runs, call } = work();
  const first = call().catch(String);
  const next = call();
  runs[0]!.reject(new Error("broken"));
  await settled();
  runs[1]!.resolve(2);
  expect(await Promise.all([first, next])).toEqual(["Error: broken", 2]);
});

it("a call after a run → runs at once", async () => {
  const { runs, call } = work();
  const first = call();
  runs[0]!.resolve(1);
  await first;
  await settled();
  void call();
  expect(runs).toHaveLength(2);
});
