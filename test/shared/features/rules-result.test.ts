// Tests the result of a deployment's rules for one machine: what the apiserver can store, in the order of objects.
import { describe, expect, it } from "vitest";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import policy from "../../../infra/rbac/rollcall.yaml?raw";
import type { FeatureRule } from "../../../shared/features/rules.ts";
import { MOST_PART_BYTES, rulesResult } from "../../../shared/features/rules-result.ts";

const always = (more: Partial<FeatureRule> = {}): FeatureRule => ({ name: "rule", ...more });
const object = (name: string, ...rules: FeatureRule[]) => ({ name, rules });
const machine = {
  flags: { "cpu.cpuid": ["AVX"] },
  attributes: { "local.feature": { gpus: "2" } },
  instances: {
    "pci.device": {
      attributes: ["vendor", "class"],
      rows: [
        ["10de", "0300"],
        ["8086", null],
      ],
    },
  },
};
const ofVendor = (vendor: string): FeatureRule["matchFeatures"] => [
  { feature: "pci.device", matchExpressions: { vendor: { op: "In", value: [vendor] } } },
];

it("objects count in the order of their names → the last value of a label", () => {
  const { labels, matched } = rulesResult(
    [
      object("b", always({ labels: { "example.com/a": "2" } })),
      object("a", always({ labels: { "example.com/a": "1" } })),
    ],
    machine,
  );
  expect([labels, matched]).toEqual([{ "example.com/a": "2" }, ["a/rule", "b/rule"]]);
});

it("a rule matches the machine's devices, of which one lacks an attribute", () => {
  const rules = object(
    "o",
    always({ name: "gpu", matchFeatures: ofVendor("10de") }),
    always({ name: "other", matchFeatures: ofVendor("1002") }),
  );
  expect(rulesResult([rules], machine).matched).toEqual(["o/gpu"]);
  expect(rulesResult([rules], undefined).matched).toEqual([]);
});

describe("what no Node can have → refused, and the rest counts", () => {
  it.each<[Partial<FeatureRule>, string]>([
    [
      { extendedResources: { "example.com/r": "-1" } },
      "resource example.com/r: must be a whole number, not below 0",
    ],
    [
      { extendedResources: { "example.com/r": "1.5" } },
      "resource example.com/r: must be a whole number, not below 0",
    ],
    // The apiserver refuses some of these amounts, and with them the whole status.
    ...["9007199254740992", "1234567890123456789", "8Ei", "1e1000000000"].map(
      (amount): [Partial<FeatureRule>, string] => [
        { extendedResources: { "example.com/r": amount } },
        "resource example.com/r: more than 9007199254740991",
      ],
    ),
    [
      { extendedResources: { "example.com/r": "@local.feature.none" } },
      "resource example.com/r: @local.feature.none: no such element of a feature",
    ],
    [
      { taints: [{ key: "example.com/a b", effect: "NoSchedule" }] },
      "taint example.com/a b:NoSchedule: name part must consist of",
    ],
    [
      { taints: [{ key: "example.com/a", value: "a b", effect: "NoSchedule" }] },
      "taint example.com/a:NoSchedule: a valid label must be",
    ],
    [
      { labels: { "kubernetes.io/os": "x" } },
      "label kubernetes.io/os: the namespace kubernetes.io is not allowed",
    ],
    [{ labels: { "example.com/a": "a\u0007" } }, "label example.com/a: a valid label must be"],
  ])("%j", (rule, fault) => {
    const rules = [
      object("o", always({ ...rule }), always({ name: "well", labels: { "example.com/well": "" } })),
    ];
    const { refused, labels, resources, taints } = rulesResult(rules, machine);
    expect(refused).toEqual([expect.stringContaining(fault)]);
    expect([labels, resources, taints]).toEqual([{ "example.com/well": "" }, {}, []]);
  });
});

