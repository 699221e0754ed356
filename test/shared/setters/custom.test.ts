import { describe, test } from "vitest";
import { contained, type CustomSetter } from "../../../shared/setters/custom.ts";
import { expectOutcome, NOW, runSetter } from "./run-setter.ts";

/** Counts the phases of the machine's power supply, which its operator lets the shim report. */
const phases: CustomSetter =
  ({ custom, now, recordEvent }) =>
  (node) => {
    if (typeof custom["phases"] !== "number") return "the custom facts have no phases";
    node.status.phase = `${custom["phases"]} phases at ${now}`;
    recordEvent("Normal", "PhasesCounted", "counted");
    return null;
  };
const throwsAtOnce: CustomSetter = () => {
  throw new Error("no sensor");
};
const throwsAtWork: CustomSetter = () => (node) => {
  node.status.phase = "half done";
  throw new Error("sensor on fire");
};

describe("contained", () => {
  test.each([
    {
      name: "a setter that works → what it sets, and its event",
      setter: phases,
      expected: { status: { phase: `3 phases at ${NOW}` }, events: ["Normal PhasesCounted: counted"] },
    },
    {
      name: "a setter that fails → its error",
      setter: phases,
      custom: {},
      expected: { error: "the custom facts have no phases" },
    },
    {
      name: "a setter that cannot be made → an error that names it, as if it had failed",
      setter: throwsAtOnce,
      expected: { error: "custom setter throwsAtOnce threw: Error: no sensor" },
    },
    {
      name: "a setter that throws at work → an error that names it; what it had set stays",
      setter: throwsAtWork,
      expected: {
        status: { phase: "half done" },
        error: "custom setter throwsAtWork threw: Error: sensor on fire",
      },
    },
  ])("$name", ({ setter, custom = { phases: 3 }, expected }) => {
    const outcome = runSetter(({ recordEvent }) => contained(setter, { custom, now: NOW, recordEvent }));
    expectOutcome(outcome, expected);
  });
});
