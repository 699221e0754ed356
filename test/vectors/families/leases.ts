// Runs the recordings of the lease controller.
import { apiErrorText } from "../../../shared/kubernetes/api-error.ts";
import { formatMicroTime, parseMicroTime } from "../../../shared/kubernetes/micro-time.ts";
import type { Lease } from "../../../shared/kubernetes/types.ts";
import { newLease, withOwner } from "../../../shared/node/lease.ts";
import { syncLease } from "../../../worker/tick/sync-lease.ts";
import { createFakeApiserver, type FakeApiserver } from "../fake-apiserver.ts";
import type { Family, Json } from "../family.ts";

/** The maximum number of tries to update a lease: upstream's maxUpdateRetries. */
const MAX_LEASE_UPDATES = 5;

const lease: Family = {
  run: (given) => (given.op === "newLease" ? runNewLease(given) : runSyncs(given)),
};

function serverWith({ existingLease, nodeUID, leaseName }: Json): FakeApiserver {
  const server = createFakeApiserver(true);
  if (existingLease) server.store("leases", existingLease);
  if (nodeUID) storeNode(server, leaseName, nodeUID);
  return server;
}

function storeNode(server: FakeApiserver, name: string, uid: string): void {
  server.store("nodes", { metadata: { name, uid } });
}

async function runNewLease(given: Json): Promise<Json> {
  const server = serverWith(given);
  const renewed = newLease(given.base, given, formatMicroTime(parseMicroTime(given.now)));
  const hasOwner = renewed.metadata?.ownerReferences !== undefined;
  if (hasOwner) return { lease: renewed, error: null, calls: [] };
  const owner = await server.client.getNode(given.holderIdentity);
  const calls = server.takeCalls();
  if (!owner.ok) return { lease: renewed, error: apiErrorText(owner.error), calls };
  return { lease: withOwner(renewed, owner.value), error: null, calls };
}

async function runSyncs(given: Json): Promise<Json> {
  const server = serverWith(given);
  let nowMicros = parseMicroTime(given.start);
  let latest: Lease | null = null;
  const steps: Json[] = [];
  for (const step of given.steps) {
    nowMicros += step.advanceMs * 1000;
    edit(server, given, step.edit);
    server.force(step.outcomes);
    const sleepsMs: number[] = [];
    let repeatedHeartbeatFailures = 0;
    const synced = await syncLease(
      {
        client: server.client,
        options: given,
        renewTime: () => formatMicroTime(nowMicros),
        readOwner: () => server.client.getNode(given.holderIdentity),
        isNew: false,
        maxUpdates: MAX_LEASE_UPDATES,
        backOff: (delayMs) => Promise.resolve(sleepsMs.push(delayMs) > 0),
        onRepeatedHeartbeatFailure: () => {
          repeatedHeartbeatFailures++;
        },
      },
      latest,
    );
    latest = synced.latest;
    steps.push({
      calls: server.takeCalls(),
      sleepsMs,
      repeatedHeartbeatFailures,
      latestLease: latest && {
        resourceVersion: latest.metadata?.resourceVersion,
        renewTime: latest.spec?.renewTime,
      },
    });
  }
  return { steps };
}

function edit(server: FakeApiserver, { leaseName, nodeUID }: Json, edit: string | null): void {
  if (edit === "bump" && server.stored("leases", leaseName)) server.edit("leases", leaseName, {});
  if (edit === "delete") server.remove("leases", leaseName);
  if (edit === "deleteNode") server.remove("nodes", leaseName);
  if (edit === "createNode") storeNode(server, leaseName, nodeUID ?? "node-uid-1");
}

export const leases: Record<string, Family> = { lease };
