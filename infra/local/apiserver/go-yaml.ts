// YAML as sigs.k8s.io/yaml reads it: version 1.1 without its dates, the last of keys that came twice. Knows no kind.
import { isScalar, LineCounter, parseAllDocuments, type ParsedNode, type Tags } from "yaml";
import type { Json } from "../../../shared/kubernetes/json.ts";

/** Upstream's reader leaves dates and sexagesimal numbers as text. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter(
    (tag) => typeof tag !== "string" && tag.tag !== "tag:yaml.org,2002:timestamp" && tag.format !== "TIME",
  );
}

/** What the YAML says, and keys that came twice, which count last. */
export function readYaml(text: string): { value: Json; repeated: string[] } | { error: string } {
  const lineCounter = new LineCounter();
  const repeated: string[] = [];
  const isRepeated = (first: ParsedNode, second: ParsedNode) => {
    if (isScalar(first) && isScalar(second) && first.value === second.value) {
      const { line } = lineCounter.linePos(Math.max(first.range[0], second.range[0]));
      repeated.push(`  line ${line}: key ${JSON.stringify(String(second.value))} already set in map`);
    }
    return false;
  };
  const options = { version: "1.1", lineCounter, uniqueKeys: isRepeated, customTags: withoutTimes } as const;
  const documents = parseAllDocuments(text, options);
  const [document] = documents;
  if (!document) return { value: null, repeated };
  const [error] = document.errors;
  if (error) return { error: error.message.split("\n")[0] ?? "" };
  const value: Json = document.toJS();
  return { value, repeated };
}
