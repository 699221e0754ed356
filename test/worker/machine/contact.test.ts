// Tests what a report shows in addition to the facts: the machine's clock, the end of a silence, a failed start.
import { describe, expect, it } from "vitest";
import { recordContact, recordSetupFailure } from "../../../worker/machine/contact.ts";
import { keptRecords } from "../support/kept-records.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

function contact(before: Record<string, unknown>, aheadMs = 0) {
  const state = keptRecords(before);
  const report = { machineTime: new Date(NOW_MS + aheadMs).toISOString() } as never;
  recordContact(state, report, NOW_MS, { boot: undefined, process: undefined });
  return { notes: state.notes, kept: Object.fromEntries(state.kept) };
}

describe("a machine's clock", () => {
  it.each([
    ["as far ahead as it may be", {}, MINUTE_MS, [], {}],
    ["as far behind as it may be", {}, -MINUTE_MS, [], {}],
    [
      "further ahead",
      {},
      MINUTE_MS + 1000,
      ["clock: the machine's clock is 61 s off"],
      { isSkewed: true, skewMs: 61_000 },
    ],
    [
      "further behind",
      {},
      -MINUTE_MS - 1000,
      ["clock: the machine's clock is -61 s off"],
      { isSkewed: true, skewMs: -61_000 },
    ],
    [
      "a minute further ahead → not worth a row",
      { isSkewed: true, skewMs: 61_000 },
      121_000,
      [],
      { isSkewed: true, skewMs: 61_000 },
    ],
    [
      "twice as far ahead",
      { isSkewed: true, skewMs: 61_000 },
      122_000,
      [],
      { isSkewed: true, skewMs: 122_000 },
    ],
    [
      "right again",
      { isSkewed: true, skewMs: 61_000 },
      0,
      ["clock: the machine's clock is right again"],
      { isSkewed: false },
    ],
  ])("%s", (_, before, aheadMs, notes, kept) => {
    expect(contact(before, aheadMs)).toEqual({ notes, kept });
  });
});

describe("a machine that was silent", () => {
  it.each([
    [
      "for a minute → heard of again",
      { silentSinceMs: NOW_MS - MINUTE_MS },
      ["silence: heard of again after 60 s"],
    ],
    ["and is no more → nothing", { silentSinceMs: null }, []],
  ])("%s", (_, before, notes) => {
    expect(contact(before)).toEqual({ notes, kept: { silentSinceMs: null } });
  });

  it("→ its Node may be deleted meanwhile, and was not Ready", () => {
    const node = { node: {}, readAgain: false };
    const { kept } = contact({ silentSinceMs: NOW_MS - MINUTE_MS, node });
    expect(kept).toEqual({ silentSinceMs: null, node: { node: {}, readAgain: true, hasLapsed: true } });
  });

  it("as far as the alarm could decide → the alarm's result no longer counts", () => {
    expect(contact({ apiserverBackSinceMs: NOW_MS }).kept).toEqual({});
  });
});

describe("a shim that could not start", () => {
  it.each([
    ["is an event", {}, "KubeletSetupFailed: no cgroups"],
    [
      "is one where the Node is its own",
      { registration: { phase: "registered" } },
      "KubeletSetupFailed: no cgroups",
    ],
    [
      "is omitted if another writer owns the Node",
      { registration: { phase: "name taken" } },
      "registration: no cgroups",
    ],
  ])("%s", (_, before, note) => {
    const state = keptRecords(before);
    recordSetupFailure(state, "no cgroups", NOW_MS);
    expect(state.notes).toEqual([note]);
  });
});
