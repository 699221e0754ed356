// Classifies resources by their names (pkg/apis/core/v1/helper).
import type { Quantity } from "./quantity/quantity.ts";
import { quantityText } from "./quantity/text.ts";
import { labelKeyErrors } from "./validation.ts";

const HUGE_PAGES_PREFIX = "hugepages-";
const REQUESTS_PREFIX = "requests.";

/** IsNativeResource: unprefixed, or with a kubernetes.io prefix. */
export function isNativeResourceName(name: string): boolean {
  return !name.includes("/") || isPrefixedNativeResourceName(name);
}

/** IsPrefixedNativeResource. */
export function isPrefixedNativeResourceName(name: string): boolean {
  return name.includes("kubernetes.io/");
}

/** IsExtendedResourceName: not native, and a qualified name also in a quota, where it is "requests.<name>". */
export function isExtendedResourceName(name: string): boolean {
  if (isNativeResourceName(name) || name.startsWith(REQUESTS_PREFIX)) return false;
  return labelKeyErrors(REQUESTS_PREFIX + name).length === 0;
}

/** IsHugePageResourceName. */
export function isHugePageResourceName(name: string): boolean {
  return name.startsWith(HUGE_PAGES_PREFIX);
}

/** HugePageResourceName: "hugepages-2Mi" for a page size in bytes. */
export function hugePageResourceName(pageSize: Quantity): string {
  return HUGE_PAGES_PREFIX + quantityText(pageSize);
}
