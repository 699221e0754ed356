// Makes facts and vitals fit the Worker's schema and the size of a report, and names what was cut.
import type * as z from "zod/mini";
import { type Facts, factsSchema } from "../../shared/protocol/facts.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { reportSchema, type Vitals } from "../../shared/protocol/report.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import type { Warn } from "../base/reading.ts";

export interface Gathered {
  facts: Facts;
  vitals: Vitals;
}

/** Returns a function that fits each report, and warns of what was cut if that differs from the last report. */
export function reportFitter(warn: Warn): (gathered: Gathered) => Gathered {
  const last = { facts: "", report: "" };
  const note = (source: keyof typeof last, cuts: readonly string[], before = "") => {
    // The first word names the place. The rest may have numbers that change with each report, which is no news.
    const places = cuts.map((cut) => cut.split(" ")[0]).join();
    if (places !== last[source] && places !== "") warn(source, before + cuts.join("; "));
    last[source] = places;
  };
  return (gathered) => {
    const allowed = withinSchema(gathered);
    note("facts", allowed.cuts);
    const { facts, cuts, bytes } = withinSize(allowed);
    note("report", cuts, `${bytes.toLocaleString("en")} of ${LIMITS.bodyBytes.toLocaleString("en")} bytes: `);
    return { facts, vitals: allowed.vitals };
  };
}

/**
 * Judges each group of facts and each member of the vitals by the Worker's schema. Limits numbers, lists and texts
 * that are too large; leaves out a group with any other fault.
 */
export function withinSchema({ facts, vitals }: Gathered): Gathered & { cuts: string[] } {
  const fittedFacts = factsWithinSchema(facts);
  const fittedVitals = vitalsWithinSchema(vitals);
  const cuts = [...fittedFacts.cuts, ...fittedVitals.cuts];
  return { facts: fittedFacts.facts, vitals: fittedVitals.vitals, cuts };
}

/** The fact groups without which the Worker accepts no facts. The shim changes nothing in them. */
const REQUIRED = new Set<string>(["settings", "platform"]);

function factsWithinSchema(facts: Facts): { facts: Facts; cuts: string[] } {
  const cuts: string[] = [];
  const fitted: Record<string, unknown> = { ...facts };
  for (const [name, schema] of Object.entries<z.ZodMiniType>(factsSchema.shape)) {
    if (!(name in fitted)) continue;
    if (!REQUIRED.has(name)) {
      fitMember(fitted, name, schema, cuts);
      continue;
    }
    const parsed = schema.safeParse(fitted[name]);
    if (parsed.success) continue;
    const { path, message } = firstFault(parsed.error);
    cuts.push(`/${name}${path} has a value that the Worker refuses: ${message}`);
  }
  return { facts: fitted as Facts, cuts };
}

/** Judges the vitals of a report or of a probe as `withinSchema` does. Signals that cannot be limited become none. */
export function vitalsWithinSchema(vitals: Vitals): { vitals: Vitals; cuts: string[] } {
  const cuts: string[] = [];
  const fitted: Record<string, unknown> = { ...vitals };
  for (const [name, schema] of Object.entries<z.ZodMiniType>(reportSchema.shape.vitals.shape))
    if (name in fitted) fitMember(fitted, name, schema, cuts);
  return { vitals: { signals: {}, ...fitted }, cuts };
}

/** The rounds in which a value is limited. Each round shows the faults that the last round's faults hid. */
const ROUNDS = 4;

