// Tests marks of other writers on a Node: a mark is lost if the same Node lacks it later.
import { describe, expect, it, test } from "vitest";
import type { Node } from "../../../../shared/kubernetes/types.ts";
import { type Mark, markingPatch, type MarkKind, marksOnNodes } from "./marks.ts";

const marked = (resourceVersion: string, uid = "u"): Node => ({
  metadata: { name: "a", uid, resourceVersion, labels: { k: "v" }, annotations: { k: "v" } },
  spec: { taints: [{ key: "k", value: "v", effect: "NoSchedule" }], unschedulable: true },
  status: { conditions: [{ type: "k", status: "True", message: "v" }], capacity: { k: "v" } },
});
const without = (resourceVersion: string, uid = "u"): Node => ({
  metadata: { name: "a", uid, resourceVersion },
  spec: {},
  status: {},
});
const mark = (kind: MarkKind): Mark => ({ name: "a", kind, key: "k", value: "v" });
const KINDS = ["label", "annotation", "taint", "cordon", "condition", "resource"] as const;

describe.each(KINDS)("a %s", (kind) => {
  const placed = () => {
    const marks = marksOnNodes();
    marks.expect(mark(kind));
    marks.placed(mark(kind), marked("5"));
    return marks;
  };

  it("that is there → not lost", () => {
    expect(placed().lostFrom(marked("9"))).toEqual([]);
  });
  it("that is no longer there → lost", () => {
    expect(placed().lostFrom(without("5"))).toMatchObject([{ kind, key: "k" }]);
  });
  it.each<[situation: string, Node]>([
    ["an earlier version of the Node", without("4")],
    ["another Node of the name", without("9", "other")],
    ["another machine's Node", { ...without("9"), metadata: { ...without("9").metadata, name: "b" } }],
  ])("%s → not lost", (_, node) => {
    expect(placed().lostFrom(node)).toEqual([]);
  });
  it("that is being set again, or was removed → not lost", () => {
    const [again, lifted] = [placed(), placed()];
    again.expect(mark(kind));
    lifted.lifted(mark(kind));
    expect([again.lostFrom(without("9")), lifted.lostFrom(without("9"))]).toEqual([[], []]);
    expect([placed().count(), again.count(), lifted.count()]).toEqual([1, 0, 0]);
  });
});

test("another value → lost", () => {
  const marks = marksOnNodes();
  marks.placed({ ...mark("label"), value: "w" }, marked("5"));
  expect(marks.lostFrom(marked("6"))).toHaveLength(1);
});

test("from the start of its write it belongs to another writer, on that Node alone", () => {
  const marks = marksOnNodes();
  for (const kind of KINDS) marks.expect(mark(kind));
  const own = new Set(["k"]);
  const all = {
    labels: own,
    annotations: own,
    taints: own,
    conditions: own,
    resources: own,
    isCordoned: true,
  };
  expect(marks.of("a")).toEqual(all);
  expect(marks.of("b")).toMatchObject({ labels: new Set(), isCordoned: false });
});

test.each<[MarkKind, string, object]>([
  ["label", "", { metadata: { labels: { k: "v" } } }],
  ["annotation", "", { metadata: { annotations: { k: "v" } } }],
  ["cordon", "", { spec: { unschedulable: true } }],
  ["taint", "", { spec: { taints: [{ key: "other" }, { key: "k", value: "v", effect: "NoSchedule" }] } }],
  ["condition", "/status", { status: { conditions: [{ type: "k", status: "True", message: "v" }] } }],
  ["resource", "/status", { status: { capacity: { k: "v" } } }],
])("a %s is set of the Node as it was read, beside what is there", (kind, subresource, patch) => {
  const node = { ...without("5"), spec: { taints: [{ key: "other" }, { key: "k" }] } } as Node;
  const made = markingPatch(mark(kind), node);
  expect(made.subresource).toBe(subresource);
  expect(made.patch).toMatchObject({ metadata: { uid: "u", resourceVersion: "5" } });
  expect(made.patch).toMatchObject(patch);
});
