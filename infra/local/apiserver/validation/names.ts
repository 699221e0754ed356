// What names, label keys and label values may look like, in upstream's words (apimachinery/pkg/api/validate/content).
// Pure text checks: each gives what is wrong with a text, nothing when it is fine.

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = String.raw`${label}(\.${label})*`;
const labelKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const labelValue = `(${labelKey})?`;

const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(`^${subdomain}$`);
const labelKeyPattern = new RegExp(`^${labelKey}$`);
const labelValuePattern = new RegExp(`^${labelValue}$`);

const maxLabelLength = 63;
const maxSubdomainLength = 253;

const lowercase = "consist of lower case alphanumeric characters";
const ends = "and must start and end with an alphanumeric character";

/** content.RegexError */
function mismatch(message: string, pattern: string, ...examples: string[]): string {
  const quoted = examples.map((example) => `'${example}', `).join(" or ");
  return `${message} (e.g. ${quoted}regex used for validation is '${pattern}')`;
}

/** Upstream has two functions, which count bytes both. */
type Unit = "bytes" | "characters";

function tooLong(text: string, maximum: number, unit: Unit): string[] {
  return Buffer.byteLength(text) > maximum ? [`must be no more than ${maximum} ${unit}`] : [];
}

/** validation.IsDNS1123Subdomain, and content.IsDNS1123Subdomain, which says bytes. */
export function subdomainErrors(name: string, unit: Unit = "characters"): string[] {
  const errors = tooLong(name, maxSubdomainLength, unit);
  if (subdomainPattern.test(name)) return errors;
  const message = `a lowercase RFC 1123 subdomain must ${lowercase}, '-' or '.', ${ends}`;
  return [...errors, mismatch(message, subdomain, "example.com")];
}

/** validation.IsDNS1123Label */
export function labelErrors(name: string): string[] {
  const errors = tooLong(name, maxLabelLength, "characters");
  if (labelPattern.test(name)) return errors;
  if (subdomainPattern.test(name)) return [...errors, "must not contain dots"];
  const message = `a lowercase RFC 1123 label must ${lowercase} or '-', ${ends}`;
  return [...errors, mismatch(message, label, "my-name", "123-abc")];
}

/** path.ValidatePathSegmentName: what RBAC objects and events may be called. */
export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
}

function prefixErrors(prefix: string): string[] {
  if (prefix === "") return ["prefix part must be non-empty"];
  return subdomainErrors(prefix, "bytes").map((error) => `prefix part ${error}`);
}

const labelKeyText = `must consist of alphanumeric characters, '-', '_' or '.', ${ends}`;
const labelKeyExamples = ["MyName", "my.name", "123-abc"];

/** content.IsLabelKey, also known as a qualified name: labels, annotations, taints, finalizers, resources. */
export function qualifiedNameErrors(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    const message = mismatch(`a valid label key ${labelKeyText}`, labelKey, ...labelKeyExamples);
    return [`${message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const [name = "", prefix] = parts.toReversed();
  const errors = prefix === undefined ? [] : prefixErrors(prefix);
  if (name === "") errors.push("name part must be non-empty");
  else errors.push(...tooLong(name, maxLabelLength, "bytes").map((error) => `name part ${error}`));
  if (labelKeyPattern.test(name)) return errors;
  return [...errors, `name part ${mismatch(labelKeyText, labelKey, ...labelKeyExamples)}`];
}

/** content.IsLabelValue */
export function labelValueErrors(value: string): string[] {
  const errors = tooLong(value, maxLabelLength, "bytes");
  if (labelValuePattern.test(value)) return errors;
  const message =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', " + ends;
  return [...errors, mismatch(message, labelValue, "MyValue", "my_value", "12345")];
}
