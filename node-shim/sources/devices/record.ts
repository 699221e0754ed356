// Keeps in the state folder which resources device plugins have announced, like upstream's checkpoint. Without a record
// it is not known what the machine had before.
import { join } from "node:path";
import * as z from "zod/mini";
import { FACTS_LIMITS } from "../../../shared/protocol/limits.ts";
import { isExtendedResourceName } from "../../../shared/kubernetes/resource-names.ts";
import { parseJson, readIfThere, writeDurably } from "../../base/state-file.ts";
import type { KnownResources } from "./resources.ts";
import type { LogMessage } from "../../base/log-table.ts";

const names = z
  .array(z.string().check(z.refine(isExtendedResourceName)))
  .check(z.maxLength(FACTS_LIMITS.extendedResources));
const recordSchema = z.strictObject({ registered: names, removed: names });

/**
 * null: there is none, or a damaged one. Upstream uses a damaged checkpoint as an empty one; a resource whose plugin is
 * gone would then stay in the Node for ever. Throws with what to do where it cannot be read.
 */
export function readRecord(
  stateFolder: string,
  warn: (message: LogMessage) => void, // called for a damaged record
): KnownResources | null {
  const path = pathOf(stateFolder);
  const text = readIfThere(path);
  if (text === null) return null;
  const parsed = recordSchema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  warn(`${path} is damaged: the Node's extended resources are 0 until their device plugins register`);
  return null;
}

/** Throws where the folder cannot be written to. */
export function writeRecord(stateFolder: string, known: KnownResources): void {
  writeDurably(pathOf(stateFolder), JSON.stringify(known));
}

function pathOf(stateFolder: string): string {
  return join(stateFolder, "devices.json");
}
