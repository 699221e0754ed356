// Reads a request's body: capped in bytes, then parsed. Knows no kind.
import { type Duplicates, parseGoJson } from "./go-json.ts";
import { readYaml } from "./go-yaml.ts";
import type { Json } from "../../../shared/kubernetes/json.ts";
import type { Outcome } from "./object.ts";
import { requestTooLarge } from "./status.ts";

/** server.Config.MaxRequestBodyBytes */
export const maxBodyBytes = 3 * 1024 * 1024;

/** The body as text; 413 as soon as it is over the limit. */
export async function readBody(request: Request): Promise<Outcome<string>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBodyBytes) return { refused: requestTooLarge(maxBodyBytes) };
  if (!request.body) return { ok: "" };
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return { refused: requestTooLarge(maxBodyBytes) };
    text += decoder.decode(chunk, { stream: true });
  }
  return { ok: text + decoder.decode() };
}

/** The media type of a body that says none is JSON. */
export function mediaTypeOf(request: Request): string {
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(";");
  return mediaType.trim().toLowerCase() || "application/json";
}

/** What a body may be; upstream takes protobuf and CBOR besides. */
export const jsonBodyTypes = ["application/json", "application/yaml"];

export interface ParsedBody {
  value: Json;
  duplicates?: Duplicates | undefined;
  /** What a strict reader of YAML complains of before anybody looks at fields. */
  repeated?: string[];
}

/** `strict` looks for fields that came twice. */
export function parseText(text: string, mediaType: string, strict: boolean): ParsedBody | { error: string } {
  if (mediaType === "application/yaml") {
    const read = readYaml(text);
    return "error" in read ? { error: `yaml: ${read.error}` } : read;
  }
  const parsed = parseGoJson(text, strict);
  if ("value" in parsed) return parsed;
  return { error: `couldn't get version/kind; json parse error: ${parsed.error}` };
}
