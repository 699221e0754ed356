// Tests the limits of templates. test/vectors/featureRules.json has what templates result in.
import { expect, it, test } from "vitest";
import { Effort, RuleFault } from "../../../shared/features/effort.ts";
import { expand } from "../../../shared/features/template.ts";
import { TEMPLATE_BYTES } from "../../../shared/features/template-syntax.ts";

const devices = (count: number) =>
  new Map([
    ["pci", new Map([["device", Array.from({ length: count }, () => new Map([["class", "0300"]]))]])],
  ]);
const expanded = (template: string, count: number) => expand(template, devices(count), new Effort());

test.each<[situation: string, template: string, isValid: boolean]>([
  ["a template as large as its limit", `a=${"x".repeat(TEMPLATE_BYTES - 2)}`, true],
  ["a template larger than its limit", `a=${"x".repeat(TEMPLATE_BYTES - 1)}`, false],
  ["a text as large as its limit", `a={{ range .pci.device }}${"x".repeat(255)}{{ end }}`, true],
  ["a text larger than its limit", `a={{ range .pci.device }}${"x".repeat(256)}{{ end }}`, false],
  ["32 nested parts", `a=${"{{ if true }}".repeat(31)}b${"{{ end }}".repeat(31)}`, true],
  ["33 nested parts", `a=${"{{ if true }}".repeat(32)}b${"{{ end }}".repeat(32)}`, false],
  ["31 alternatives", `a={{ if true }}b${"{{ else if true }}".repeat(30)}{{ end }}`, true],
  ["3000 alternatives", `a={{ if false }}${"{{ else if false }}".repeat(3000)}{{ end }}`, false],
  ["256 words of an action", `a={{ len .pci ${"| not ".repeat(127)}}}`, true],
  ["258 words of an action", `a={{ len .pci ${"| not ".repeat(128)}}}`, false],
  ["parentheses without an end", `a={{ ${"(".repeat(20_000)} }}`, false],
])("%s → valid: %s", (_, template, isValid) => {
  const run = () => expanded(template, 256).size;
  if (isValid) expect(run()).toBe(1);
  else expect(run).toThrow(RuleFault);
});

// A search that tries each way would take minutes, or for ever.
it.each([
  ["comments", `{{${"/**/".repeat(16_000)}`],
  ["blanks", `{{${" ".repeat(60_000)}`],
  ["quotes", `{{${'""'.repeat(30_000)}`],
])("an action without an end, of many %s → refused at once", (_, template) => {
  expect(() => expanded(template, 1)).toThrow("{{ is not closed");
});

it.each([
  ["a={{ printf .x }}", "line 1 of the template: printf is not supported"],
  ["a=1\n\n{{ $x }}", "line 3 of the template: $x is not supported"],
  ["{{/* two\nlines */}}\n{{- \n $x }}", "line 4 of the template: $x is not supported"],
  ["a={{ 1.5 }}", "line 1 of the template: 1.5 is not supported"],
  ["a={{ range .a\n.b }}", "line 2 of the template: .b is an argument without a function"],
  ["{{ with .a }}{{ end }}", "line 1 of the template: with is not supported"],
])("%j → the line and the word", (template, message) => {
  expect(() => expanded(template, 1)).toThrow(message);
});

it("nested ranges over many elements → end at the text's limit", () => {
  const nested = "{{ range .pci.device }}x{{ end }}";
  const template = `a=${nested.repeat(400)}`;
  expect(() => expanded(template, 512)).toThrow(/the template's text has more than/);
});
