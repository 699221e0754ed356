// Matches labels like apimachinery's Selector.Matches. The product selects by SQL; tests compare its results with
// this function's.
import type { LabelRequirement } from "../../../shared/kubernetes/label-selector.ts";

export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: Record<string, string>,
): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === "absent") return value === undefined;
    if (operator === "notin") return value === undefined || !values.includes(value);
    if (value === undefined) return false;
    if (operator === "exists") return true;
    if (operator === "in") return values.includes(value);
    if (!/^\d+$/.test(value) || BigInt(value) >= 2n ** 63n) return false;
    const bound = BigInt(values[0] ?? "");
    return operator === ">" ? BigInt(value) > bound : BigInt(value) < bound;
  });
}
