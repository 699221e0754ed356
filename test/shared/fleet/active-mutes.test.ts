// Tests which mutes the page and the command line name as on, and how they describe a mute's machines.
import { expect, it } from "vitest";
import { activeMutes, MUTES_SHOWN } from "../../../shared/fleet/active-mutes.ts";
import { ALERT_STATES } from "../../../shared/protocol/receiver-api.ts";

const NOW_MS = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(NOW_MS + ms).toISOString();
const mute = (more: object = {}) => ({
  id: 1,
  selector: "",
  names: "edge-*",
  states: [...ALERT_STATES],
  from: at(-1000),
  until: at(1000),
  comment: "",
  who: "alice",
  ...more,
});

it.each([
  ["over a millisecond ago", mute({ until: at(-1) })],
  ["over now", mute({ until: at(0) })],
  ["begins in a millisecond", mute({ from: at(1) })],
])("a mute that is not on: %s → null", (_, given) => {
  expect(activeMutes([given], NOW_MS)).toBeNull();
});

it.each([
  ["begins now", { from: at(0) }, "machines named edge-*"],
  ["ends in a millisecond", { until: at(1) }, "machines named edge-*"],
  ["of all machines", { names: "" }, "all machines"],
  ["of a selector and a name", { selector: "site=b" }, "machines named edge-* and with site=b"],
  ["of three names", { names: "a,b,c" }, "machines named a, b, c"],
  ["of five names", { names: "a,b,c,d,e" }, "machines named a, b, c and 2 more"],
  ["of two states", { states: ["silent", "blocked"] }, "silent, blocked of machines named edge-*"],
])("a mute that is on: %s → described", (_, more, what) => {
  const given = mute(more);
  expect(activeMutes([given], NOW_MS)).toEqual({
    shown: [{ what, until: given.until, who: "alice" }],
    more: 0,
  });
});

it("one more mute than a notice describes → counted; a mute of all machines is first", () => {
  const some = Array.from({ length: MUTES_SHOWN }, () => mute());
  expect(activeMutes(some, NOW_MS)).toMatchObject({ more: 0 });
  const { shown, more } = activeMutes([...some, mute({ names: "" })], NOW_MS)!;
  expect([shown[0]?.what, shown.length, more]).toEqual(["all machines", MUTES_SHOWN, 1]);
});
