import { expect, it } from "vitest";
import type { FleetState } from "../../../shared/fleet/state.ts";
import { countStates, disagreements, type ShownMachine } from "./agreement.ts";

const one = (shown: ShownMachine) => new Map([["edge-1", shown]]);
const READY: ShownMachine = { ready: "True", hasMemoryPressure: false };

const cases: [
  situation: string,
  cluster: Map<string, ShownMachine>,
  api: ShownMachine,
  other: ShownMachine,
  lines: number,
][] = [
  ["all places show the same", one(READY), { state: "ready" }, { state: "ready" }, 0],
  ["two places show another state", one(READY), { state: "ready" }, { state: "silent" }, 2],
  ["all show silent, and the Node is Ready", one(READY), { state: "silent" }, { state: "silent" }, 2],
  ["silent, and the Node is Unknown", one({ ready: "Unknown" }), { state: "silent" }, { state: "silent" }, 0],
  ["ready, and there is no Node", new Map(), { state: "ready" }, { state: "ready" }, 2],
  ["blocked, and there is no Node", new Map(), { state: "blocked" }, { state: "blocked" }, 0],
  [
    "pressure that the Node lacks",
    one(READY),
    { state: "ready", hasMemoryPressure: true },
    { state: "ready" },
    1,
  ],
];

it.each(cases)("%s → %5$i lines", (_, cluster, api, other, lines) => {
  const places = [
    ["API", one(api)],
    ["feed", one(other)],
  ] as const;
  expect(disagreements(cluster, places)).toHaveLength(lines);
});

it("a machine that one place does not show → a line", () => {
  const places = [
    ["API", one({ state: "ready" })],
    ["feed", new Map()],
  ] as const;
  expect(disagreements(one(READY), places)).toEqual(["edge-1: feed does not show it"]);
});

it("states are counted", () => {
  const states: FleetState[] = ["ready", "silent", "ready"];
  expect(countStates(new Map(states.map((state, index) => [`edge-${index}`, { state }])))).toEqual({
    ready: 2,
    silent: 1,
  });
});
