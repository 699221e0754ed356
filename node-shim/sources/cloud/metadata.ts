// Keeps the last valid metadata of the machine's cloud, refreshed in the background. Logs a source that hangs or fails.
import type * as z from "zod/mini";
import { type CloudMetadata, cloudSchema } from "../../../shared/protocol/facts.ts";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { shownText } from "../../../shared/protocol/printable.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import { failure, type Result, success } from "../../../shared/result.ts";
import { after } from "../../base/clock.ts";
import type { Warn } from "../../base/reading.ts";

/** Reads the metadata once, until `signal` is aborted. Never rejects. */
export type CloudSource = (signal: AbortSignal) => Promise<Result<unknown>>;

interface CloudMetadataOptions {
  source: CloudSource;
  /** The source's name for operators: `http://169.254.169.254 (aws)`. */
  where: string;
  /** Milliseconds between two readings: nodeStatusUpdateFrequency. */
  intervalMs: number;
  /** The time limit of one reading. */
  deadlineMs: number;
  /** The monotonic clock in milliseconds. Typically monotonicMs. */
  nowMs: () => number;
  warn: Warn;
}

/** The pause between readings until the first answer: short, since the Node's registration waits for that answer. */
const FIRST_RETRY_MS = 1000;
/** The fraction of the interval after which a reading is due: less than 1, since reports come a little early. */
const EARLY = 0.9;

/**
 * Returns a function that returns the last valid metadata; undefined before the first answer. The function starts a
 * reading in the background when one is due. Only its first call waits, for at most `deadlineMs`. Never rejects.
 */
export function cloudMetadata(options: CloudMetadataOptions): () => Promise<CloudMetadata | undefined> {
  const { where, intervalMs, nowMs, warn } = options;
  let good: CloudMetadata | undefined;
  let startedMs: number | undefined;
  let isReading = false;
  let lastFault = "";

  const refresh = async () => {
    isReading = true;
    const reading = await readOnce(options, () => (isReading = false));
    if (reading.ok) good = reading.value.metadata;
    const fault = reading.ok ? reading.value.cut : reading.error;
    if (fault !== "" && fault !== lastFault) warn("cloud metadata", `${where}: ${fault}`);
    lastFault = fault;
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

interface Checked {
  metadata: CloudMetadata;
  /** What was cut from the metadata, for a log; "" if nothing. */
  cut: string;
}

/** Reads the source once, for at most `deadlineMs`. Calls `ended` when the source ends, perhaps after the deadline. */
async function readOnce(
  { source, deadlineMs }: CloudMetadataOptions,
  ended: () => void,
): Promise<Result<Checked>> {
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

/** Validates the metadata, so that a bad answer does not make the Worker refuse the machine's facts. */
function checked(found: unknown): Result<Checked> {
  const { fitted, cut } = withFittedAddresses(found);
  const parsed = cloudSchema.safeParse(fitted);
  if (parsed.success) return success({ metadata: parsed.data, cut });
  const { path, message } = firstFault(parsed.error);
  const value = parsed.error.issues[0]?.path.reduce<unknown>(memberOf, found);
  const shown =
    value === undefined || value === found ? "" : `: ${shownText(JSON.stringify(value), MAX_SHOWN)}`;
  return failure(`${path === "" ? "" : `${path.slice(1).replaceAll("/", ".")}: `}${message}${shown}`);
}

/** The most characters of an invalid value that a warning quotes. */
const MAX_SHOWN = 100;

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;
}

/**
 * Removes repeated addresses, since two interfaces may share a name, and the apiserver refuses equal addresses. Also
 * removes the last internal IPs above the limit: an instance with pods' addresses on its interfaces has hundreds.
 */
function withFittedAddresses(found: unknown): { fitted: unknown; cut: string } {
  if (
    typeof found !== "object" ||
    found === null ||
    !("addresses" in found) ||
    !Array.isArray(found.addresses)
  )
    return { fitted: found, cut: "" };
  const all = found.addresses as unknown[];
  const texts = all.map((address) => JSON.stringify(address));
  const unique = all.filter((_, at) => texts.indexOf(texts[at] ?? "") === at);
  const internal = unique.filter((address) => memberOf(address, "type") === "InternalIP");
  const most = Math.max(1, internal.length - Math.max(0, unique.length - FACTS_LIMITS.addresses));
  const left = new Set(internal.slice(most));
  const addresses = unique.filter((address) => !left.has(address));
  const cut = left.size === 0 ? "" : `addresses is cut to ${addresses.length} of ${unique.length} entries`;
  return { fitted: { ...found, addresses }, cut };
}

export type CloudAddress = NonNullable<CloudMetadata["addresses"]>[number];

/** Returns an address of `type` for each text that is not empty. */
export function addressesOf(type: CloudAddress["type"], texts: readonly string[]): CloudAddress[] {
  return texts.flatMap((address) => (address === "" ? [] : [{ type, address }]));
}

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
  return failure(`GET ${path}: ${fault.path && `${fault.path}: `}${fault.message}`);
}
