import { describe, expect, test } from "vitest";
import { factLabels, nodeLabels } from "../../../shared/setters/fact-labels.ts";
import { runSetter } from "./run-setter.ts";

const LISTED = "rollcall.dev/fact-labels";
type Labels = Record<string, string>;

interface Situation {
  name: string;
  wanted: Labels;
  before?: Labels;
  /** The annotation rollcall.dev/fact-labels after the previous run. */
  listed?: string;
  after: Labels;
  listedAfter?: string;
}

const situations: Situation[] = [
  {
    name: "a fact of the machine → one more label, listed as the machine's",
    wanted: { "example.com/rack": "b7" },
    before: { site: "oslo" },
    after: { site: "oslo", "example.com/rack": "b7" },
    listedAfter: "example.com/rack",
  },
  {
    name: "the fact changes → the label changes",
    wanted: { "example.com/rack": "c1" },
    before: { "example.com/rack": "b7" },
    listed: "example.com/rack",
    after: { "example.com/rack": "c1" },
    listedAfter: "example.com/rack",
  },
  {
    name: "the fact is missing → its label is removed, the cluster's stay",
    wanted: {},
    before: { "example.com/rack": "b7", site: "oslo" },
    listed: "example.com/rack",
    after: { site: "oslo" },
  },
  {
    name: "one fact replaces another → its label replaces the other",
    wanted: { b: "2" },
    before: { a: "1" },
    listed: "a",
    after: { b: "2" },
    listedAfter: "b",
  },
  {
    name: "another writer listed a label in the annotation that no fact may set → it stays",
    wanted: {},
    before: { "kubernetes.io/hostname": "node-1", a: "1" },
    listed: "a,kubernetes.io/hostname",
    after: { "kubernetes.io/hostname": "node-1" },
  },
  {
    name: "no facts, none before → the labels stay",
    wanted: {},
    before: { site: "oslo" },
    after: { site: "oslo" },
  },
];

describe("factLabels", () => {
  test.each(situations)("$name", ({ wanted, before = {}, listed, after, listedAfter }) => {
    const annotations = listed === undefined ? {} : { annotations: { [LISTED]: listed } };
    const outcome = runSetter(() => factLabels(wanted, (key) => !key.startsWith("kubernetes.io/")), {
      metadata: { labels: before, ...annotations },
    });
    expect(outcome).toMatchObject({ error: null, events: [] });
    expect(outcome.node.metadata.labels).toEqual(after);
    expect(outcome.node.metadata.annotations?.[LISTED]).toBe(listedAfter);
  });
});

describe("nodeLabels", () => {
  const NODE_LABELS = "rollcall.dev/node-labels";
  const none = () => false;

  test.each<[situation: string, facts: Labels, configuration: Labels, before: Labels, after: Labels]>([
    ["a drop-in reports it now", { tier: "b" }, {}, { [NODE_LABELS]: "tier" }, { tier: "b" }],
    ["the configuration has it now", {}, { tier: "c" }, { [LISTED]: "tier" }, { tier: "c" }],
    ["no source reports it any more", {}, {}, { [NODE_LABELS]: "tier" }, {}],
  ])("a label: %s", (_, facts, configuration, annotations, after) => {
    const outcome = runSetter(
      () => (node) => {
        factLabels(facts, () => true)(node);
        return nodeLabels(configuration, () => true, none)(node);
      },
      { metadata: { labels: { tier: "a" }, annotations } },
    );
    expect(outcome).toMatchObject({ error: null });
    expect(outcome.node.metadata.labels).toEqual(after);
  });
});
