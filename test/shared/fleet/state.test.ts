import { describe, expect, it } from "vitest";
import {
  type FleetState,
  fleetStateOf,
  type StandingOfMachine,
  FLEET_STATES,
  parseStateBefore,
  parseStateChange,
  stateChangeText,
} from "../../../shared/fleet/state.ts";

const READY: StandingOfMachine = {
  isRevoked: false,
  isSilent: false,
  phase: "registered",
  isReady: true,
  hasFault: false,
};

describe("the state of a machine", () => {
  const cases: [situation: string, standing: Partial<StandingOfMachine>, state: FleetState][] = [
    ["registered and Ready", {}, "ready"],
    ["registered, and its Node is not Ready", { isReady: false }, "not-ready"],
    ["enrolled, and has not reported yet", { phase: null }, "not-ready"],
    ["registers for the first time", { phase: "registering", isReady: false }, "not-ready"],
    ["its shim cannot set up", { phase: "setup failed" }, "not-ready"],
    ["its facts are refused", { phase: "facts refused" }, "blocked"],
    ["waits for its Node", { phase: "waiting for Node" }, "blocked"],
    ["is cloned", { phase: "cloned" }, "blocked"],
    ["has two shims", { phase: "two shims" }, "blocked"],
    ["another machine has its name", { phase: "name taken" }, "blocked"],
    ["its Node was deleted", { phase: "node deleted" }, "blocked"],
    ["no apiserver answers", { phase: "apiserver unreachable" }, "cluster-unreachable"],
    ["the apiserver refuses", { phase: "apiserver refuses" }, "cluster-unreachable"],
    ["no apiserver is configured", { phase: "apiserver not configured" }, "cluster-unreachable"],
    [
      "no apiserver answers, and it reports a fault",
      { phase: "apiserver unreachable", hasFault: true },
      "not-ready",
    ],
    [
      "the apiserver refuses, and it reports a fault",
      { phase: "apiserver refuses", hasFault: true },
      "not-ready",
    ],
    ["cloned, and it reports a fault", { phase: "cloned", hasFault: true }, "blocked"],
    ["silent after a fault", { isSilent: true, phase: "apiserver unreachable", hasFault: true }, "silent"],
    ["silent, whatever its phase was", { isSilent: true, phase: "cloned" }, "silent"],
    ["revoked, in any state", { isRevoked: true, isSilent: true }, "revoked"],
  ];

  it.each(cases)("%s → %3$s", (_, status, state) => {
    expect(fleetStateOf({ ...READY, ...status })).toBe(state);
  });
});

it.each([
  [null, "ready", "ready"],
  ["ready", "silent", "ready → silent"],
] as const)("a line of history: from %s to %s → %s", (from, to, text) =>
  expect(stateChangeText(from, to)).toBe(text),
);

it("each line of history about a state is read as it was written", () => {
  for (const from of [null, ...FLEET_STATES])
    for (const to of FLEET_STATES) {
      expect(parseStateChange(stateChangeText(from, to))).toBe(to);
      expect(parseStateBefore(stateChangeText(from, to))).toBe(from);
    }
});

it.each(["", "ready → asleep", "ready → ", "registered"])("%j → no state", (text) =>
  expect(parseStateChange(text)).toBeNull(),
);
