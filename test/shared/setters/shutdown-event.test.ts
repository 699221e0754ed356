import { describe, expect, test } from "vitest";
import { shutdownEvent } from "../../../shared/setters/shutdown-event.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const DETECTED = "Normal Shutdown: Shutdown manager detected shutdown event";
const CANCELLED = "Normal Shutdown: Shutdown manager detected shutdown cancellation";

describe("shutdownEvent", () => {
  test.each([
    { name: "the machine starts to shut down → an event", last: false, now: true, events: [DETECTED] },
    { name: "still shutting down → no second event", last: true, now: true, events: [] },
    {
      name: "the shutdown was cancelled, or the machine is back → an event",
      last: true,
      now: false,
      events: [CANCELLED],
    },
    { name: "the machine runs → no event", last: false, now: false, events: [] },
  ])("$name", ({ last, now, events }) => {
    const state = { isShuttingDown: last };
    expectOutcome(
      runSetter(({ recordEvent }) => shutdownEvent(state, now, recordEvent)),
      { events },
    );
    expect(state).toEqual({ isShuttingDown: now });
  });
});
