// Tests what a face may state of a machine whose reports change their vitals.
import { describe, expect, it } from "vitest";
import { Heard, LATE_MS } from "./truth.ts";
import { WELL } from "./world.ts";

const NOW_MS = 1_000_000;
const DOWN = { ...WELL, errors: { runtime: ["container runtime is down"] } };

describe("a machine that was not ready for minutes", () => {
  /** A machine whose reports have stated since NOW_MS that it is not ready. */
  function notReady(): Heard {
    const heard = new Heard(NOW_MS - LATE_MS);
    heard.message(NOW_MS, DOWN);
    return heard;
  }

  it("and reports that it is ready, before its answer → a face may state both", () => {
    const heard = notReady();
    const nowMs = NOW_MS + 2 * LATE_MS;
    expect(heard.mayBeReady(nowMs)).toBe(false);
    heard.states(nowMs, WELL);
    expect([heard.mayBeReady(nowMs), heard.mayBeNotReady(nowMs)]).toEqual([true, true]);
  });

  it("and reports that it is ready, without an answer for 45 s → a face may not state that it is ready", () => {
    const heard = notReady();
    heard.states(NOW_MS + 2 * LATE_MS, WELL);
    expect(heard.mayBeReady(NOW_MS + 3 * LATE_MS)).toBe(true);
    expect(heard.mayBeReady(NOW_MS + 3 * LATE_MS + 1)).toBe(false);
  });
});
