// A machine whose settings go beyond the deployment's bounds: what its Node, its lease, the answers and its history show.
import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { HistoryAnswer } from "../../shared/protocol/operator-answers.ts";
import type { Settings } from "../../shared/protocol/settings.ts";
import {
  enrolled,
  facts,
  HEALTHY,
  kube,
  operator,
  requestsAbout,
  shimOf,
} from "../worker/support/machine.ts";
import { setClock } from "../worker/support/clock.ts";

const GREEDY = {
  nodeStatusUpdateFrequencyMs: 1000,
  nodeStatusReportFrequencyMs: 1000,
  nodeLeaseDurationSeconds: 1,
  nodeStatusMaxImages: -1,
};
const AT_THE_BOUNDS = {
  nodeStatusUpdateFrequencyMs: 5000,
  nodeStatusReportFrequencyMs: 60_000,
  nodeLeaseDurationSeconds: 20,
  nodeStatusMaxImages: 50,
};
const TOLD =
  "bounded by its deployment: nodeStatusUpdateFrequency 5s instead of 1s, " +
  "nodeStatusReportFrequency 60s instead of 1s, nodeLeaseDurationSeconds 20 instead of 1, " +
  "nodeStatusMaxImages 50 instead of -1";

const images = Array.from({ length: 60 }, (_, at) => ({
  repoDigests: [],
  repoTags: [`image-${at}`],
  sizeBytes: 1000 - at,
}));
const asking = (name: string, settings: Partial<Settings>) =>
  facts(name, {
    settings: { ...facts(name).settings, ...settings },
    runtime: { name: "containerd", version: "2.1.0" },
    images,
  });
const leaseOf = (name: string) =>
  kube<Lease>("GET", `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`);

/** What its history says about bounds. */
async function toldInHistory(name: string): Promise<string[]> {
  const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=registration`);
  return body.entries.map(({ text }) => text).filter((text) => text.startsWith("bounded"));
}

describe("a machine that asks for reports, status and lease of a second, and for all images", () => {
  it("→ the minima, and as many images as are allowed; each answer says so, and history once", async () => {
    const name = "greedy";
    const report = shimOf(await enrolled(name));
    await report(asking(name, GREEDY), HEALTHY);
    for (let reports = 0; reports < 3; reports++)
      expect(await report(asking(name, GREEDY), HEALTHY)).toMatchObject({
        value: {
          phase: "registered",
          ready: true,
          message: TOLD,
          reportInMs: expect.toSatisfy((ms: number) => ms >= 4700 && ms <= 4900),
        },
      });
    expect((await leaseOf(name)).spec?.leaseDurationSeconds).toBe(20);
    expect((await kube("GET", `/api/v1/nodes/${name}`)).status?.images).toHaveLength(50);
    expect(await toldInHistory(name)).toEqual([TOLD]);
  });

  it("→ an unchanged status is written once a period, and all heartbeats between are one request", async () => {
    const name = "greedy-and-steady";
    const report = shimOf(await enrolled(name));
    const startMs = Date.now();
    const requestsAt = async (seconds: number) => {
      setClock(startMs + seconds * 1000);
      await report(asking(name, GREEDY), HEALTHY);
      return requestsAbout(name);
    };
    await requestsAt(0);
    // The first heartbeat waits for the events of the registration.
    await requestsAt(1);
    const renewal = [expect.stringMatching(/^PUT .*leases/)];
    // Up to half a period earlier or later, as the kubelet spreads them.
    for (const seconds of [5, 17, 29]) expect(await requestsAt(seconds)).toEqual(renewal);
    const later = [...(await requestsAt(45)), ...(await requestsAt(60)), ...(await requestsAt(75))];
    later.push(...(await requestsAt(92)));
    expect(later.filter((line) => line.startsWith("PATCH"))).toEqual([`PATCH /api/v1/nodes/${name}/status`]);
  });

  it("→ its object was evicted: nothing is said again", async () => {
    const name = "greedy-and-evicted";
    const report = shimOf(await enrolled(name));
    for (let reports = 0; reports < 3; reports++) {
      expect(await report(asking(name, GREEDY), HEALTHY)).toMatchObject({ value: { message: TOLD } });
      await evictDurableObject(env.NODES.getByName(name));
    }
    expect(await toldInHistory(name)).toEqual([TOLD]);
  });

  it("→ and then less: it is not told any more; and then more again: once more", async () => {
    const name = "greedy-by-turns";
    const report = shimOf(await enrolled(name));
    await report(asking(name, GREEDY), HEALTHY);
    expect(await report(asking(name, AT_THE_BOUNDS), HEALTHY)).not.toHaveProperty("value.message");
    expect(await report(asking(name, GREEDY), HEALTHY)).toMatchObject({ value: { message: TOLD } });
    expect(await toldInHistory(name)).toEqual([TOLD, TOLD]);
  });
});

it("a machine that asks for just what is allowed → gets it, and is told nothing", async () => {
  const name = "modest";
  const report = shimOf(await enrolled(name));
  await report(asking(name, AT_THE_BOUNDS), HEALTHY);
  const answer = await report(asking(name, AT_THE_BOUNDS), HEALTHY);
  expect(answer).toMatchObject({ value: { ready: true } });
  expect(answer).not.toHaveProperty("value.message");
  expect((await leaseOf(name)).spec?.leaseDurationSeconds).toBe(20);
  expect((await kube("GET", `/api/v1/nodes/${name}`)).status?.images).toHaveLength(50);
  expect(await toldInHistory(name)).toEqual([]);
});
