// Tests labels that a Node always has, and labels that it has only while they are reported.
import { describe, expect, test } from "vitest";
import { listedLabels, permanentLabels } from "../../../shared/setters/listed-labels.ts";
import type { DraftNode, Setter } from "../../../shared/setters/setter.ts";

type Labels = Record<string, string>;
const LIST = "example.com/list";

function after(setter: Setter, labels: Labels | undefined, listed?: string): DraftNode["metadata"] {
  const annotations = listed === undefined ? {} : { annotations: { [LIST]: listed } };
  const node: DraftNode = { metadata: { ...(labels && { labels }), ...annotations }, spec: {}, status: {} };
  const before = structuredClone(labels);
  expect(setter(node)).toBeNull();
  // The old labels are unchanged, because the last known Node may share the object.
  expect(labels).toEqual(before);
  return node.metadata;
}

describe("permanentLabels", () => {
  test.each<[situation: string, before: Labels | undefined, expected: Labels]>([
    ["a Node without labels", undefined, { a: "1" }],
    ["one that is missing", { b: "2" }, { a: "1", b: "2" }],
    ["one with another value", { a: "0" }, { a: "1" }],
    ["one that is there", { a: "1" }, { a: "1" }],
  ])("%s", (_, before, expected) => {
    expect(after(permanentLabels({ a: "1" }), before).labels).toEqual(expected);
  });

  test("nothing to set → the same object, which a steady report compares", () => {
    const labels = { a: "1" };
    expect(after(permanentLabels({ a: "1" }), labels).labels).toBe(labels);
  });
});

interface Situation {
  name: string;
  wanted: Labels;
  before: Labels;
  listed?: string;
  isUndecided?: (key: string) => boolean;
  expected: Labels;
  listedAfter?: string;
}

const situations: Situation[] = [
  { name: "one is reported", wanted: { a: "1" }, before: {}, expected: { a: "1" }, listedAfter: "a" },
  {
    name: "another writer has removed it",
    wanted: { a: "1" },
    before: { b: "2" },
    listed: "a",
    expected: { a: "1", b: "2" },
    listedAfter: "a",
  },
  {
    name: "it is there and not listed yet, on a Node of an earlier version",
    wanted: { a: "1" },
    before: { a: "1" },
    expected: { a: "1" },
    listedAfter: "a",
  },
  {
    name: "it is no longer reported",
    wanted: {},
    before: { a: "1", b: "2" },
    listed: "a",
    expected: { b: "2" },
  },
  {
    name: "a label that may not be removed is listed",
    wanted: {},
    before: { kept: "1" },
    listed: "kept",
    expected: { kept: "1" },
  },
  {
    name: "whether it is reported is unknown",
    wanted: { a: "1" },
    before: { a: "1", zone: "x" },
    listed: "a,zone",
    isUndecided: (key) => key === "zone",
    expected: { a: "1", zone: "x" },
    listedAfter: "a,zone",
  },
];

describe("listedLabels", () => {
  test.each(situations)("$name", ({ wanted, before, listed, isUndecided, expected, listedAfter }) => {
    const mayBeRemoved = (key: string) => key !== "kept";
    const setter = listedLabels({
      annotation: LIST,
      wanted,
      mayBeRemoved,
      ...(isUndecided && { isUndecided }),
    });
    const { labels, annotations } = after(setter, before, listed);
    expect(labels).toEqual(expected);
    expect(annotations?.[LIST]).toBe(listedAfter);
    // A second run changes nothing, so that a report without changes writes nothing.
    const again = after(setter, labels, annotations?.[LIST]);
    expect(again.labels).toBe(labels);
    expect(again.annotations?.[LIST]).toBe(listedAfter);
  });
});
