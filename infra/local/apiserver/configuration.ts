// Reads an applied configuration: YAML, of which JSON is a part, as sigs.k8s.io/yaml reads it. Knows no kind.
import { isJsonObject, type Json, type JsonObject } from "../../../shared/kubernetes/json.ts";
import { parseGoJson } from "./go-json.ts";
import { readYaml } from "./go-yaml.ts";
import { goKind } from "./kinds/decode-scalar.ts";
import type { Outcome } from "./object.ts";
import * as refuse from "./status.ts";

export interface Configuration {
  config: JsonObject;
  /** What a strict reader would complain of: fields that came twice. */
  strictError?: string;
}

const conversion = "error converting YAML to JSON: yaml: ";

function parse(text: string): { value: Json; repeated: string[] } | { error: string } {
  const asJson = parseGoJson(text, true);
  const isPlain = !("error" in asJson) && asJson.duplicates === undefined;
  return isPlain ? { value: asJson.value, repeated: [] } : readYaml(text);
}

/** The configuration in a body; an empty one when there is nothing in it. */
export function parseConfiguration(text: string): Outcome<Configuration> {
  const parsed = parse(text);
  if ("error" in parsed) {
    return { refused: refuse.badRequest(`error decoding YAML: ${conversion}${parsed.error}`) };
  }
  const { value, repeated } = parsed;
  if (value !== null && !isJsonObject(value)) {
    const mismatch = `json: cannot unmarshal ${goKind(value)} into Go value of type map[string]interface {}`;
    const message = `error decoding YAML: error unmarshaling JSON: while decoding JSON: ${mismatch}`;
    return { refused: refuse.badRequest(message) };
  }
  const config = value ?? {};
  if (repeated.length === 0) return { ok: { config } };
  return { ok: { config, strictError: [`${conversion}unmarshal errors:`, ...repeated].join("\n") } };
}
