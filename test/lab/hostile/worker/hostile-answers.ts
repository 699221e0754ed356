// Makes hostile answers from the API's description: escape sequences in every text, absurd numbers, long lists.
import { openapiText } from "../../../../infra/openapi/document.ts";
import type { Random } from "../random.ts";

/** The part of JSON Schema that the description uses. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  prefixItems?: Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}
interface Operation {
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const DOCUMENT = JSON.parse(openapiText()) as Document;

/** The answers of a route by status, from its description; undefined for an unknown path. */
export function operationOf(method: string, path: string): Operation | undefined {
  const isPath = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path);
  const found = Object.entries(DOCUMENT.paths).find(([template]) => isPath(template));
  return found?.[1][method.toLowerCase()];
}

const MARK = "forged";
/** Texts that a terminal obeys: colours, title, cursor, C1, a line of its own, the writing direction. */
const SEQUENCES = [
  "\u001B[31m",
  "\u001B]0;owned\u0007",
  "\u001B[2J\u001B[1;1H",
  "\u009B2J",
  "\u008D",
  "\u007F",
  "\r",
  `\n${MARK}: ok`,
  "\u202E",
  "\u2066",
  "\u2028",
  "\u0000",
  "\u001B]8;;https://attacker.example\u0007link\u001B]8;;\u0007",
];
const NUMBERS = [0, -1, 1e-9, 0.5, 59, 1e9, 2 ** 53, -(2 ** 53), 1e300, -1e300];

export function hostileText(random: Random): string {
  const parts = Array.from({ length: 1 + random.int(3) }, () => `x${random.pick(SEQUENCES)}y`);
  return parts.join("") + (random.chance(0.02) ? "z".repeat(100_000) : "");
}

/** Returns a value that follows the schema in its shape, and in nothing else if `isOdd`. */
export function hostileValue(schema: Schema, random: Random, isOdd: boolean, depth = 0): unknown {
  if (isOdd && random.chance(0.02)) return random.pick([null, [], {}, "", -1, hostileText(random)]);
  const next = (of: Schema) => hostileValue(of, random, isOdd, depth + 1);
  if (schema.$ref) return next(DOCUMENT.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return next(random.pick(choices));
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((each) => next(each)));
  const isText = schema.type === "string" || typeof (schema.const ?? schema.enum?.[0]) === "string";
  // A text with one of several values: an open one may have any, since a later Worker may have others.
  if (schema.const !== undefined) return isOdd && isText ? hostileText(random) : schema.const;
  if (schema.enum) return isText && random.chance(0.5) ? hostileText(random) : random.pick(schema.enum);
  const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type;
  if (type === "string") return hostileText(random);
  if (type === "integer" || type === "number") return isOdd ? random.pick(NUMBERS) : random.int(100);
  if (type === "boolean") return random.chance(0.5);
  if (type === "null") return null;
  if (type === "array") {
    if (schema.prefixItems) return schema.prefixItems.map((each) => next(each));
    return depth > 12 ? [] : Array.from({ length: random.int(4) }, () => next(schema.items ?? {}));
  }
  if (type === undefined && !schema.properties) return hostileText(random);
  const known = Object.entries(schema.properties ?? {}).map(([key, of]) => [key, next(of)]);
  const open = schema.additionalProperties;
  // A field that no schema knows, or another member of a map.
  const other = typeof open === "object" ? next(open) : hostileText(random);
  return Object.fromEntries([...known, [hostileText(random), other]]);
}

/** Returns the status and body of a hostile answer to this request. */
export function hostileAnswer(
  method: string,
  path: string,
  random: Random,
): { status: number; type: string; body: string } {
  const operation = operationOf(method, path);
  const statuses = Object.keys(operation?.responses ?? {}).filter((status) => /^\d+$/.test(status));
  const good = statuses.filter((status) => status.startsWith("2"));
  const status = random.pick(random.chance(0.7) && good.length > 0 ? good : [...statuses, "500"]);
  const [type, content] = Object.entries(operation?.responses[status]?.content ?? {})[0] ?? [
    "application/problem+json",
    undefined,
  ];
  const schema = content?.schema ?? { $ref: "#/components/schemas/Problem" };
  const value = hostileValue(schema, random, random.chance(0.3));
  return {
    status: Number(status),
    type,
    body: type.includes("json") ? JSON.stringify(value) : String(value),
  };
}

/** Returns the first fault of an output; null if a terminal obeys nothing of it. `hasColours`: own ones are allowed. */
export function faultOfOutput(output: string, hasColours: boolean): string | null {
  // oxlint-disable-next-line no-control-regex -- the colours of the command line
  const bare = hasColours ? output.replaceAll(/\u001B\[(?:[012]|3[1-6])m/g, "") : output;
  const control = /[^\n\t\P{Cc}]|[\u2028\u2029\p{Bidi_Control}]/u.exec(bare);
  if (control)
    return `a control character: ${JSON.stringify(bare.slice(Math.max(0, control.index - 20), control.index + 20))}`;
  return new RegExp(`^${MARK}`, "m").test(bare) ? "a forged line" : null;
}
