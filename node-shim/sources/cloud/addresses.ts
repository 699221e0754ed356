// Addresses of a machine as its cloud names them. Decides nothing.
import type { CloudMetadata } from "../../../shared/protocol/facts.ts";

export type CloudAddress = NonNullable<CloudMetadata["addresses"]>[number];

/** Of texts that may be empty: those that are not. */
export function addressesOf(type: CloudAddress["type"], texts: readonly string[]): CloudAddress[] {
  return texts.flatMap((address) => (address === "" ? [] : [{ type, address }]));
}
