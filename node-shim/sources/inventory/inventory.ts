// Keeps the last valid hardware inventory, which a child process reads soon after the start, and then hourly.
import { failure, type Result, success } from "../../../shared/result.ts";
import { fileURLToPath } from "node:url";
import { type Inventory, inventorySchema } from "../../../shared/protocol/inventory.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import type { RunProgram } from "../../base/child.ts";
import type { Warn } from "../../base/reading.ts";

interface InventoryOptions {
  read: () => Promise<Result<Inventory>>; // typically hardware
  nowMs: () => number; // monotonic: typically monotonicMs
  warn: Warn;
}

/** The first reading's delay: by then the Node is usually Ready. Reading takes seconds on a small machine. */
const FIRST_AFTER_MS = 5000;
const EVERY_MS = 3_600_000;

/**
 * Returns a function that returns the last valid inventory; undefined before the first reading. The function starts
 * a reading in the background when one is due; with `wait` it reads first. Never rejects.
 */
export function keptInventory({ read, nowMs, warn }: InventoryOptions) {
  let good: Inventory | undefined;
  let dueMs = nowMs() + FIRST_AFTER_MS;
  let isReading = false;

  const refresh = async () => {
    isReading = true;
    const found = await read();
    isReading = false;
    if (found.ok) good = found.value;
    else warn("inventory", found.error);
  };

  return async (wait: boolean): Promise<Inventory | undefined> => {
    if (!isReading && (wait || nowMs() >= dueMs)) {
      dueMs = nowMs() + EVERY_MS;
      const refreshed = refresh();
      if (wait) await refreshed;
    }
    return good;
  };
}

/** The time limit of the child process: old disks take seconds to answer. */
const DEADLINE_MS = 60_000;
const MAX_OUTPUT_BYTES = 128 * 1024;
/** The child's program, a file next to the bundle of this module. */
const PROGRAM = new URL("inventory.js", import.meta.url);

/** Runs the child, and returns the inventory; with --inventory serials, with serial numbers and MAC addresses. */
export async function hardware(
  withSerials: boolean,
  run: RunProgram, // typically runChild
  program: URL = PROGRAM,
): Promise<Result<Inventory>> {
  const output = await run({
    program: process.execPath,
    args: [fileURLToPath(program), ...(withSerials ? ["--serials"] : [])],
    deadlineMs: DEADLINE_MS,
    maxBytes: MAX_OUTPUT_BYTES,
  });
  if (!output.ok) return failure(`the hardware could not be looked at: it ${output.error}`);
  return inventoryIn(output.value);
}

function inventoryIn(text: string): Result<Inventory> {
  try {
    const parsed = inventorySchema.safeParse(JSON.parse(text));
    if (parsed.success) return success(parsed.data);
    const { path, message } = firstFault(parsed.error);
    return failure(`what was found cannot be reported: ${path}: ${message}`);
  } catch {
    return failure("what was found is not JSON");
  }
}