it("an annotation that the cluster's policy leaves to its agents → refused, for each agent of the policy", () => {
  const [listed = ""] = policy.split("- name: agents")[1]?.split("].join") ?? [];
  const agents = [...listed.matchAll(/'([a-z\d.-]+)'/g)].map(([, agent = ""]) => agent);
  expect(agents.length).toBeGreaterThan(20);
  const keys = agents.flatMap((agent) => [`${agent}/x`, `x.${agent}/x`]);
  for (const key of [...keys, "io.cilium.network/x"]) {
    const { annotations, refused } = rulesResult(
      [object("o", always({ annotations: { [key]: "y" } }))],
      machine,
    );
    expect([annotations, refused.length], key).toEqual([{}, 1]);
  }
});

it("labels of a template that fill the bytes → taints, resources and annotations stay", () => {
  const labelsTemplate = "{{ range .pci.device }}example.com/{{ .vendor }}={{ .class }}\n{{ end }}";
  const rows = Array.from({ length: 256 }, (_, at) => [`${at}-${"v".repeat(50)}`, "c".repeat(60)]);
  const many = { ...machine, instances: { "pci.device": { attributes: ["vendor", "class"], rows } } };
  const rule = always({
    labelsTemplate,
    matchFeatures: [{ feature: "pci.device", matchExpressions: { vendor: { op: "Exists" } } }],
    annotations: { "example.com/a": "y" },
    extendedResources: { "example.com/r": "1" },
    taints: [{ key: "example.com/t", effect: "NoSchedule" }],
  });
  const { labels, annotations, resources, taints, refused } = rulesResult([object("o", rule)], many);
  expect([annotations, resources, taints.length]).toEqual([
    { "example.com/a": "y" },
    { "example.com/r": "1" },
    1,
  ]);
  expect(Object.keys(labels).length).toBeGreaterThan(50);
  expect(refused).toEqual([expect.stringMatching(/^label: \d+ beyond the 24576 bytes of all parts$/)]);
});

it("a resource of a feature's element → its amount as Kubernetes prints it", () => {
  const rules = [
    object(
      "o",
      always({ extendedResources: { "example.com/a": "@local.feature.gpus", "example.com/b": "2048Ki" } }),
    ),
  ];
  expect(rulesResult(rules, machine).resources).toEqual({ "example.com/a": "2", "example.com/b": "2Mi" });
});

it("two taints of the same key and effect → the last", () => {
  const taints = [
    { key: "example.com/a", value: "1", effect: "NoSchedule" },
    { key: "example.com/a", value: "2", effect: "NoSchedule" },
  ];
  expect(rulesResult([object("o", always({ taints }))], machine).taints).toEqual([taints[1]]);
});

describe("limits", () => {
  const many = (count: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`example.com/l${String(at).padStart(3, "0")}`, ""]),
    );
  it.each([
    ["256 labels → all", 256, 256, []],
    ["257 labels → the first 256, and why", 257, 256, ["label: 257, of which the first 256 count"]],
  ])("%s", (_, count, kept, refused) => {
    const result = rulesResult([object("o", always({ labels: many(count) }))], machine);
    expect([Object.keys(result.labels).length, result.refused]).toEqual([kept, refused]);
  });

  it("annotations of more bytes than a Node can have → as many as fit, and why", () => {
    const annotations = Object.fromEntries(
      Array.from({ length: 64 }, (_, at) => [
        `example.com/a${String(at).padStart(2, "0")}`,
        "x".repeat(1024),
      ]),
    );
    const result = rulesResult([object("o", always({ annotations }))], machine);
    expect(JSON.stringify(result.annotations).length).toBeLessThan(MOST_PART_BYTES);
    expect([Object.keys(result.annotations).length, result.refused]).toEqual([
      23,
      ["annotation: 41 beyond the 24576 bytes of all parts"],
    ]);
  });

  it("a template makes one line of all devices → a short fault", () => {
    const labelsTemplate = "{{range .local.feature}}{{.Value}}{{end}}";
    const matchFeatures = [{ feature: "local.feature", matchName: { op: "Exists" } }];
    const large = { ...machine, attributes: { "local.feature": { a: "x".repeat(20_000) } } };
    const { refused } = rulesResult([object("o", always({ labelsTemplate, matchFeatures }))], large);
    expect(refused.map((fault) => fault.length)).toEqual([500]);
  });
});
