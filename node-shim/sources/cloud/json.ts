// JSON of a metadata server → what a schema says it is. Decides nothing.
import type * as z from "zod/mini";
import { firstFault } from "../../../shared/protocol/report.ts";
import type { Reading } from "../../base/reading.ts";

export function parsedJson<T>(text: string, schema: z.ZodMiniType<T>, path: string): Reading<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { error: `GET ${path}: the answer is not JSON` };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const fault = firstFault(parsed.error);
  return { error: `GET ${path}: ${fault.path}: ${fault.message}` };
}
