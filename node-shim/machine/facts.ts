// Gathers every fact group. A group that cannot be read is left out, with a warning. Decides nothing.
import { printableTexts } from "../../shared/protocol/printable.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import { FACT_GROUPS, type FactsOptions } from "./fact-groups.ts";

/**
 * Never rejects; takes no longer than its slowest source. Replaces control characters, since the Worker would refuse
 * facts with one: a text of firmware, programs or runtimes must not prevent the Node.
 */
export async function gatherFacts(options: FactsOptions): Promise<Facts> {
  const groups = Object.entries(FACT_GROUPS).map(
    async ([name, { read }]) => [name, await read?.(options)] as const,
  );
  const known = (await Promise.all(groups)).filter(([, fact]) => fact !== undefined);
  return printableTexts(Object.fromEntries(known) as Facts);
}
