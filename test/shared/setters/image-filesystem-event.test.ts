import { describe, expect, test } from "vitest";
import { imageFilesystemEvent } from "../../../shared/setters/image-filesystem-event.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const INVALID = "Warning InvalidDiskCapacity: invalid capacity 0 on image filesystem";

describe("imageFilesystemEvent", () => {
  test.each([
    { name: "a filesystem with capacity → no event", last: false, capacity: 1, events: [], after: false },
    { name: "its capacity becomes 0 → an event", last: false, capacity: 0, events: [INVALID], after: true },
    { name: "it is still 0 → no second event", last: true, capacity: 0, events: [], after: true },
    {
      name: "it has capacity again → no event, but the next 0 is one",
      last: true,
      capacity: 1,
      events: [],
      after: false,
    },
    {
      name: "its capacity is unknown → no event, and the last one stays",
      last: true,
      capacity: undefined,
      events: [],
      after: true,
    },
  ])("$name", ({ last, capacity, events, after }) => {
    const state = { hasNoCapacity: last };
    expectOutcome(
      runSetter(({ recordEvent }) => imageFilesystemEvent(state, capacity, recordEvent)),
      { events },
    );
    expect(state).toEqual({ hasNoCapacity: after });
  });
});
