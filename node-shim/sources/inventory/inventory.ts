// Keeps the last good inventory of the machine's hardware. A child process reads it, soon after the start and then
// hourly; the shim's own process loads nothing for it.
import { failure, type Result, success } from "../../../shared/result.ts";
import { fileURLToPath } from "node:url";
import { type Inventory, inventorySchema } from "../../../shared/protocol/inventory.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import type { RunProgram } from "../../base/child.ts";
import type { Warn } from "../../base/reading.ts";

export interface InventoryOptions {
  look: () => Promise<Result<Inventory>>; // typically hardware
  /** Monotonic: typically monotonicMs. */
  nowMs: () => number;
  warn: Warn;
}

/** After the Node is Ready: reading the hardware takes seconds on a small machine. */
const FIRST_AFTER_MS = 5000;
const EVERY_MS = 3_600_000;

/**
 * The last good inventory; undefined before the first. Each call starts a look in the background when one is due; with
 * `wait` it looks now, and waits for that. Never rejects.
 */
export function keptInventory({
  look,
  nowMs,
  warn,
}: InventoryOptions): (wait: boolean) => Promise<Inventory | undefined> {
  let good: Inventory | undefined;
  let dueMs = nowMs() + FIRST_AFTER_MS;
  let isLooking = false;

  const refresh = async () => {
    isLooking = true;
    const found = await look();
    isLooking = false;
    if (found.ok) good = found.value;
    else warn("inventory", found.error);
  };

  return async (wait) => {
    if (!isLooking && (wait || nowMs() >= dueMs)) {
      dueMs = nowMs() + EVERY_MS;
      const looked = refresh();
      if (wait) await looked;
    }
    return good;
  };
}

/** Old disks take seconds to answer. */
const DEADLINE_MS = 60_000;
const MAX_OUTPUT_BYTES = 128 * 1024;
/** Beside the bundle that this is a part of. */
const PROGRAM = new URL("inventory.js", import.meta.url);

/** What the child process finds. `--serials`: serial numbers and MAC addresses as well. */
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
