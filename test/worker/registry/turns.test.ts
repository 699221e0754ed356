// Tests the turns of machines that enrol at the same time.
import { expect, it } from "vitest";
import { TURN_LIMITS, Turns } from "../../../worker/registry/turns.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";

const { atOnce, everyMs } = RATE_LIMITS.enrolments;
const NOW_MS = 1_000_000;

const OF_TOKEN = { token: "t1", unused: Infinity };

/** Returns turns after this number of machines, and the refusals of those machines. */
function after(machines: number) {
  const turns = new Turns();
  const taken = Array.from({ length: machines }, (_, at) => turns.take(`m-${at}`, NOW_MS, OF_TOKEN));
  return { turns, refused: taken.filter((each) => each !== null) };
}

it("at the limit of machines at once → none waits; one more → it waits", () => {
  expect(after(atOnce).refused).toEqual([]);
  expect(after(atOnce + 1).refused).toEqual([
    { reason: "not its turn", waitSeconds: 1, detail: "About 1 s: 1 machine is ahead." },
  ]);
});

it("1,900 machines are ahead → the wait and the number are in the detail", () => {
  expect(after(atOnce + 1900).refused.at(-1)).toEqual({
    reason: "not its turn",
    waitSeconds: 48,
    detail: "About 48 s: 1,900 machines are ahead.",
  });
});

it("a machine that comes back at its turn → enrols; too early → the rest of its wait; it loses no place", () => {
  const { turns } = after(atOnce + 400);
  const last = `m-${atOnce + 399}`;
  const turnMs = NOW_MS + 400 * everyMs;
  expect(turns.take(last, turnMs - 3000, OF_TOKEN)).toMatchObject({ waitSeconds: 3 });
  expect(turns.take("another", turnMs - 3000, OF_TOKEN)).toMatchObject({ waitSeconds: 4 });
  expect(turns.take(last, turnMs, OF_TOKEN)).toBeNull();
});

it("a machine that comes back later than its turn is kept → another turn", () => {
  const { turns } = after(atOnce + 1);
  const lateMs = NOW_MS + everyMs + TURN_LIMITS.keptMs;
  expect(turns.take(`m-${atOnce}`, lateMs, OF_TOKEN)).toBeNull();
  // The turns of the meantime were not used, so that as many machines as at first may enrol at once.
  for (let at = 1; at < atOnce; at++) expect(turns.take(`other-${at}`, lateMs, OF_TOKEN)).toBeNull();
  expect(turns.take("one-more", lateMs, OF_TOKEN)).toMatchObject({ waitSeconds: 1 });
});

it("at the longest wait → a turn; above it → no turn, and the machine asks again then", () => {
  const most = TURN_LIMITS.longestMs / everyMs;
  const { turns } = after(atOnce + most);
  const refusal = turns.take("one-more", NOW_MS, OF_TOKEN);
  expect(refusal).toMatchObject({ waitSeconds: TURN_LIMITS.longestMs / 1000 });
  expect(turns.take("another", NOW_MS, OF_TOKEN)).toEqual(refusal);
  expect(turns.take(`m-${atOnce + most - 1}`, NOW_MS + TURN_LIMITS.longestMs, OF_TOKEN)).toBeNull();
});

it("a clock that was put back → another turn, at most the longest wait ahead", () => {
  const { turns } = after(atOnce + 40);
  expect(turns.take(`m-${atOnce + 39}`, NOW_MS - 3_600_000, OF_TOKEN)).toMatchObject({ waitSeconds: 2 });
});
