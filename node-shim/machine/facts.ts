// Gathers every group of facts. What cannot be read is left out and said; nothing is decided.
import type { Facts } from "../../shared/protocol/facts.ts";
import { FACT_GROUPS, type FactsOptions } from "./fact-groups.ts";

/** Never rejects; costs no more than its slowest source. */
export async function gatherFacts(options: FactsOptions): Promise<Facts> {
  const groups = Object.entries(FACT_GROUPS).map(
    async ([name, { read }]) => [name, await read?.(options)] as const,
  );
  const known = (await Promise.all(groups)).filter(([, fact]) => fact !== undefined);
  return Object.fromEntries(known) as Facts;
}
