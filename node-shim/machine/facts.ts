// Gathers every group of facts. What cannot be read is left out and said; nothing is decided.
import { printableTexts } from "../../shared/protocol/printable.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { FACT_GROUPS, type FactsOptions } from "./fact-groups.ts";

/**
 * Never rejects; costs no more than its slowest source. The Worker refuses facts with a control character in a text: what
 * firmware, programs and runtimes say must not keep a machine from its Node.
 */
export async function gatherFacts(options: FactsOptions): Promise<Facts> {
  const groups = Object.entries(FACT_GROUPS).map(
    async ([name, { read }]) => [name, await read?.(options)] as const,
  );
  const known = (await Promise.all(groups)).filter(([, fact]) => fact !== undefined);
  return printableTexts(Object.fromEntries(known) as Facts);
}
