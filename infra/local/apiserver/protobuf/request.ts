// A request whose body is protobuf as the same request with a JSON body; what follows knows no protobuf.
import { maxBodyBytes, mediaTypeOf } from "../body.ts";
import type { Outcome } from "../object.ts";
import * as refuse from "../status.ts";
import { decodeProtobuf } from "./decode.ts";

const mediaType = "application/vnd.kubernetes.protobuf";

/** The whole body; undefined as soon as it is over the limit. */
async function readBytes(request: Request): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Refuses what cannot be read, and kinds that nobody sends as protobuf. */
export async function withJsonBody(request: Request): Promise<Outcome<Request>> {
  if (mediaTypeOf(request) !== mediaType || request.method === "PATCH") return { ok: request };
  const bytes = await readBytes(request);
  if (!bytes) return { refused: refuse.requestTooLarge(maxBodyBytes) };
  const object = bytes.length === 0 ? undefined : decodeProtobuf(bytes);
  if (!object && bytes.length > 0) {
    return {
      refused: refuse.badRequest("the protobuf body is malformed, or of a kind that is taken as JSON only"),
    };
  }
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  const { method, signal, url } = request;
  return {
    ok: new Request(url, { method, headers, signal, ...(object && { body: JSON.stringify(object) }) }),
  };
}
