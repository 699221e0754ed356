// Tests a machine's volumes in use and attach limits, from report to Node.
import { expect, test } from "vitest";
import type { Facts } from "../../shared/protocol/facts.ts";
import { enrolled, facts, HEALTHY, kube, shimOf } from "../worker/support/machine.ts";

const VOLUME = "kubernetes.io/csi/ebs.csi.aws.com^vol-1";
const LIMIT = "attachable-volumes-csi-ebs.csi.aws.com";

const inUse = async (name: string) => (await kube("GET", `/api/v1/nodes/${name}`)).status?.volumesInUse;

test("volumes are mounted, unknown for a while, unmounted → the Node keeps them until they are known to be unmounted", async () => {
  const name = "volumes-in-use";
  const report = shimOf(await enrolled(name));
  const reportVolumes = (volumes: Facts["volumes"]) => report(facts(name, volumes && { volumes }), HEALTHY);
  await reportVolumes({ synced: true, inUse: [VOLUME] });
  expect(await inUse(name)).toEqual([VOLUME]);
  await reportVolumes({ synced: false, inUse: [] });
  expect(await inUse(name)).toEqual([VOLUME]);
  await reportVolumes(undefined);
  expect(await inUse(name)).toEqual([VOLUME]);
  await reportVolumes({ synced: true, inUse: [] });
  expect(await inUse(name)).toBeUndefined();
});

test.each([
  ["volume-limits-on", true, "25"],
  ["volume-limits-off", undefined, undefined],
])("$0 → the limit in the Node is $2", async (name, volumeLimits, limit) => {
  const report = shimOf(await enrolled(name));
  const { settings } = facts(name);
  const attachLimits = { "ebs.csi.aws.com": 25 };
  await report(
    facts(name, { attachLimits, settings: { ...settings, ...(volumeLimits && { volumeLimits }) } }),
    HEALTHY,
  );
  const { status } = await kube("GET", `/api/v1/nodes/${name}`);
  expect([status?.capacity?.[LIMIT], status?.allocatable?.[LIMIT]]).toEqual([limit, limit && "0"]);
});
