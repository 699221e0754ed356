// Tests how often a machine's changed features evaluate the rules. test/stories/rules.test.ts has what rules result in.
import { expect, it } from "vitest";
import { Ruling } from "../../../worker/machine/ruling.ts";
import { RATE_LIMITS } from "../../../worker/storage/token-bucket.ts";
import { keptRecords } from "../support/kept-records.ts";

const { atOnce, everyMs } = RATE_LIMITS.rulings;

it("each evaluation ends the object → four at once, and then one in ten minutes", async () => {
  const { records } = keptRecords({ ruled: { revision: 1, isDue: true } });
  let [nowMs, evaluations] = [0, 0];
  const features = () => {
    evaluations++;
    throw new Error("the object has ended");
  };
  const reports = async (count: number) => {
    for (let report = 0; report < count; report++) {
      const ruling = new Ruling({
        state: { records, facts: { features } },
        registry: () => ({ ruleSet: () => Promise.resolve({ revision: 1, stamp: "1", objects: "[]" }) }),
        timer: undefined,
        nowMs: () => nowMs,
      });
      if (ruling.isDue()) await ruling.keepUp();
    }
  };
  await reports(2 * atOnce);
  expect(evaluations).toBe(atOnce);
  nowMs += everyMs;
  await reports(2);
  expect(evaluations).toBe(atOnce + 1);
});