/** Limits a member of `holder`; deletes it and returns false if that is impossible. Adds a text for each change. */
function fitMember(
  holder: Record<string, unknown>,
  name: string,
  schema: z.ZodMiniType,
  cuts: string[],
): boolean {
  for (let round = 0; round < ROUNDS; round++) {
    const parsed = schema.safeParse(holder[name]);
    if (parsed.success) return true;
    if (round === 0) holder[name] = structuredClone(holder[name]);
    // The last element first, so that the earlier indexes stay valid.
    const done = parsed.error.issues
      .toReversed()
      .every((issue) => limit(holder, [name, ...issue.path], sizeIssue(issue), cuts));
    if (done) continue;
    const { path, message } = firstFault(parsed.error);
    cuts.push(`${name} is left out, since the Worker refuses /${name}${path}: ${message}`);
    break;
  }
  delete holder[name];
  return false;
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
  cuts: string[],
): boolean {
  if (issue.code !== "too_big") return false;
  const keys = path.map(String);
  const last = keys.at(-1) ?? "";
  const parents = keys.slice(0, -1);
  const parent = parents.reduce((value: Record<string, unknown>, key) => value[key] as never, holder);
  const most = Number(issue.maximum);
  const value = parent[last];
  const pointer = `/${keys.join("/")}`;
  if (typeof value === "number") {
    // zod has two issues for an unsafe integer, and the first one is fixed already.
    if (value === most) return true;
    parent[last] = most;
    cuts.push(`${pointer} is limited to ${most} instead of ${value}`);
  } else if (Array.isArray(value)) {
    parent[last] = value.slice(0, most);
    cuts.push(`${pointer} is cut to ${most} of ${value.length} entries`);
  } else if (typeof value === "string" && !Array.isArray(parent)) {
    parent[last] = value.slice(0, most).toWellFormed();
    cuts.push(`${pointer} is cut to ${most} of ${value.length} characters`);
  } else return false;
  return true;
}

/** The bytes of a report besides its facts and vitals: startId, digest, times, and the names of the fields. */
const ENVELOPE_BYTES = 1024;

/**
 * The order in which groups are cut from a report that is too large. `images` and `volumes` lose the last entries of
 * their lists, and other groups are left out whole.
 */
export const CUT_ORDER = [
  "images",
  "inventory",
  "custom",
  "runtimeHandlers",
  "attachLimits",
  "dropIns",
  "devices",
  "volumes",
] as const satisfies (keyof Facts)[];

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** Cuts groups of facts in CUT_ORDER until the report fits. `bytes` is the report's size before the cuts. */
export function withinSize({ facts, vitals }: Gathered): { facts: Facts; cuts: string[]; bytes: number } {
  const mostBytes = LIMITS.bodyBytes - ENVELOPE_BYTES - bytesOf(vitals);
  const bytes = LIMITS.bodyBytes - mostBytes + bytesOf(facts);
  const cuts: string[] = [];
  let fitted = facts;
  for (const name of CUT_ORDER) {
    const overBytes = bytesOf(fitted) - mostBytes;
    if (overBytes <= 0) break;
    if (fitted[name] === undefined || fitted[name] === null) continue;
    const { [name]: _, ...rest } = fitted;
    if (name === "images" || name === "volumes") {
      const list: unknown[] = name === "images" ? (fitted.images ?? []) : (fitted.volumes?.inUse ?? []);
      const kept = list.slice(0, entriesWithout(list, overBytes));
      cuts.push(`${name} were cut to ${kept.length}`);
      fitted = { ...rest, ...withList(name, kept, fitted) };
    } else {
      cuts.push(`${name} was left out`);
      fitted = rest;
    }
  }
  return { facts: fitted, cuts, bytes };
}

function withList(name: "images" | "volumes", kept: unknown[], { volumes }: Facts): Partial<Facts> {
  if (name === "images") return { images: kept as NonNullable<Facts["images"]> };
  return volumes === undefined ? {} : { volumes: { ...volumes, inUse: kept as string[] } };
}

/** Returns the number of entries that remain if the last ones with `overBytes` in all are cut. */
function entriesWithout(list: readonly unknown[], overBytes: number): number {
  let leftBytes = overBytes;
  let kept = list.length;
  // Each entry has a comma.
  for (; kept > 0 && leftBytes > 0; kept--) leftBytes -= bytesOf(list[kept - 1]) + 1;
  return kept;
}
