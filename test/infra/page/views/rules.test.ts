import { expect, it } from "vitest";
import { partsOf, rulesByName, searchOf } from "../../../../infra/page/views/rules.tsx";

type Labels = Record<string, string | null>;

const object = (name: string, labels?: Labels) => ({
  metadata: { name },
  spec: {
    rules: [
      { name: "any", labelsTemplate: "a=b" },
      { name: "rule", ...(labels && { labels }) },
    ],
  },
});

it.each<[situation: string, labels: Labels | undefined, search: string | null]>([
  ["a label without a namespace", { gpu: "true" }, "feature.node.kubernetes.io/gpu=true"],
  ["a label with a namespace", { "example.com/gpu": "a100" }, "example.com/gpu=a100"],
  [
    "a value of the machine's, then one of its own",
    { a: "@cpu.model.id", b: "x" },
    "feature.node.kubernetes.io/b=x",
  ],
  ["a label that is null, then another one", { a: null, b: "x" }, "feature.node.kubernetes.io/b=x"],
  ["an empty value", { a: "" }, null],
  ["no labels", undefined, null],
])("the machines of a rule with %s", (_, labels, search) => {
  const rules = rulesByName([object("other", { other: "true" }), object("gpus", labels)]);
  expect(searchOf(rules.get("gpus/rule"))).toBe(search);
});

it("the machines of a rule that is unknown", () => {
  expect(searchOf(rulesByName([object("gpus", { a: "b" })]).get("nics/rule"))).toBeNull();
});

it.each<[situation: string, rule: Parameters<typeof partsOf>[0], parts: string[]]>([
  [
    "each kind of part",
    {
      name: "all",
      labels: { gpu: "true" },
      labelsTemplate: "a=b",
      annotations: { model: "@cpu.model.id" },
      extendedResources: { "example.com/gpus": "2" },
      taints: [
        { key: "gpu", value: "true", effect: "NoSchedule" },
        { key: "slow", effect: "NoExecute" },
      ],
    },
    [
      "gpu=true",
      "labels of a template",
      "annotation model=@cpu.model.id",
      "resource example.com/gpus=2",
      "taint gpu=true:NoSchedule",
      "1 more",
    ],
  ],
  ["only variables", { name: "vars", labels: null, taints: null }, []],
  ["a label that is null", { name: "null", labels: { gpu: null } }, []],
  ["an unknown rule", undefined, []],
])("the parts of a rule with %s", (_, rule, parts) => {
  expect(partsOf(rule)).toEqual(parts);
});
