import { expect, it } from "vitest";
import { searchOf } from "../../../../infra/page/views/rules.tsx";

const object = (name: string, labels?: Record<string, string>) => ({
  metadata: { name },
  spec: {
    rules: [
      { name: "any", labelsTemplate: "a=b" },
      { name: "rule", ...(labels && { labels }) },
    ],
  },
});

it.each<[situation: string, labels: Record<string, string> | undefined, search: string | null]>([
  ["a label without a namespace", { gpu: "true" }, "feature.node.kubernetes.io/gpu=true"],
  ["a label with a namespace", { "example.com/gpu": "a100" }, "example.com/gpu=a100"],
  [
    "a value of the machine's, then one of its own",
    { a: "@cpu.model.id", b: "x" },
    "feature.node.kubernetes.io/b=x",
  ],
  ["an empty value", { a: "" }, null],
  ["no labels", undefined, null],
])("the machines of a rule with %s", (_, labels, search) => {
  expect(searchOf([object("other", { other: "true" }), object("gpus", labels)], "gpus/rule")).toBe(search);
});

it("the machines of a rule that is unknown", () => {
  expect(searchOf([object("gpus", { a: "b" })], "nics/rule")).toBeNull();
});
