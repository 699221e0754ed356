import { expect, test } from "vitest";
import { factAnnotations } from "../../../shared/setters/fact-annotations.ts";
import type { DraftNode } from "../../../shared/setters/setter.ts";

type Annotations = Record<string, string>;

test.each<
  [situation: string, before: Annotations | undefined, wanted: Record<string, boolean>, after: Annotations]
>([
  ["wanted, on a Node without any", undefined, { a: true }, { a: "true" }],
  ["wanted, and missing", { b: "x" }, { a: true }, { a: "true", b: "x" }],
  ["wanted, with another value", { a: "false" }, { a: true }, { a: "true" }],
  ["not wanted, and present", { a: "true", b: "x" }, { a: false }, { b: "x" }],
])("an annotation that is %s", (_, before, wanted, after) => {
  const shared = structuredClone(before);
  const node: DraftNode = { metadata: { ...(before && { annotations: before }) }, spec: {}, status: {} };
  expect(factAnnotations(wanted)(node)).toBeNull();
  expect(node.metadata.annotations).toEqual(after);
  // The old annotations are unchanged, because the last known Node may share the object.
  expect(before).toEqual(shared);
});

test("nothing changes → the same object", () => {
  const annotations = { a: "true" };
  const node: DraftNode = { metadata: { annotations }, spec: {}, status: {} };
  factAnnotations({ a: true, b: false })(node);
  expect(node.metadata.annotations).toBe(annotations);
});
