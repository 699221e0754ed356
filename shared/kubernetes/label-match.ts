// Decides whether a set of labels satisfies a selector (apimachinery's Requirement.Matches).
import type { LabelRequirement } from "./label-selector.ts";

/** Returns true if the labels satisfy all requirements. */
export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: Readonly<Record<string, string>>,
): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === "absent") return value === undefined;
    if (operator === "notin") return value === undefined || !values.includes(value);
    if (value === undefined) return false;
    if (operator === "exists") return true;
    if (operator === "in") return values.includes(value);
    if (!/^[-+]?\d+$/.test(value)) return false;
    const [actual, bound] = [BigInt(value.replace("+", "")), BigInt(values[0] ?? 0)];
    // Upstream compares a value only if it fits an int64.
    if (BigInt.asIntN(64, actual) !== actual) return false;
    return operator === ">" ? actual > bound : actual < bound;
  });
}
