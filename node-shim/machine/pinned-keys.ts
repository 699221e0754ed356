// Reads the keys of operators that the machine's owner has pinned.
import { PROOF_LIMITS } from "../../shared/protocol/limits.ts";
import { type OperatorKey, parseOperatorKeys } from "../../shared/protocol/question-proof.ts";
import { failure, type Result } from "../../shared/result.ts";
import { trustedText } from "../base/ownership.ts";

/** Reads the pinned keys. Refuses a file that other users than root and the shim's own can change. */
export function pinnedKeys(path: string): Result<OperatorKey[]> {
  const text = trustedText(path, PROOF_LIMITS.fileBytes);
  if (!text.ok) return failure(`${path} ${text.error}`);
  const keys = parseOperatorKeys(text.value);
  return keys.ok ? keys : failure(`${path}: ${keys.error}`);
}

export const PINNED_KEYS_TODO =
  "write the line of `rollcall operators key` to the file of --questions-from, which must belong to root, with the mode 644";

/** Returns why a machine with --questions-from answers no operator; null if it has a key, or pins none. */
export function pinnedKeysFault(questionsFrom: string | null): string | null {
  const keys = questionsFrom === null ? null : pinnedKeys(questionsFrom);
  return keys === null || keys.ok ? null : `no operator may ask this machine: ${keys.error}`;
}
