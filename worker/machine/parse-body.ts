// Parses and validates the bytes of a verified request. Knows no schema.
import type * as z from "zod/mini";
import { firstFault } from "../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../shared/result.ts";
import type { Refusal } from "./answers.ts";

export function parseBody<Schema extends z.ZodMiniType>(
  schema: Schema,
  body: Uint8Array<ArrayBuffer>,
): Result<z.output<Schema>, Refusal> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(body));
  } catch {
    return failure({ reason: "invalid-json" });
  }
  const parsed = schema.safeParse(json);
  return parsed.success
    ? success(parsed.data)
    : failure({ reason: "invalid-body", fault: firstFault(parsed.error) });
}
