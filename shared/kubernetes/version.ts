// Parses version texts as Kubernetes does (k8s.io/apimachinery/pkg/util/version).

const VERSION = /^\s*v?(\d+(?:\.\d+)*)(.*)$/;
const EXTRA = /^(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\s*$/;
const UINT64_MAX = 2n ** 64n - 1n;

/**
 * Returns the canonical version (upstream version.Parse, then String): "v2.1.9" becomes "2.1.9". A text that is no
 * semantic version keeps only its numbers: "1.6.20~ds1" becomes "1.6.20". null if the text is no version.
 */
export function canonicalVersion(text: string): string | null {
  return parse(text, true) ?? parse(text, false);
}

function parse(text: string, isSemantic: boolean): string | null {
  const [, numbers = "", extra = ""] = VERSION.exec(text) ?? [];
  const components = numbers.split(".");
  if (isSemantic ? components.length !== 3 : components.length < 2) return null;
  const isAllowed = (component: string, index: number) =>
    (!hasLeadingZero(component) || (index > 0 && !isSemantic)) && BigInt(component) <= UINT64_MAX;
  if (!components.every(isAllowed)) return null;
  const version = components.map((component) => String(BigInt(component))).join(".");
  return isSemantic ? withExtra(version, extra) : version;
}

/** Returns the version with the pre-release and build metadata in `extra`; null if `extra` is neither. */
function withExtra(version: string, extra: string): string | null {
  const parts = EXTRA.exec(extra);
  if (parts === null) return null;
  const [, preRelease = "", buildMetadata = ""] = parts;
  const isNumber = (part: string) => /^\d+$/.test(part) && BigInt(part) <= UINT64_MAX;
  if (preRelease.split(".").some((part) => isNumber(part) && hasLeadingZero(part))) return null;
  return `${version}${preRelease && `-${preRelease}`}${buildMetadata && `+${buildMetadata}`}`;
}

function hasLeadingZero(digits: string): boolean {
  return digits.length > 1 && digits.startsWith("0");
}
