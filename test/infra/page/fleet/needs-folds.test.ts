import { describe, expect, it } from "vitest";
import { type Folds, foldsOf, foldsText, withFirstFolds } from "../../../../infra/page/fleet/needs-folds.ts";
import { needsList, type NeedsKind } from "../../../../infra/page/fleet/needs-list.ts";
import { feedMachine, pendingMachine } from "./feed-machines.ts";

const groupsOf = (counts: { blocked?: number; "not-ready"?: number; pending?: number }) => {
  const { pending = 0, ...machines } = counts;
  return needsList({
    machines: Object.entries(machines).flatMap(([state, count]) =>
      Array.from({ length: count }, (_, at) => feedMachine(`${state}-${at}`, { state })),
    ),
    outages: [],
    pending: Array.from({ length: pending }, (_, at) => pendingMachine(`p-${at}`)),
  });
};
const NOTHING: Folds = new Map();

describe("which groups begin open", () => {
  it.each<[string, Parameters<typeof groupsOf>[0], Record<string, boolean>]>([
    ["the first one, however long", { "not-ready": 900 }, { "not-ready": true }],
    ["as many as have room", { blocked: 4, "not-ready": 8 }, { blocked: true, "not-ready": true }],
    ["one line over", { blocked: 5, "not-ready": 8 }, { blocked: true, "not-ready": false }],
    [
      "behind a closed one none: what is more urgent is seen first",
      { blocked: 5, "not-ready": 10, pending: 1 },
      { blocked: true, "not-ready": false, pending: false },
    ],
  ])("%s", (_, counts, folds) => {
    expect(Object.fromEntries(withFirstFolds(groupsOf(counts), NOTHING))).toEqual(folds);
  });

  it("what was decided stays, however many there are by now", () => {
    const first = withFirstFolds(groupsOf({ blocked: 1, "not-ready": 1 }), NOTHING);
    const later = withFirstFolds(groupsOf({ blocked: 90, "not-ready": 90, pending: 1 }), first);
    expect(Object.fromEntries(later)).toEqual({ blocked: true, "not-ready": true, pending: false });
  });
});

describe("what somebody has chosen is kept as a text", () => {
  const kinds: NeedsKind[] = ["blocked", "silent"];

  it("and read again", () => {
    const chosen: Folds = new Map([
      ["blocked", false],
      ["silent", true],
    ]);
    expect(foldsOf(foldsText(chosen), kinds)).toEqual(chosen);
  });

  it.each(["", "blocked", "blocked=maybe nonsense=open"])("of %o nothing was chosen", (text) => {
    expect(foldsOf(text, kinds)).toEqual(NOTHING);
  });
});
