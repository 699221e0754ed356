// Tests a machine whose settings exceed the deployment's bounds: its Node, its lease, the answers and its history.
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

/** Returns the lines about bounds in the machine's history. */
async function toldInHistory(name: string): Promise<string[]> {
  const { body } = await operator<HistoryAnswer>("GET", `/v1/nodes/${name}/history?kind=registration`);
  return body.entries.map(({ text }) => text).filter((text) => text.startsWith("bounded"));
}

describe("a machine with intervals of a second for reports, status and lease, and with all images", () => {
  it("→ the minima, and the allowed number of images; each answer has a message, and history one line", async () => {
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

  it("→ an unchanged status is written once per period, and each heartbeat between is one request", async () => {
    const name = "greedy-and-steady";
    const report = shimOf(await enrolled(name));
    const startMs = Date.now();
    const requestsAt = async (seconds: number) => {
      setClock(startMs + seconds * 1000);
      await report(asking(name, GREEDY), HEALTHY);
      return requestsAbout(name);
    };
    await requestsAt(0);
    // The first heartbeat also waits for the events of the registration, so its requests are not compared.
    await requestsAt(1);
    const renewal = [expect.stringMatching(/^PUT .*leases/)];
    // The status write is due up to half a period earlier or later, as the kubelet spreads its writes: until 29 s
    // none may follow.
    for (const seconds of [5, 17, 29]) expect(await requestsAt(seconds)).toEqual(renewal);
    const later = [...(await requestsAt(45)), ...(await requestsAt(60)), ...(await requestsAt(75))];
    later.push(...(await requestsAt(92)));
    expect(later.filter((line) => line.startsWith("PATCH"))).toEqual([`PATCH /api/v1/nodes/${name}/status`]);
  });

  it("→ no new line after an eviction of its object", async () => {
    const name = "greedy-and-evicted";
    const report = shimOf(await enrolled(name));
    for (let reports = 0; reports < 3; reports++) {
      expect(await report(asking(name, GREEDY), HEALTHY)).toMatchObject({ value: { message: TOLD } });
      await evictDurableObject(env.NODES.getByName(name));
    }
    expect(await toldInHistory(name)).toEqual([TOLD]);
  });

  it("→ lowers its settings: no message; raises them again: one more line", async () => {
    const name = "greedy-by-turns";
    const report = shimOf(await enrolled(name));
    await report(asking(name, GREEDY), HEALTHY);
    expect(await report(asking(name, AT_THE_BOUNDS), HEALTHY)).not.toHaveProperty("value.message");
    expect(await report(asking(name, GREEDY), HEALTHY)).toMatchObject({ value: { message: TOLD } });
    expect(await toldInHistory(name)).toEqual([TOLD, TOLD]);
  });
});

it("a machine at the bounds → gets its settings, without a message", async () => {
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
