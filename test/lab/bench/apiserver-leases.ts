// Measures lease renewals on the embedded apiserver: each is a PUT with the uid and resourceVersion of the last
// answer.
import {
  type Fleet,
  LEASES,
  renewTime,
  type Requests,
  requestsBesideJson,
  type Stored,
} from "./apiserver.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";

export const apiserverLeases: Benchmark = {
  ...budgetOf("apiserver-leases"),
  measure: () => requestsBesideJson(renewals),
};

async function renewals({ nodes, send }: Fleet): Promise<Requests> {
  const known = await learn(nodes, send);
  const lease = (name: string, run: number) => ({
    metadata: { name, ...known.get(name)?.metadata },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: renewTime(run + 1) },
  });
  const renew = async (run: number) => {
    const name = nodes[run % nodes.length] ?? "";
    const renewed = await send("PUT", `${LEASES}/${name}`, lease(name, run));
    const { uid, resourceVersion } = renewed.metadata;
    known.set(name, { metadata: { uid, resourceVersion } });
  };
  return { send: renew, object: lease(nodes[0] ?? "", 0) };
}

/** Reads the current leases with patches that change nothing. Returns them by name. */
async function learn(nodes: string[], send: Fleet["send"]): Promise<Map<string, Stored>> {
  const known = new Map<string, Stored>();
  for (const name of nodes) {
    const lease = await send("PATCH", `${LEASES}/${name}`, {}, "application/merge-patch+json");
    const { uid, resourceVersion } = lease.metadata;
    known.set(name, { metadata: { uid, resourceVersion } });
  }
  return known;
}
