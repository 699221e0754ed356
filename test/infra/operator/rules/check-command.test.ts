// Tests rollcall rules check: valid rules, the place of a fault, and what rules result in for one machine.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { play } from "../played.ts";

const folder = mkdtempSync(join(tmpdir(), "rollcall-rules-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

let files = 0;
function file(content: unknown): string {
  const path = join(folder, `${++files}.yaml`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const ruleObject = (rule: object, name = "gpus") => ({
  apiVersion: "nfd.k8s-sigs.io/v1alpha1",
  kind: "NodeFeatureRule",
  metadata: { name },
  spec: { rules: [{ name: "gpu", ...rule }] },
});
const CLASS = (expression: object) => ({
  matchFeatures: [{ feature: "pci.device", matchExpressions: { class: expression } }],
});
const GPU = { labels: { gpu: "true" }, ...CLASS({ op: "InRegexp", value: ["^03"] }) };
/** An object whose metadata has arrays in each other: `depth` values with the object and the metadata. */
const nested = (depth: number) => ({
  ...ruleObject(GPU),
  metadata: { name: "gpus", labels: JSON.parse("[".repeat(depth - 2) + "]".repeat(depth - 2)) as unknown },
});

const check = (...args: string[]) => play(["rules", "check", ...args]);

describe("valid rules → 0 and a line for each", () => {
  it.each<[situation: string, content: unknown, rules: string[]]>([
    ["one object", ruleObject(GPU), ["gpus/gpu"]],
    [
      "a regular expression with a list of 1000 devices",
      ruleObject(
        CLASS({
          op: "InRegexp",
          value: [`^(${Array.from({ length: 1000 }, (_, index) => (index + 4096).toString(16)).join("|")})$`],
        }),
      ),
      ["gpus/gpu"],
    ],
    [
      "a field and a label that are null",
      ruleObject({ labels: { gpu: null }, matchAny: null }),
      ["gpus/gpu"],
    ],
    [
      "a taint as the apiserver stores it",
      ruleObject({ taints: [{ key: "a/b", effect: "NoSchedule", timeAdded: "2026-01-01T00:00:00Z" }] }),
      ["gpus/gpu"],
    ],
    [
      "a merge key of YAML",
      `apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: { name: gpus }
spec:
  rules:
    - &first { name: gpu, labels: { gpu: "true" } }
    - { <<: *first, name: more }
`,
      ["gpus/gpu", "gpus/more"],
    ],
    ["64 values in each other", nested(64), ["gpus/gpu"]],
    ["a List", { kind: "List", items: [ruleObject(GPU), ruleObject(GPU, "more")] }, ["gpus/gpu", "more/gpu"]],
    [
      "several documents",
      `${JSON.stringify(ruleObject(GPU, "z"))}\n---\n${JSON.stringify(ruleObject(GPU, "a"))}\n`,
      ["a/gpu", "z/gpu"],
    ],
  ])("%s", async (_, content, rules) => {
    const { code, stdout } = await check(file(content), "-o", "name");
    expect({ code, rules: stdout.trimEnd().split("\n") }).toEqual({ code: 0, rules });
  });
});

describe("a fault → 1, with its file and place", () => {
  const bomb = `a: &a [x, x]\n${["b", "c", "d", "e", "f", "g", "h", "i", "j", "k"]
    .map((name, index, all) => `${name}: &${name} [*${all[index - 1] ?? "a"}, *${all[index - 1] ?? "a"}]\n`)
    .join("")}`;
  it.each<[situation: string, content: unknown, says: RegExp]>([
    [
      "another kind",
      { ...ruleObject(GPU), kind: "NodeFeatureGroup" },
      /\/kind: expected NodeFeatureRule: leave objects of other kinds out$/m,
    ],
    ["an unknown field", ruleObject({ ...GPU, label: {} }), /\/spec\/rules\/0\/label: unknown field/],
    [
      "a feature without a dot",
      ruleObject({ matchFeatures: [{ feature: "pci" }] }),
      /feature: expected DOMAIN\.FEATURE/,
    ],
    [
      "an unknown operator",
      ruleObject(CLASS({ op: "Near" })),
      /matchExpressions\/class: unknown operator Near: expected one of Exists/,
    ],
    // Without the expression, the rule would match each device.
    [
      "an expression that is null",
      ruleObject({ matchFeatures: [{ feature: "pci.device", matchExpressions: { class: null } }] }),
      /matchExpressions\/class: /,
    ],
    [
      "an object's name that Kubernetes refuses",
      ruleObject(GPU, "My rules"),
      /\/metadata\/name: expected a name/,
    ],
    ["65 values in each other", nested(65), /more than 64 values in each other/],
    ["no operator", ruleObject(CLASS({ value: ["0300"] })), /matchExpressions\/class\/op: /],
    ["a number", ruleObject(CLASS({ op: "In", value: [300] })), /class\/value\/0: /],
    [
      "regular expressions that are too large together",
      ruleObject(CLASS({ op: "InRegexp", value: Array.from({ length: 31 }, () => ".{999}") })),
      /class: the object's regular expressions are too large together/,
    ],
    ["no value", ruleObject(CLASS({ op: "In" })), /class: In takes some values/],
    ["a value too many", ruleObject(CLASS({ op: "Gt", value: ["1", "2"] })), /class: Gt takes 1 value$/m],
    ["no number", ruleObject(CLASS({ op: "Gt", value: ["x"] })), /class: x is no number/],
    [
      "a wrong order",
      ruleObject(CLASS({ op: "GtLt", value: ["2", "1"] })),
      /class: GtLt: 2 is not less than 1/,
    ],
    ["no version", ruleObject(CLASS({ op: "Ge", value: ["x"], type: "version" })), /class: x is no version/],
    [
      "a wrong regular expression",
      ruleObject(CLASS({ op: "InRegexp", value: ["("] })),
      /class: \(: .*missing closing \)/,
    ],
    [
      "a function that is not supported",
      ruleObject({ labelsTemplate: "a=1\n{{ upper .x }}" }),
      /labelsTemplate: line 2 of the template: upper is not supported/,
    ],
    [
      "a range without an end",
      ruleObject({ varsTemplate: "{{ range .a.b }}" }),
      /varsTemplate: line 1 of the template: range has no end/,
    ],
    ["no YAML", "a: [", /\d+\.yaml: Flow sequence/],
    ["no object", "", /has no object/],
    ["aliases of aliases", bomb, /Excessive alias count/],
    [
      "two objects of one name",
      { kind: "List", items: [ruleObject(GPU), ruleObject(GPU)] },
      /two objects have the name gpus/,
    ],
  ])("%s", async (_, content, says) => {
    const path = file(content);
    const { code, stdout, stderr } = await check(path);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(path);
    expect(stderr).toMatch(says);
  });
});

it("a file that cannot be read → 2", async () => {
  expect(await check(join(folder, "none"))).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/ENOENT/),
  });
});

it("a file larger than its limit → 2", async () => {
  const large = await check(file(`${JSON.stringify(ruleObject(GPU))}${" ".repeat(1024 * 1024)}`));
  expect(large).toMatchObject({ code: 2, stderr: expect.stringMatching(/more than 1048576 characters/) });
});

describe("--features", () => {
  const elements = [{ attributes: { class: "0300", vendor: "10de" } }];
  const nodeFeature = { spec: { features: { instances: { "pci.device": { elements } } } } };
  const facts = {
    features: {
      flags: { value: {}, source: "/proc" },
      attributes: { value: {}, source: "/proc" },
      instances: {
        value: { "pci.device": { attributes: ["class", "vendor"], rows: [["0300", "10de"]] } },
        source: "",
      },
    },
  };
  it.each([
    ["a NodeFeature", nodeFeature],
    ["the output of node-shim facts", facts],
  ])("%s → 0, and what the rules result in", async (_, features) => {
    const rules = ruleObject({
      ...GPU,
      labelsTemplate: "{{ range .pci.device }}v-{{ .vendor }}=1\n{{ end }}",
    });
    const { code, stdout } = await check(file(rules), "--features", file(features), "-o", "json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      labels: { "feature.node.kubernetes.io/gpu": "true", "feature.node.kubernetes.io/v-10de": "1" },
      matched: ["gpus/gpu"],
    });
  });

  it.each<[situation: string, rule: object, line: RegExp]>([
    ["a rule that fails on the features", CLASS({ op: "Gt", value: ["x1"] }), /Gt|x1/],
    [
      "a label in a namespace of Kubernetes",
      { labels: { "kubernetes.io/arch": "x" } },
      /^refused +label kubernetes.io\/arch +the namespace kubernetes.io is not allowed/m,
    ],
    [
      "an amount that is none",
      { extendedResources: { gpus: "@pci.device.none" } },
      /^refused +resource feature.node.kubernetes.io\/gpus +@pci.device.none: no such element/m,
    ],
  ])("%s → 1, and the reason", async (_, rule, line) => {
    const { code, stdout, stderr } = await check(file(ruleObject(rule)), "--features", file(nodeFeature));
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(line);
  });

  it("neither of both → 1", async () => {
    const { code, stderr } = await check(file(ruleObject(GPU)), "--features", file({ spec: {} }));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /neither the output of node-shim facts --features all, nor a NodeFeature: \/spec\/features/,
    );
  });
});
