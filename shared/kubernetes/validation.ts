// Validates names and values as apimachinery does. Each function returns upstream's error texts, none if valid.

const LABEL_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE = `(${LABEL_KEY})?`;
const DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;

const MAX_NAME_BYTES = 63;
const MAX_SUBDOMAIN_BYTES = 253;

// These patterns accept the same texts as upstream's above, but in linear time, since they nest no repetitions.
const LABEL_KEY_PATTERN = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_LABEL_PATTERN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

const KEY_FAULT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character" +
  ` (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${LABEL_KEY}')`;
const VALUE_FAULT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and" +
  " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is" +
  ` '${LABEL_VALUE}')`;
const SUBDOMAIN_FAULT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and" +
  ` end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${DNS_SUBDOMAIN}')`;

/** Checks the key of a label, taint or extended resource, "name" or "example.com/name" (upstream IsQualifiedName). */
export function labelKeyErrors(key: string): string[] {
  const parts = key.split("/");
  if (parts.length > 2) {
    return [
      `a valid label key ${KEY_FAULT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const errors: string[] = [];
  const name = parts.at(-1) ?? "";
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (prefix === "") {
    errors.push("prefix part must be non-empty");
  } else if (prefix !== undefined) {
    errors.push(...subdomainErrors(prefix, "bytes").map((error) => `prefix part ${error}`));
  }
  if (name === "") {
    errors.push("name part must be non-empty");
  } else if (byteLength(name) > MAX_NAME_BYTES) {
    errors.push(`name part must be no more than ${MAX_NAME_BYTES} bytes`);
  }
  if (!LABEL_KEY_PATTERN.test(name)) errors.push(`name part ${KEY_FAULT}`);
  return errors;
}

/** Checks the value of a label or taint (upstream IsValidLabelValue). */
export function labelValueErrors(value: string): string[] {
  const errors: string[] = [];
  if (byteLength(value) > MAX_NAME_BYTES) errors.push(`must be no more than ${MAX_NAME_BYTES} bytes`);
  if (value !== "" && !LABEL_KEY_PATTERN.test(value)) errors.push(VALUE_FAULT);
  return errors;
}

/** Checks the name of a Node or of most other objects (upstream IsDNS1123Subdomain). */
export function dnsSubdomainErrors(name: string): string[] {
  return subdomainErrors(name, "characters");
}

/** Checks a DNS subdomain. Upstream has this rule with "bytes" and with "characters", and counts bytes both times. */
function subdomainErrors(name: string, unit: "bytes" | "characters"): string[] {
  const errors: string[] = [];
  if (byteLength(name) > MAX_SUBDOMAIN_BYTES)
    errors.push(`must be no more than ${MAX_SUBDOMAIN_BYTES} ${unit}`);
  if (!name.split(".").every((label) => DNS_LABEL_PATTERN.test(label))) errors.push(SUBDOMAIN_FAULT);
  return errors;
}

/** Returns the bytes of the text in UTF-8, as Go counts them. */
function byteLength(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
