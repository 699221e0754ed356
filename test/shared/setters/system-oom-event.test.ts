import { describe, expect, test } from "vitest";
import { type OomState, systemOomEvent } from "../../../shared/setters/system-oom-event.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const OOM = "Warning SystemOOM: System OOM encountered";
const NEVER: OomState = { kills: null, bootID: "" };
const known = (kills: number, bootID = "b-1"): OomState => ({ kills, bootID });

describe("systemOomEvent", () => {
  test.each<{
    name: string;
    last: OomState;
    kills: number | undefined;
    bootID?: string | undefined;
    events?: string[];
    after: OomState;
  }>([
    { name: "seen for the first time → no event for earlier kills", last: NEVER, kills: 3, after: known(3) },
    { name: "as many as before → no event", last: known(3), kills: 3, after: known(3) },
    { name: "one more → an event", last: known(3), kills: 4, events: [OOM], after: known(4) },
    { name: "many more at once → one event", last: known(0), kills: 90, events: [OOM], after: known(90) },
    {
      name: "another boot, none in it → no event",
      last: known(3),
      kills: 0,
      bootID: "b-2",
      after: known(0, "b-2"),
    },
    {
      name: "another boot, with kills in it → an event, for any former number",
      last: known(3),
      kills: 2,
      bootID: "b-2",
      events: [OOM],
      after: known(2, "b-2"),
    },
    {
      name: "an older shim, which does not count → nothing changes",
      last: known(3),
      kills: undefined,
      after: known(3),
    },
    {
      name: "the boot is unknown → nothing changes",
      last: known(3),
      kills: 4,
      bootID: undefined,
      after: known(3),
    },
  ])("$name", ({ last, kills, events = [], after, ...more }) => {
    const state = { ...last };
    const bootID = "bootID" in more ? more.bootID : "b-1";
    expectOutcome(
      runSetter(({ recordEvent }) => systemOomEvent(state, kills, bootID, recordEvent)),
      { events },
    );
    expect(state).toEqual(after);
  });
});
