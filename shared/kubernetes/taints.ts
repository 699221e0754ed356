// Reads and writes taints as texts, "key=value:Effect" (pkg/util/taints and --register-with-taints).
import type { Taint } from "./types.ts";
import { labelKeyErrors, labelValueErrors } from "./validation.ts";

export type TaintsResult =
  | { taints: Taint[]; taintsToRemove: Taint[]; error: null }
  | { taints: null; taintsToRemove: null; error: string };

const EFFECTS: ReadonlySet<string> = new Set(["NoSchedule", "PreferNoSchedule", "NoExecute"]);

/**
 * Upstream ParseTaints: "key=value:Effect" and "key:Effect" add a taint, a "-" behind them or behind "key" removes
 * one. Errors are upstream's texts.
 */
export function parseTaints(specs: readonly string[]): TaintsResult {
  const taints: Taint[] = [];
  const taintsToRemove: Taint[] = [];
  for (const spec of specs) {
    const removes = spec.endsWith("-");
    const parsed = parseTaint(removes ? spec.slice(0, -1) : spec);
    if (typeof parsed === "string") return failed(parsed);
    const { key, effect } = parsed;
    if (removes) {
      taintsToRemove.push({ key, effect });
      continue;
    }
    if (effect === "") return failed(`invalid taint spec: ${spec}`);
    if (taints.some((taint) => taint.key === key && taint.effect === effect)) {
      return failed(`duplicated taints with the same key and effect: ${spec}`);
    }
    taints.push(parsed);
  }
  return { taints, taintsToRemove, error: null };
}

/** Reads --register-with-taints: comma separated, what would be removed is ignored. */
export function parseTaintsFlag(flag: string): TaintsResult {
  return parseTaints(flag === "" ? [] : flag.split(","));
}

/** The text of --register-with-taints for these taints. */
export function taintsFlag(taints: readonly Taint[]): string {
  return taints.map(({ key, value, effect }) => `${key}=${value ?? ""}:${effect}`).join(",");
}

function failed(error: string): TaintsResult {
  return { taints: null, taintsToRemove: null, error };
}

/** Upstream parseTaint: the taint, or what is wrong with it. An effect of "" is only good for removing. */
function parseTaint(text: string): Taint | string {
  const [subject = "", effect, ...more] = text.split(":");
  if (more.length > 0) return `invalid taint spec: ${text}`;
  if (effect === undefined) return keyFault(text, subject) ?? { key: subject, effect: "" };
  if (!EFFECTS.has(effect)) return `invalid taint effect: ${effect}, unsupported taint effect`;
  const [key = "", value, ...rest] = subject.split("=");
  if (rest.length > 0) return `invalid taint spec: ${text}`;
  const valueErrors = labelValueErrors(value ?? "");
  if (valueErrors.length > 0) return `invalid taint spec: ${text}, ${valueErrors.join("; ")}`;
  return keyFault(text, key) ?? { key, ...(value ? { value } : {}), effect };
}

function keyFault(text: string, key: string): string | null {
  const errors = labelKeyErrors(key);
  return errors.length > 0 ? `invalid taint spec: ${text}, ${errors.join("; ")}` : null;
}
