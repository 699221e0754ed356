// Reads YAML as a kubelet does: by YAML 1.1, in which yes and on are true, and with the last of equal keys.
import { parseDocument, type ScalarTag, type Tags } from "yaml";
import { parseInteger } from "../../shared/go/integer.ts";
import { failure, type Result, success } from "../../shared/result.ts";

export interface ParsedYaml {
  document: unknown;
  /** Where a key stands again: "Map keys must be unique at line 4, column 1". */
  repeated: string[];
}

/** Dates and numbers to the base of 60 are texts in Go. */
const NO_TYPE_IN_GO = new Set(["tag:yaml.org,2002:timestamp", "TIME"]);

export function parseYaml(text: string): Result<ParsedYaml> {
  const parsed = parseDocument(text, { version: "1.1", logLevel: "error", customTags: asInGo });
  const isRepeated = ({ code }: { code: string }) => code === "DUPLICATE_KEY";
  const fault = parsed.errors.find((error) => !isRepeated(error));
  if (fault) return failure(firstLine(fault.message));
  const repeated = parsed.errors.filter(isRepeated).map(({ message }) => firstLine(message));
  try {
    return success({ document: parsed.toJS(), repeated });
  } catch (error) {
    return failure(firstLine((error as Error).message));
  }
}

/** `0o17`, which is of YAML 1.2, and which Go's reader of 1.1 knows as well. */
const OCTAL: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0o[0-7]+$/,
  resolve: (text) => parseInteger(text) ?? text,
};

function asInGo(tags: Tags): Tags {
  const known = tags.filter(
    (tag) =>
      typeof tag !== "object" ||
      !(NO_TYPE_IN_GO.has(tag.tag) || ("format" in tag && NO_TYPE_IN_GO.has(tag.format ?? ""))),
  );
  return [OCTAL, ...known];
}

function firstLine(message: string): string {
  return message.split("\n")[0]?.replace(/:$/, "") ?? message;
}
