// Fits facts and vitals to their schemas, each group by itself, so that one value does not cost a whole report. The shim
// fits before it reports; the Worker fits the reports of other shims in the same way.
import type * as z from "zod/mini";
import { factsSchema } from "./facts.ts";
import { reportSchema, type Vitals } from "./report.ts";
import { firstFault } from "./schema.ts";

/** A change that fits a value to its schema. */
export interface Cut {
  /** The JSON Pointer to the value: `/machine/swapBytes`. */
  path: string;
  message: string;
  /** The cut as one line for a log. */
  text: string;
  /** true if the whole group is left out. */
  isLeftOut?: true;
}

/** The groups without which the Worker accepts no facts. They are never changed. */
const REQUIRED = new Set<string>(["settings", "platform"]);

/**
 * Limits numbers, lists and texts that are too large; leaves out a group with any other fault. Returns the cuts; a fault of
 * a required group is one of them, and stays.
 */
export function factsWithinSchema(facts: object): { facts: Record<string, unknown>; cuts: Cut[] } {
  const cuts: Cut[] = [];
  const fitted: Record<string, unknown> = { ...facts };
  const schemas = new Map<string, z.ZodMiniType>(Object.entries(factsSchema.shape));
  for (const name of Object.keys(fitted)) {
    const schema = schemas.get(name);
    if (schema === undefined) {
      delete fitted[name];
      cuts.push(leftOut(name, "", "unknown field"));
    } else if (!REQUIRED.has(name)) fitMember(fitted, name, schema, cuts);
    else {
      const parsed = schema.safeParse(fitted[name]);
      if (parsed.success) continue;
      const { path, message } = firstFault(parsed.error);
      const pointer = `/${name}${path}`;
      cuts.push({
        path: pointer,
        message,
        text: `${pointer} has a value that the Worker refuses: ${message}`,
      });
    }
  }
  return { facts: fitted, cuts };
}

/** Fits the vitals of a report or of a probe as `factsWithinSchema` does. Signals that cannot be limited become none. */
export function vitalsWithinSchema(vitals: object): { vitals: Vitals; cuts: Cut[] } {
  const cuts: Cut[] = [];
  const fitted: Record<string, unknown> = { ...vitals };
  for (const [name, schema] of Object.entries<z.ZodMiniType>(reportSchema.shape.vitals.shape))
    if (name in fitted) fitMember(fitted, name, schema, cuts);
  return { vitals: { signals: {}, ...fitted }, cuts };
}

function leftOut(name: string, path: string, message: string): Cut {
  const pointer = `/${name}${path}`;
  const text = `${name} is left out, since the Worker refuses ${pointer}: ${message}`;
  return { path: pointer, message, text, isLeftOut: true };
}

/** The rounds in which a value is limited. Each round shows the faults that the last round's faults hid. */
const ROUNDS = 4;

/** Limits a member of `holder`, or deletes it if that is impossible. Adds a cut for each change. */
function fitMember(holder: Record<string, unknown>, name: string, schema: z.ZodMiniType, cuts: Cut[]): void {
  for (let round = 0; round < ROUNDS; round++) {
    const parsed = schema.safeParse(holder[name]);
    if (parsed.success) return;
    const issues = parsed.error.issues.map((issue) => ({
      path: [name, ...issue.path],
      issue: sizeIssue(issue),
    }));
    if (issues.every(({ issue }) => issue.code === "too_big")) {
      // The caller's value stays as it is.
      if (round === 0) holder[name] = JSON.parse(JSON.stringify(holder[name]));
      // The last element first, so that the earlier indexes stay valid.
      if (issues.toReversed().every(({ path, issue }) => limit(holder, path, issue, cuts))) continue;
    }
    const { path, message } = firstFault(parsed.error);
    cuts.push(leftOut(name, path, message));
    break;
  }
  delete holder[name];
}

/** Returns the issue of a value that is too large; of a union, the issue of its first form. */
function sizeIssue(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  return issue.code === "invalid_union" ? (issue.errors[0]?.[0] ?? issue) : issue;
}

/** Limits the value at a path. Returns false if the issue is another than a size. */
function limit(
  holder: Record<string, unknown>,
  path: readonly PropertyKey[],
  issue: z.core.$ZodIssue,
  cuts: Cut[],
): boolean {
  if (issue.code !== "too_big") return false;
  const keys = path.map(String);
  const last = keys.at(-1) ?? "";
  const parents = keys.slice(0, -1);
  const parent = parents.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), holder);
  if (!isRecord(parent)) return false;
  const most = Number(issue.maximum);
  const value = parent[last];
  const pointer = `/${keys.join("/")}`;
  const cut = (message: string) => void cuts.push({ path: pointer, message, text: `${pointer} ${message}` });
  if (typeof value === "number") {
    // zod has two issues for an unsafe integer, and the first one is fixed already.
    if (value === most) return true;
    parent[last] = most;
    cut(`is limited to ${most} instead of ${value}`);
  } else if (Array.isArray(value)) {
    parent[last] = value.slice(0, most);
    cut(`is cut to ${most} of ${value.length} entries`);
    // A shorter name or address in a list would be another one. A shorter error is not.
  } else if (typeof value === "string" && (!Array.isArray(parent) || keys[0] === "errors")) {
    parent[last] = value.slice(0, most).toWellFormed();
    cut(`is cut to ${most} of ${value.length} characters`);
  } else return false;
  return true;
}

/** Returns whether a value has members by name; those of an array are its elements by index. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
