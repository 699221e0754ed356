// Makes facts and vitals fit the Worker's schema and the size of a report, and names what was cut.
import type { Facts } from "../../shared/protocol/facts.ts";
import { factsWithinSchema, vitalsWithinSchema } from "../../shared/protocol/fit.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import type { Vitals } from "../../shared/protocol/report.ts";
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
  const cuts = [...fittedFacts.cuts, ...fittedVitals.cuts].map(({ text }) => text);
  return { facts: fittedFacts.facts as Facts, vitals: fittedVitals.vitals, cuts };
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
  "problems",
  "features",
  "runtimeHandlers",
  "attachLimits",
  "dropIns",
  "devices",
  "volumes",
] as const satisfies (keyof Facts)[];

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/**
 * Returns a function that fits facts to a proxy that accepts only smaller reports, and warns of what was cut if that
 * differs from the last report.
 */
export function proxyFitter(warn: Warn): (facts: Facts, vitals: Vitals, mostBytes: number) => Facts {
  let last = "";
  return (facts, vitals, mostBytes) => {
    const fitted = withinSize({ facts, vitals }, mostBytes);
    const text = fitted.cuts.join("; ");
    const most = `${mostBytes.toLocaleString("en")} bytes`;
    if (text !== last && text !== "") warn("report", `a proxy refuses larger reports than ${most}: ${text}`);
    last = text;
    return fitted.facts;
  };
}

/** Cuts groups of facts in CUT_ORDER until the report fits. `bytes` is the report's size before the cuts. */
export function withinSize(
  { facts, vitals }: Gathered,
  bodyBytes: number = LIMITS.bodyBytes,
): { facts: Facts; cuts: string[]; bytes: number } {
  const mostBytes = bodyBytes - ENVELOPE_BYTES - bytesOf(vitals);
  const bytes = bodyBytes - mostBytes + bytesOf(facts);
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
