// Classifies resources by their names (pkg/apis/core/v1/helper).
import type { Quantity } from "./quantity/quantity.ts";
import { quantityText } from "./quantity/text.ts";
import { labelKeyErrors } from "./validation.ts";

const HUGE_PAGES_PREFIX = "hugepages-";
const REQUESTS_PREFIX = "requests.";

/** Returns true for a name without a prefix, or with a kubernetes.io prefix (upstream IsNativeResource). */
export function isNativeResourceName(name: string): boolean {
  return !name.includes("/") || isPrefixedNativeResourceName(name);
}

/** Returns true for a name with a kubernetes.io prefix (upstream IsPrefixedNativeResource). */
export function isPrefixedNativeResourceName(name: string): boolean {
  return name.includes("kubernetes.io/");
}

/** Returns true if `name` is not native, and "requests." + `name` is qualified (upstream IsExtendedResourceName). */
export function isExtendedResourceName(name: string): boolean {
  if (isNativeResourceName(name) || name.startsWith(REQUESTS_PREFIX)) return false;
  return labelKeyErrors(REQUESTS_PREFIX + name).length === 0;
}

/** Returns true for the name of a huge page resource (upstream IsHugePageResourceName). */
export function isHugePageResourceName(name: string): boolean {
  return name.startsWith(HUGE_PAGES_PREFIX);
}

/** Returns the resource of a page size in bytes: "hugepages-2Mi" (upstream HugePageResourceName). */
export function hugePageResourceName(pageSize: Quantity): string {
  return HUGE_PAGES_PREFIX + quantityText(pageSize);
}
