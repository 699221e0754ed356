// Names as DNS labels and path segments, in upstream's words (apimachinery/pkg/api/validate/content). Each function lists
// what is wrong with a text. shared/kubernetes/validation.ts has the other kinds of names.

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(String.raw`^${label}(\.${label})*$`);
const maxLabelBytes = 63;
const labelFault =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with " +
  `an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;

/** validation.IsDNS1123Label */
export function labelErrors(name: string): string[] {
  const isTooLong = Buffer.byteLength(name) > maxLabelBytes;
  const errors = isTooLong ? [`must be no more than ${maxLabelBytes} characters`] : [];
  if (labelPattern.test(name)) return errors;
  return [...errors, subdomainPattern.test(name) ? "must not contain dots" : labelFault];
}

/** path.ValidatePathSegmentName: the rule for names of RBAC objects and events. */
export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}
