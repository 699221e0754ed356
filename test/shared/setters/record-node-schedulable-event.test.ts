import { describe, expect, test } from "vitest";
import type { NodeSpec } from "../../../shared/kubernetes/types.ts";
import { recordNodeSchedulableEvent } from "../../../shared/setters/record-node-schedulable-event.ts";
import { recordNodeStatusEvent } from "../../../shared/setters/record-node-status-event.ts";
import { expectOutcome, runSetter } from "./run-setter.ts";

const CORDONED = "Normal NodeNotSchedulable: Node node-1 status is now: NodeNotSchedulable";
const UNCORDONED = "Normal NodeSchedulable: Node node-1 status is now: NodeSchedulable";

interface Situation {
  name: string;
  /** true if the Node was cordoned at the last run. */
  last: boolean;
  spec: NodeSpec;
  events: string[];
}

const situations: Situation[] = [
  { name: "cordoned → an event", last: false, spec: { unschedulable: true }, events: [CORDONED] },
  { name: "uncordoned → an event", last: true, spec: { unschedulable: false }, events: [UNCORDONED] },
  {
    name: "uncordoned by kubectl, which removes the field → an event",
    last: true,
    spec: {},
    events: [UNCORDONED],
  },
  { name: "still cordoned → no event", last: true, spec: { unschedulable: true }, events: [] },
  { name: "never cordoned → no event", last: false, spec: {}, events: [] },
];

describe("recordNodeSchedulableEvent", () => {
  test.each(situations)("$name", ({ last, spec, events }) => {
    const state = { lastNodeUnschedulable: last };
    const outcome = runSetter(
      ({ recordEvent }) => recordNodeSchedulableEvent(state, recordNodeStatusEvent("node-1", recordEvent)),
      { spec },
    );
    expectOutcome(outcome, { events });
    expect(state.lastNodeUnschedulable).toBe(spec.unschedulable ?? false);
  });
});
