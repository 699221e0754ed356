// Tests which conditions of a search are worth leaving out if no machine matches.
import { expect, it } from "vitest";
import { fleetQueryOf } from "../../../../infra/page/fleet/fleet-query.ts";
import { widerQueries } from "../../../../infra/page/fleet/no-match.tsx";
import { byName } from "../support/feed-machine.ts";
import { feedMachine } from "./feed-machines.ts";

const machines = byName([
  feedMachine("edge-1", { labels: { site: "berlin" } }),
  feedMachine("edge-2", { labels: { site: "bonn" }, state: "silent" }),
]);
const wider = (q: string, state = "") =>
  widerQueries(
    fleetQueryOf(
      new Map([
        ["q", q],
        ["state", state],
      ]),
    ),
    machines,
    0,
  ).map(({ how, condition, count, query }) => [`${how} ${condition}`, count, query.text, query.states.size]);

it.each([
  ["one term of two", "edge site=bern", "", [["without site=bern", 2, "edge", 0]]],
  [
    "either of two",
    "edge-1 site=bonn",
    "",
    [
      ["without edge-1", 1, "site=bonn", 0],
      ["without site=bonn", 1, "edge-1", 0],
    ],
  ],
  [
    "the chosen states",
    "site=berlin",
    "silent",
    [
      ["without site=berlin", 1, "", 1],
      ["without silent", 1, "site=berlin", 0],
    ],
  ],
  ["the only term", "nowhere", "", [["without nowhere", 2, "", 0]]],
  ["none, if two terms match nothing", "nowhere neither", "", []],
  [
    "two conditions match nothing → each that matches alone",
    "nowhere site=bern edge",
    "silent",
    [
      ["with only edge", 2, "edge", 0],
      ["with only silent", 1, "", 1],
    ],
  ],
  ["an invalid one", "foo:bar edge", "", [["without foo:bar", 2, "edge", 0]]],
] as const)("%s", (_, text, state, expected) => {
  expect(wider(text, state)).toEqual(expected);
});
