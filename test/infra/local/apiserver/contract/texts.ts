// Defines upstream's texts about malformed names.

const subdomain = String.raw`[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*`;
const ends = "and must start and end with an alphanumeric character";
const key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";

export const badSubdomain =
  `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ends} ` +
  `(e.g. 'example.com', regex used for validation is '${subdomain}')`;
export const badLabel =
  `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ends} ` +
  "(e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const badKeyPart =
  `must consist of alphanumeric characters, '-', '_' or '.', ${ends} ` +
  `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${key}')`;
export const badName = `name part ${badKeyPart}`;
export const badPrefix = `prefix part ${badSubdomain}`;
export const badKey = `a valid label key ${badKeyPart} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
export const badValue =
  `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${ends} ` +
  `(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${key})?')`;
/** Returns an invalid value in the form in which errors quote it. */
export function invalidValue(value: string, why: string): string {
  return `Invalid value: ${JSON.stringify(value)}: ${why}`;
}
