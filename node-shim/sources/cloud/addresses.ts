// Addresses of a machine as its cloud names them. Decides nothing.
import type { CloudMetadata } from "../../../shared/protocol/facts.ts";

export type CloudAddress = NonNullable<CloudMetadata["addresses"]>[number];

/** Skips texts that are empty. */
export function addressesOf(type: CloudAddress["type"], texts: readonly string[]): CloudAddress[] {
  return texts.flatMap((address) => (address === "" ? [] : [{ type, address }]));
}
