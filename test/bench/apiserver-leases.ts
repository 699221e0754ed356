// Renewals of leases on the embedded apiserver, each a PUT with uid and resourceVersion from the last answer.
import { type Fleet, LEASES, renewTime, requestsPerSecond, type Stored } from "./apiserver.ts";
import type { Benchmark } from "./benchmark.ts";

export const apiserverLeases: Benchmark = {
  name: "apiserver-leases",
  what: "apiserver, lease updates with 2,000 nodes",
  unit: "/s",
  budget: 2000,
  atLeast: true,
  measure: () => requestsPerSecond(renewals),
};

function renewals({ nodes, send }: Fleet): Promise<(run: number) => Promise<void>> {
  const known = new Map<string, Stored>();
  const renew = async (run: number) => {
    const name = nodes[run % nodes.length] ?? "";
    const path = `${LEASES}/${name}`;
    const metadata = { name, ...known.get(name)?.metadata };
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: renewTime(run + 1) };
    const renewed = await send("PUT", path, { metadata, spec });
    const { uid, resourceVersion } = renewed.metadata;
    known.set(name, { metadata: { uid, resourceVersion } });
  };
  return learn(nodes, send, known).then(() => renew);
}

/** The leases as they are, from patches that change nothing. */
async function learn(nodes: string[], send: Fleet["send"], known: Map<string, Stored>): Promise<void> {
  for (const name of nodes) {
    const lease = await send("PATCH", `${LEASES}/${name}`, {}, "application/merge-patch+json");
    const { uid, resourceVersion } = lease.metadata;
    known.set(name, { metadata: { uid, resourceVersion } });
  }
}
