// Reads a request's body: capped in bytes, then parsed. Knows no kind.
import type { Json } from "../../../../shared/kubernetes/json.ts";
import { failure, type Result, success } from "../../../../shared/result.ts";
import type { Outcome } from "../object.ts";
import { requestTooLarge } from "../status.ts";

/** server.Config.MaxRequestBodyBytes */
export const maxBodyBytes = 3 * 1024 * 1024;

/** The body as text; 413 as soon as it is over the limit. */
export async function readBody(request: Request): Promise<Outcome<string>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBodyBytes) return failure(requestTooLarge(maxBodyBytes));
  if (!request.body) return success("");
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) return failure(requestTooLarge(maxBodyBytes));
    text += decoder.decode(chunk, { stream: true });
  }
  return success(text + decoder.decode());
}

/** The media type of a body that says none is JSON. */
export function mediaTypeOf(request: Request): string {
  const [mediaType = ""] = (request.headers.get("content-type") ?? "").split(";");
  return mediaType.trim().toLowerCase() || "application/json";
}

export function parseJson(text: string): Result<Json> {
  try {
    return success(JSON.parse(text) as Json);
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  }
}
