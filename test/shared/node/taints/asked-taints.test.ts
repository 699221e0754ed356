// Taints that are said otherwise than a Node has them, which has its own since it was created.
import { describe, expect, test } from "vitest";
import type { Taint } from "../../../../shared/kubernetes/types.ts";
import { everAsked, type AskedTaints, askedTaints } from "../../../../shared/node/taints.ts";

const taint = (key: string, value?: string): Taint => ({
  key,
  ...(value !== undefined && { value }),
  effect: "NoSchedule",
});
const [A, B, OTHERS] = [taint("a"), taint("b", "1"), taint("others")];
const nodeWith = (...taints: Taint[]) => ({ spec: { taints } });
const STAY = "the taints of the Node stay: ";

interface Situation {
  name: string;
  before?: AskedTaints;
  said: Taint[];
  /** Of the Node that is there; absent: it was created. */
  found?: Taint[];
  taints: AskedTaints;
  notice?: string;
}

const situations: Situation[] = [
  { name: "a Node that was created", said: [A], taints: { taints: [A] } },
  {
    name: "a Node that was created anew",
    before: { taints: [A], formerTaints: [B] },
    said: [B],
    taints: { taints: [B] },
  },
  { name: "a Node of which nothing is known", said: [A], found: [], taints: { taints: [A] } },
  { name: "the same is said", before: { taints: [A] }, said: [A], found: [A], taints: { taints: [A] } },
  {
    name: "the same is said, and an operator has removed it",
    before: { taints: [A] },
    said: [A],
    found: [OTHERS],
    taints: { taints: [A] },
  },
  {
    name: "one more is said",
    before: { taints: [A] },
    said: [A, B],
    found: [A],
    taints: { taints: [A, B] },
    notice: `${STAY}it does not get b=1:NoSchedule`,
  },
  {
    name: "one less is said",
    before: { taints: [A, B] },
    said: [A],
    found: [A, B, OTHERS],
    taints: { taints: [A], formerTaints: [B] },
    notice: `${STAY}it keeps b=1:NoSchedule`,
  },
  {
    name: "another one is said",
    before: { taints: [A] },
    said: [B],
    found: [A],
    taints: { taints: [B], formerTaints: [A] },
    notice: `${STAY}it does not get b=1:NoSchedule, it keeps a:NoSchedule`,
  },
  {
    name: "that is said again",
    before: { taints: [B], formerTaints: [A] },
    said: [B],
    found: [A],
    taints: { taints: [B], formerTaints: [A] },
  },
  {
    name: "what the Node has is said again",
    before: { taints: [B], formerTaints: [A] },
    said: [A],
    found: [A],
    taints: { taints: [A] },
  },
  {
    name: "another value is said",
    before: { taints: [taint("b", "0")] },
    said: [B],
    found: [taint("b", "0")],
    taints: { taints: [B] },
    notice: `${STAY}it does not get b=1:NoSchedule`,
  },
  {
    name: "one more is said, which an operator has set already",
    before: { taints: [A] },
    said: [A, B],
    found: [A, B],
    taints: { taints: [A, B] },
  },
  {
    name: "one less is said, which an operator has removed already",
    before: { taints: [A, B] },
    said: [A],
    found: [A],
    taints: { taints: [A] },
  },
];

describe("the taints of a Node that is there", () => {
  test.each(situations)("$name", ({ before, said, found, taints, notice = null }) => {
    expect(askedTaints(before, said, found ? nodeWith(...found) : null)).toEqual({ taints, notice });
  });
});

test("all that was said of a Node", () => {
  expect(everAsked({ taints: [B], formerTaints: [A] })).toEqual([B, A]);
  expect(everAsked(undefined)).toEqual([]);
});
