// Keeps the last good metadata of the cloud that the machine runs in, and refreshes it in the background. A source that
// hangs or fails costs a line in the log.
import type * as z from "zod/mini";
import { type CloudMetadata, cloudSchema } from "../../../shared/protocol/facts.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { after } from "../../base/clock.ts";
import type { Warn } from "../../base/reading.ts";

/** Reads the metadata once; what is under way ends with `signal`. Never rejects. */
export type CloudSource = (signal: AbortSignal) => Promise<Result<unknown>>;

interface CloudMetadataOptions {
  source: CloudSource;
  /** For people: `http://169.254.169.254 (aws)`. */
  where: string;
  /** nodeStatusUpdateFrequency: how often the metadata is read. */
  intervalMs: number;
  /** What one reading may take. */
  deadlineMs: number;
  /** Monotonic: typically monotonicMs. */
  nowMs: () => number;
  warn: Warn;
}

/** A server that did not answer yet is asked again this soon: the Node's registration waits for it. */
const FIRST_RETRY_MS = 1000;
/** A factor of the interval, since reports come a little early. */
const EARLY = 0.9;

/**
 * The last good metadata; undefined before the first. Each call starts a reading in the background when one is due;
 * only the first call waits for it, no longer than the deadline. Never rejects.
 */
export function cloudMetadata(options: CloudMetadataOptions): () => Promise<CloudMetadata | undefined> {
  const { where, intervalMs, nowMs, warn } = options;
  let good: CloudMetadata | undefined;
  let startedMs: number | undefined;
  let isReading = false;
  let said = "";

  const refresh = async () => {
    isReading = true;
    const reading = await readOnce(options, () => (isReading = false));
    if (reading.ok) good = reading.value;
    const fault = !reading.ok ? reading.error : "";
    if (fault !== "" && fault !== said) warn("cloud metadata", `${where}: ${fault}`);
    said = fault;
  };

  return async () => {
    const waitMs = good ? intervalMs * EARLY : FIRST_RETRY_MS;
    const isFirst = startedMs === undefined;
    if (!isReading && (startedMs === undefined || nowMs() - startedMs >= waitMs)) {
      startedMs = nowMs();
      const reading = refresh();
      if (isFirst) await reading;
    }
    return good;
  };
}

/** `ended` is called when the source is done, which may be after it was given up. */
async function readOnce(
  { source, deadlineMs }: CloudMetadataOptions,
  ended: () => void,
): Promise<Result<CloudMetadata>> {
  const giveUp = new AbortController();
  let cancel = () => {};
  const late = new Promise<Result<unknown>>((resolve) => {
    cancel = after(deadlineMs, () => {
      giveUp.abort();
      resolve(failure(`no answer within ${deadlineMs / 1000} s`));
    });
  });
  const first = await Promise.race([source(giveUp.signal).finally(ended), late]);
  cancel();
  return !first.ok ? first : checked(first.value);
}

/** Validates the metadata here: no answer of a metadata server may get the machine's facts refused. */
function checked(found: unknown): Result<CloudMetadata> {
  const parsed = cloudSchema.safeParse(withoutRepetition(found));
  if (parsed.success) return success(parsed.data);
  const { path, message } = firstFault(parsed.error);
  return failure(`${path === "" ? "" : `${path.slice(1).replaceAll("/", ".")}: `}${message}`);
}

/** Two interfaces may share a name; the apiserver refuses an address that is there twice. */
function withoutRepetition(found: unknown): unknown {
  if (typeof found !== "object" || found === null || !("addresses" in found)) return found;
  if (!Array.isArray(found.addresses)) return found;
  const addresses = found.addresses as unknown[];
  const texts = addresses.map((address) => JSON.stringify(address));
  return { ...found, addresses: addresses.filter((_, at) => texts.indexOf(texts[at] ?? "") === at) };
}

// Addresses of a machine as its cloud names them. Decides nothing.

export type CloudAddress = NonNullable<CloudMetadata["addresses"]>[number];

/** Skips texts that are empty. */
export function addressesOf(type: CloudAddress["type"], texts: readonly string[]): CloudAddress[] {
  return texts.flatMap((address) => (address === "" ? [] : [{ type, address }]));
}

// Parses a metadata server's JSON by a schema. Decides nothing.

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
