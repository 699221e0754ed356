// Whether an applied configuration fits its type, in upstream's words. Mirrors structured-merge-diff's typed.validate; pure.
import { isJsonObject, type Json, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { fieldElement, itemElement, printElement } from "./path-element.ts";
import { type FieldSchema, fieldOf, type ListFields, type MapFields, type ScalarFields } from "./schema.ts";

/** Go's %#v of decoded JSON. */
function goSyntax(value: Json): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(", ")}}`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const pairs = entries.map(([key, item]) => `${JSON.stringify(key)}:${goSyntax(item ?? null)}`);
  return `map[string]interface {}{${pairs.join(", ")}}`;
}

/** Go's %v of decoded JSON. */
function goText(value: Json): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`;
  if (!isJsonObject(value)) return String(value);
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goText(item ?? null)}`).join(" ")}]`;
}

function goTypeOf(value: Json): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function scalarError(value: Json, { type }: ScalarFields): string | undefined {
  switch (type) {
    case "numeric":
      return typeof value === "number"
        ? undefined
        : `expected numeric (int or float), got ${goTypeOf(value)}`;
    case "string":
      if (typeof value === "string") return undefined;
      return `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${goText(value)}}`;
    default:
      return typeof value === "object" ? `expected any scalar, got &{${goText(value)}}` : undefined;
  }
}

interface FieldProblem {
  path: string;
  text: string;
}

function below(element: string, problems: FieldProblem[]): FieldProblem[] {
  return problems.map(({ path, text }) => ({ path: printElement(element) + path, text }));
}

function here(text: string): FieldProblem[] {
  return [{ path: "", text }];
}

function mapProblems(value: Json, schema: MapFields): FieldProblem[] {
  if (!isJsonObject(value)) return here(`expected map, got &{${goText(value)}}`);
  const problems: FieldProblem[] = [];
  for (const [name, item] of Object.entries(value)) {
    const field = fieldOf(schema, name);
    if (!field) return [...problems, ...below(fieldElement(name), here("field not declared in schema"))];
    if (item !== undefined) problems.push(...below(fieldElement(name), valueProblems(item, field)));
  }
  return problems;
}

function listProblems(value: Json, schema: ListFields): FieldProblem[] {
  if (!Array.isArray(value)) return here(`expected list, got &{${goText(value)}}`);
  const problems: FieldProblem[] = [];
  const seen = new Set<string>();
  for (const [index, item] of value.entries()) {
    const named = schema.merge === "atomic" ? { element: `i:${index}` } : itemElement(schema, item);
    if ("error" in named) return [...problems, ...here(`element ${index}: ${named.error}`)];
    if (seen.has(named.element)) {
      problems.push(...here(`duplicate entries for key ${printElement(named.element)}`));
    }
    seen.add(named.element);
    problems.push(...below(named.element, valueProblems(item, schema.item)));
  }
  return problems;
}

function valueProblems(value: Json, schema: FieldSchema): FieldProblem[] {
  if (value === null) return [];
  if (schema.kind === "map") return mapProblems(value, schema);
  if (schema.kind === "list") return listProblems(value, schema);
  const error = scalarError(value, schema);
  return error === undefined ? [] : here(error);
}

/** What is wrong with the configuration, all in one text; undefined when nothing is. */
export function configurationError(config: JsonObject, schema: MapFields): string | undefined {
  const texts = mapProblems(config, schema).map(({ path, text }) =>
    path === "" ? text : `${path}: ${text}`,
  );
  if (texts.length <= 1) return texts[0];
  return ["errors:", ...texts.map((text) => `  ${text}`)].join("\n");
}
