// Parses and prints taints, "key=value:Effect" (pkg/util/taints and --register-with-taints).
import type { Taint } from "./types.ts";
import { labelKeyErrors, labelValueErrors } from "./validation.ts";
import { failure, type Result, success } from "../result.ts";

export interface ParsedTaints {
  taints: Taint[];
  taintsToRemove: Taint[];
}

const EFFECTS: ReadonlySet<string> = new Set(["NoSchedule", "PreferNoSchedule", "NoExecute"]);

/**
 * Parses taints (upstream ParseTaints). "key=value:Effect" and "key:Effect" add a taint. A "-" at the end removes
 * the taint; "key-" removes all taints of the key. Errors are upstream's texts.
 */
export function parseTaints(specs: readonly string[]): Result<ParsedTaints> {
  const taints: Taint[] = [];
  const taintsToRemove: Taint[] = [];
  for (const spec of specs) {
    const removes = spec.endsWith("-");
    const parsed = parseTaint(removes ? spec.slice(0, -1) : spec);
    if (!parsed.ok) return parsed;
    const { key, effect } = parsed.value;
    if (removes) {
      taintsToRemove.push({ key, effect });
      continue;
    }
    if (effect === "") return failure(`invalid taint spec: ${spec}`);
    if (taints.some((taint) => taint.key === key && taint.effect === effect)) {
      return failure(`duplicated taints with the same key and effect: ${spec}`);
    }
    taints.push(parsed.value);
  }
  return success({ taints, taintsToRemove });
}

/** Parses --register-with-taints, whose taints are separated by commas. The kubelet ignores `taintsToRemove`. */
export function parseTaintsFlag(flag: string): Result<ParsedTaints> {
  return parseTaints(flag === "" ? [] : flag.split(","));
}

/** Parses one taint (upstream parseTaint). The effect may be "" only in a text that removes taints. */
function parseTaint(text: string): Result<Taint> {
  const [subject = "", effect, ...more] = text.split(":");
  if (more.length > 0) return failure(`invalid taint spec: ${text}`);
  if (effect === undefined) return withKey(text, { key: subject, effect: "" });
  if (!EFFECTS.has(effect)) return failure(`invalid taint effect: ${effect}, unsupported taint effect`);
  const [key = "", value, ...rest] = subject.split("=");
  if (rest.length > 0) return failure(`invalid taint spec: ${text}`);
  const valueErrors = labelValueErrors(value ?? "");
  if (valueErrors.length > 0) return failure(`invalid taint spec: ${text}, ${valueErrors.join("; ")}`);
  return withKey(text, { key, ...(value ? { value } : {}), effect });
}

function withKey(text: string, taint: Taint): Result<Taint> {
  const errors = labelKeyErrors(taint.key);
  return errors.length > 0 ? failure(`invalid taint spec: ${text}, ${errors.join("; ")}`) : success(taint);
}
