// Reads or runs one drop-in, and validates its output. Trusts no file that others than root or this user can change.
import { failure, type Result, success } from "../../../shared/result.ts";
import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DROP_IN_LIMITS } from "../../../shared/protocol/limits.ts";
import { type DropIn, dropInSchema } from "../../../shared/protocol/drop-ins.ts";
import { printableTexts } from "../../../shared/protocol/printable.ts";
import { firstFault } from "../../../shared/protocol/schema.ts";
import type { RunProgram } from "../../base/child.ts";
import { codeOf, faultOf } from "../../base/fault.ts";
import { ownershipFault } from "../../base/ownership.ts";

/** The output, and its age. */
export interface Said {
  dropIn: DropIn;
  agedMs: number;
}

export interface ReadDropInOptions {
  folder: string;
  run: RunProgram; // typically runChild
  deadlineMs: number;
  uid: number; // typically process.getuid()
  /** Milliseconds since 1970, for a file's age alone. */
  nowMs: () => number; // typically wallMs
}

/** Of a file, and of a program's output. */
const MAX_BYTES = 64 * 1024;

/** A file that ends in .json is read, anything else is run. Never rejects. */
export async function readDropIn(name: string, options: ReadDropInOptions): Promise<Result<Said>> {
  const { deadlineMs } = options;
  const path = join(options.folder, name);
  try {
    const stat = await lstat(path);
    if (!stat.isFile()) return failure("is not a file (links are not followed)");
    const fault = ownershipFault(stat, options.uid);
    if (fault !== null) return failure(fault);
    if (!name.endsWith(".json")) {
      if ((stat.mode & 0o111) === 0) return failure("neither ends in .json nor is executable");
      return outputOf(await options.run({ program: path, args: [], deadlineMs, maxBytes: MAX_BYTES }));
    }
    if (stat.size > MAX_BYTES) return failure(`is larger than ${MAX_BYTES} bytes`);
    const dropIn = parsed(await readFile(path, "utf8"));
    if (!dropIn.ok) return dropIn;
    return success({ dropIn: dropIn.value, agedMs: Math.max(0, options.nowMs() - stat.mtimeMs) });
  } catch (error) {
    return failure(`cannot be read (${codeOf(error)})`);
  }
}

function outputOf(output: Result<string>): Result<Said> {
  if (!output.ok) return output;
  const dropIn = parsed(output.value);
  return !dropIn.ok ? dropIn : success({ dropIn: dropIn.value, agedMs: 0 });
}

function parsed(text: string): Result<DropIn> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return failure(`is not JSON: ${faultOf(error)}`.slice(0, DROP_IN_LIMITS.messageLength));
  }
  const dropIn = dropInSchema.safeParse(printableTexts(json));
  if (dropIn.success) return success(dropIn.data);
  const { path, message } = firstFault(dropIn.error);
  return failure(`${path === "" ? "" : `${path}: `}${message}`);
}
