// Within which range of a machine's clock nothing is recorded: what records it is asked, millisecond by millisecond.
import { describe, expect, test } from "vitest";
import { isOtherSkew, MAX_SKEW_MS, unrecordedSkewMs } from "../../../../shared/quiet/quiet.ts";

describe("nothing is recorded", () => {
  test.each<
    [situation: string, isSkewed: boolean, recordedMs: number, range: readonly [number, number] | null]
  >([
    ["of a clock that is right", false, 0, [-60_000, 60_000]],
    ["of one that is a little ahead", true, 60_000, [60_001, 120_000]],
    ["of one that is far ahead", true, 3_600_000, [1_800_000, 5_400_000]],
    ["of one that is an odd number of seconds ahead", true, 121_000, [60_500, 181_500]],
    ["of one that is behind", true, -61_000, [-121_000, -60_001]],
    ["of one that is far behind", true, -3_600_000, [-5_400_000, -1_800_000]],
    ["never, where it is not known by how much it was off", true, 0, null],
  ])("%s", (_, isSkewed, skewMs, range) => {
    expect(unrecordedSkewMs({ isSkewed, skewMs })).toEqual(range);
    if (!range) return;
    const [from, to] = range;
    const isRecorded = (nowMs: number) =>
      Math.abs(nowMs) > MAX_SKEW_MS !== isSkewed || (isSkewed && isOtherSkew(nowMs, skewMs));
    expect([from - 1, from, to, to + 1].map(isRecorded)).toEqual([true, false, false, true]);
  });
});
