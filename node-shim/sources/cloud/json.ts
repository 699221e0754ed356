// Parses a metadata server's JSON by a schema. Decides nothing.
import { failure, type Result, success } from "../../../shared/result.ts";
import type * as z from "zod/mini";
import { firstFault } from "../../../shared/protocol/schema.ts";

export function parsedJson<T>(text: string, schema: z.ZodMiniType<T>, path: string): Result<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return failure(`GET ${path}: the answer is not JSON`);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return success(parsed.data);
  const fault = firstFault(parsed.error);
  return failure(`GET ${path}: ${fault.path}: ${fault.message}`);
}
