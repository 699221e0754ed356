// Reads NodeFeatureRule objects from files in YAML or JSON, and checks that the Worker can take them.
import { readFileSync } from "node:fs";
import * as z from "zod/mini";
import { codeOf } from "../../../node-shim/base/fault.ts";
import { parseRuleObject, RULE_LIMITS, type RuleObject } from "../../../shared/features/rule-file.ts";
import { RULE_SET_LIMITS, ruleSetBytes } from "../../../shared/protocol/rules.ts";
import { type Result, success } from "../../../shared/result.ts";
import { fault, type OperatorFault } from "../fault.ts";

/** A NodeFeatureRule of the Worker, which has checked it. */
export const storedObjectSchema = z.looseObject({
  // Fields are printed in this order.
  apiVersion: z.unknown(),
  kind: z.unknown(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ rules: z.array(z.unknown()) }),
});
export type StoredObject = z.infer<typeof storedObjectSchema>;

/** Leaves out the fields that an apiserver adds to an object, since a file in Git has none of them. */
const ownFieldsSchema = z.object({
  apiVersion: z.unknown(),
  kind: z.unknown(),
  metadata: z.object({
    name: z.string(),
    labels: z.optional(z.unknown()),
    annotations: z.optional(z.nullable(z.record(z.string(), z.unknown()))),
  }),
  spec: storedObjectSchema.shape.spec,
});
/** kubectl's copy of the whole object. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

export interface FileObject extends RuleObject {
  file: string;
  /** The object as the Worker gets it. */
  stored: StoredObject;
}

/** Reads the objects of all files. Fails at the first fault, with its file and place. */
export async function ruleObjects(files: readonly string[]): Promise<Result<FileObject[], OperatorFault>> {
  const objects: FileObject[] = [];
  for (const file of files) {
    const documents = await documentsIn(file);
    if (!documents.ok) return documents;
    for (const document of documents.value) {
      const object = parseRuleObject(document);
      if (!object.ok) return fault("failed", `${file}: ${object.error}`);
      if (objects.some(({ name }) => name === object.value.name))
        return fault("failed", `${file}: two objects have the name ${object.value.name}`);
      objects.push({ ...object.value, file, stored: storedOf(document) });
    }
  }
  return success(objects);
}

function storedOf(document: unknown): StoredObject {
  const { metadata, ...object } = ownFieldsSchema.parse(document);
  const { name, labels, annotations } = metadata;
  const own = Object.entries(annotations ?? {}).filter(([key]) => key !== LAST_APPLIED);
  const kept = {
    name,
    ...(labels != null && { labels }),
    ...(own.length > 0 && { annotations: Object.fromEntries(own) }),
  };
  return { ...object, metadata: kept };
}

/** Returns the fault of the first object with which the other objects and those of files exceed a limit. */
export function limitFault(others: readonly StoredObject[], added: readonly FileObject[]): string | null {
  const { objects: mostObjects, rules: mostRules, nameLength, bytes: mostBytes } = RULE_SET_LIMITS;
  const objects = [...others];
  let rules = others.reduce((sum, { spec }) => sum + spec.rules.length, 0);
  for (const { file, name, rules: own, stored } of added) {
    const long = own.find((rule) => name.length + 1 + rule.name.length > nameLength);
    if (long) return `${file}: the name ${name}/${long.name} has more than ${nameLength} characters`;
    objects.push(stored);
    rules += own.length;
    const exceeded =
      (objects.length > mostObjects && `${mostObjects} objects`) ||
      (rules > mostRules && `${mostRules} rules`) ||
      (ruleSetBytes(objects) > mostBytes && `${mostBytes} bytes in a backup`);
    if (exceeded) return `${file}: with ${name} all rules together have more than ${exceeded}`;
  }
  return null;
}

/** A short text with aliases of aliases could become one of gigabytes. */
const MOST_ALIASES = 1000;

const listSchema = z.object({ items: z.array(z.unknown()) });

/** Returns the objects of a file in YAML or JSON, with those of a List in it. */
export async function documentsIn(file: string): Promise<Result<unknown[], OperatorFault>> {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (error) {
    return fault("usage", `${file} cannot be read (${codeOf(error)})`);
  }
  if (text.length > RULE_LIMITS.file)
    return fault("usage", `${file} has more than ${RULE_LIMITS.file} characters`);
  const { parseAllDocuments } = await import("yaml");
  const documents = parseAllDocuments(text, { strict: true, uniqueKeys: true, merge: true });
  const values: unknown[] = [];
  for (const document of "empty" in documents ? [] : documents) {
    const [error] = document.errors;
    if (error) return fault("failed", `${file}: ${error.message.split("\n", 1)[0]}`);
    try {
      const value: unknown = document.toJS({ maxAliasCount: MOST_ALIASES });
      const list = listSchema.safeParse(value);
      if (value !== null) values.push(...(list.success ? list.data.items : [value]));
    } catch (thrown) {
      return fault("failed", `${file}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    }
  }
  return values.length > 0 ? success(values) : fault("failed", `${file} has no object`);
}
