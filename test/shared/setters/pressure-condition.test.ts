// Tests the common behaviour of the three pressure conditions. The table of each condition tests its own texts.
import { describe, expect, test } from "vitest";
import type { NodeCondition } from "../../../shared/kubernetes/types.ts";
import { pressureCondition, type Wordings } from "../../../shared/setters/pressure-condition.ts";
import { BEFORE, condition, NOW, runSetter } from "./run-setter.ts";

const TYPE = "HeatPressure";
const WORDINGS: Wordings = {
  pressure: { reason: "Hot", message: "it is hot", event: "NodeNotReady" },
  none: { reason: "Cool", message: "it is cool", event: "NodeReady" },
};
const hot = { type: TYPE, status: "True", reason: "Hot", message: "it is hot" };
const cool = { type: TYPE, status: "False", reason: "Cool", message: "it is cool" };
const since = (text: typeof hot, lastTransitionTime: string): NodeCondition => ({
  ...text,
  lastHeartbeatTime: NOW,
  lastTransitionTime,
});
const ready = condition("Ready", "True", "KubeletReady");

interface Situation {
  name: string;
  before: NodeCondition[] | undefined;
  pressure: boolean;
  after: NodeCondition[];
  events: string[];
}

const situations: Situation[] = [
  {
    name: "a Node without conditions → the first one, and its event",
    before: undefined,
    pressure: false,
    after: [since(cool, NOW)],
    events: ["Normal NodeReady"],
  },
  {
    name: "other conditions are there → appended after them, also after Ready",
    before: [ready],
    pressure: true,
    after: [ready, since(hot, NOW)],
    events: ["Normal NodeNotReady"],
  },
  {
    name: "pressure lasts → a heartbeat alone: the transition time stays, no event",
    before: [{ ...condition(TYPE, "True", "Hot", "it is hot") }],
    pressure: true,
    after: [since(hot, BEFORE)],
    events: [],
  },
  {
    name: "another release wrote the same status with other words → they stay until the status changes",
    before: [condition(TYPE, "False", "OldWord", "old words")],
    pressure: false,
    after: [since({ ...cool, reason: "OldWord", message: "old words" }, BEFORE)],
    events: [],
  },
  {
    name: "transition to pressure → status, words and transition time change in place, with an event",
    before: [condition(TYPE, "False", "Cool"), ready],
    pressure: true,
    after: [since(hot, NOW), ready],
    events: ["Normal NodeNotReady"],
  },
  {
    name: "the node controller wrote Unknown meanwhile → the status is known again, with an event",
    before: [condition(TYPE, "Unknown", "NodeStatusUnknown"), ready],
    pressure: false,
    after: [since(cool, NOW), ready],
    events: ["Normal NodeReady"],
  },
  {
    name: "two conditions of the type → the last one is updated, the first one stays",
    before: [condition(TYPE, "True", "First"), ready, condition(TYPE, "True", "Hot")],
    pressure: false,
    after: [condition(TYPE, "True", "First"), ready, since(cool, NOW)],
    events: ["Normal NodeReady"],
  },
];

describe("pressureCondition", () => {
  test.each(situations)("$name", ({ before, pressure, after, events }) => {
    const outcome = runSetter(
      ({ recordStatusEvent }) => pressureCondition(TYPE, NOW, () => pressure, recordStatusEvent, WORDINGS),
      before ? { status: { conditions: before } } : {},
    );
    expect(outcome).toMatchObject({ error: null, events });
    expect(outcome.node.status).toEqual({ conditions: after });
  });
});
