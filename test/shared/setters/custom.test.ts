import { describe, expect, test } from "vitest";
import page from "../../../docs/custom-setters.md?raw";
import { licenceCondition } from "../../../examples/licence-condition.ts";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import example from "../../../examples/licence-condition.ts?raw";
import { draftOf } from "../../../shared/node/update-node.ts";
import {
  contained,
  type CustomSetter,
  customSetters,
  type CustomSources,
} from "../../../shared/setters/custom.ts";
import { expectOutcome, NOW, runSetter } from "./run-setter.ts";

/** A custom setter that counts the phases of the machine's power supply, which an operator's drop-in reports. */
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
      name: "a setter whose factory throws → an error that names it, like a failure",
      setter: throwsAtOnce,
      expected: { error: "custom setter throwsAtOnce threw: Error: no sensor" },
    },
    {
      name: "a setter that throws while it runs → an error that names it; its changes before that stay",
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

test("the page shows the tested example", () => {
  expect(page).toContain(example);
});

test("nothing is added to the kubelet's setters by default", () => {
  expect(customSetters).toEqual([]);
});

describe("the example of docs/custom-setters.md", () => {
  const ready = { type: "Ready", status: "True" };
  const custom = { licenceUntil: "2026-01-01T00:00:10Z" };
  const ignore = (): void => {};

  test("a licence that runs out changes the condition, and an event says so once", () => {
    const events: string[] = [];
    const recordEvent: CustomSources["recordEvent"] = (type, reason) => events.push(`${type} ${reason}`);
    const node = draftOf({ status: { conditions: [ready] } });
    for (const now of ["2026-01-01T00:00:09Z", "2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"]) {
      licenceCondition({ custom, now, recordEvent })(node);
    }
    expect(node.status.conditions).toEqual([
      {
        type: "LicenceExpired",
        status: "True",
        reason: "LicenceHasExpired",
        message: "the licence expired on 2026-01-01T00:00:10Z",
        lastHeartbeatTime: "2026-01-01T00:00:20Z",
        lastTransitionTime: "2026-01-01T00:00:10Z",
      },
      ready,
    ]);
    expect(events).toEqual(["Warning LicenceHasExpired"]);
  });

  test.each([[{}], [{ licenceUntil: true }], [{ licenceUntil: "soon" }]])(
    "without a time (%j) it fails and sets nothing",
    (custom) => {
      const node = draftOf({ status: { conditions: [ready] } });
      const setter = licenceCondition({ custom, now: "2026-01-01T00:00:00Z", recordEvent: ignore });
      expect(setter(node)).toBe("the custom facts have no time in licenceUntil");
      expect(node.status.conditions).toEqual([ready]);
    },
  );
});
