// Validates names as DNS labels and path segments, with upstream's texts (apimachinery/pkg/api/validate/content).
// Each function returns the faults of a name. shared/kubernetes/validation.ts validates other kinds of names.

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(String.raw`^${label}(\.${label})*$`);
const maxLabelBytes = 63;
const labelFault =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  `an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;

/** Validates a DNS label. Mirrors validation.IsDNS1123Label. */
export function labelErrors(name: string): string[] {
  const isTooLong = Buffer.byteLength(name) > maxLabelBytes;
  const errors = isTooLong ? [`must be no more than ${maxLabelBytes} characters`] : [];
  if (labelPattern.test(name)) return errors;
  return [...errors, subdomainPattern.test(name) ? "must not contain dots" : labelFault];
}

/** Validates the name of an RBAC object or event. Mirrors path.ValidatePathSegmentName. */
export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}
