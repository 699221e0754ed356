// Tests how a gateway sends what machines use to the receiver of the deployment: what it sends, and what it loses.
import { describe, expect, it } from "vitest";
import type { Usage } from "../../../shared/protocol/usage.ts";
import { Durations, type Sample } from "../../../worker/metrics/metrics.ts";
import { EXPORT_LIMITS } from "../../../worker/gateway/usage-export.ts";
import { inGateway, type MadeUpGateway, type MachineSocket } from "../support/made-up-gateway.ts";

const USED = { uptimeSeconds: 1000, cpuSecondsTotal: 400, load1: 0.5 };

interface Sent {
  resourceMetrics: [{ resource: object; scopeMetrics: [{ metrics: { name: string }[] }] }];
}

/** A receiver whose answers the test sets. */
function receiving(made: MadeUpGateway, labels: Record<string, Record<string, string>> | null = null) {
  const received = {
    bodies: [] as Sent[],
    asked: [] as string[][],
    answer: (): Promise<Response> => Promise.resolve(new Response()),
    labels,
    /** The names of the machines in each request. */
    machines: () => received.bodies.map((body) => pointsOf(body).map(([machine]) => machine)),
  };
  made.receiver = {
    deployment: "rollcall",
    post(body) {
      received.bodies.push(JSON.parse(body) as Sent);
      return received.answer();
    },
    gateways: () => Promise.resolve(1),
    labels:
      labels &&
      (async (names) => {
        received.asked.push(names);
        if (!received.labels) throw new Error("the index does not answer");
        const known = Object.entries(received.labels).filter(([name]) => names.includes(name));
        return Object.fromEntries(known);
      }),
  };
  made.evict();
  return received;
}

/** Returns the data points of load1 in a request: each machine with the value. */
function pointsOf({ resourceMetrics: [{ scopeMetrics }] }: Sent): [string, number][] {
  const load = scopeMetrics[0].metrics.find(({ name }) => name === "node_load1") as unknown as {
    gauge: {
      dataPoints: { attributes: { key: string; value: { stringValue: string } }[]; asDouble: number }[];
    };
  };
  return load.gauge.dataPoints.map(({ attributes, asDouble }) => [
    attributes
      .map(({ key, value }) => (key === "machine" ? value.stringValue : `${key}=${value.stringValue}`))
      .join(),
    asDouble,
  ]);
}

const send = async (made: MadeUpGateway, socket: MachineSocket, usage: Partial<Usage> = USED) =>
  made.receive(socket, await socket.usage(usage));

/** Rings the gateway's alarm, and waits until the gateway has sent what waits. */
async function ring(made: MadeUpGateway) {
  await made.gateway.ring();
  for (let turns = 0; turns < 20; turns++) await new Promise((again) => void setTimeout(again));
}

function counted(made: MadeUpGateway): Record<string, unknown> {
  const status = { gateway: 7, members: 1, isSuspended: false, queue: { length: 0, seconds: 0 } };
  const measured = made.counters.measure(status, new Durations(() => 0));
  const samples = measured.rollcall_gateway_usage_samples_total as Sample[];
  return Object.fromEntries(samples.map(({ labels, value }) => [labels["outcome"], value]));
}

describe("what is sent", () => {
  it("each amount under its name in /metrics, with its kind, the machine and the time", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      await send(made, await made.connected("edge-1"));
      await ring(made);
      const attributes = [{ key: "machine", value: { stringValue: "edge-1" } }];
      const point = { attributes, timeUnixNano: "1767225600000000000" };
      expect(received.bodies).toEqual([
        {
          resourceMetrics: [
            {
              resource: {
                attributes: [
                  { key: "service.name", value: { stringValue: "rollcall" } },
                  { key: "service.instance.id", value: { stringValue: "rollcall" } },
                ],
              },
              scopeMetrics: [
                {
                  metrics: [
                    {
                      name: "node_cpu_usage_seconds_total",
                      sum: {
                        aggregationTemporality: 2,
                        isMonotonic: true,
                        dataPoints: [{ ...point, asDouble: 400 }],
                      },
                    },
                    { name: "node_load1", gauge: { dataPoints: [{ ...point, asDouble: 0.5 }] } },
                  ],
                },
              ],
            },
          ],
        },
      ]);
      expect(counted(made)).toEqual({ sent: 1, refused: 0, dropped: 0, expired: 0 });
    }));

  it("all machines' samples since the last alarm in one request, and each sample once", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      for (const name of ["edge-1", "edge-2"]) await send(made, await made.connected(name));
      await ring(made);
      await ring(made);
      expect(received.machines()).toEqual([["edge-1", "edge-2"]]);
    }));

  it.each([
    ["at most this many samples a request", EXPORT_LIMITS.samplesOfRequest, [EXPORT_LIMITS.samplesOfRequest]],
    ["one more: a second request", EXPORT_LIMITS.samplesOfRequest + 1, [EXPORT_LIMITS.samplesOfRequest, 1]],
  ])("%s", (_, count, requests) =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      for (let samples = 0; samples < count; samples++) {
        made.nowMs += 30_000;
        await send(made, socket);
      }
      await ring(made);
      expect(received.machines().map(({ length }) => length)).toEqual(requests);
    }),
  );

  it("nothing without a receiver, and nothing is counted", () =>
    inGateway(async (made) => {
      await send(made, await made.connected("edge-1"));
      await ring(made);
      expect(counted(made)).toEqual({ sent: 0, refused: 0, dropped: 0, expired: 0 });
    }));
});

describe("labels", () => {
  const SITES = { "edge-1": { site: "oslo" }, "edge-2": { site: "bergen" } };

  it("are read once for a new machine, and for all machines after ten minutes", () =>
    inGateway(async (made) => {
      const received = receiving(made, SITES);
      const first = await made.connected("edge-1");
      await send(made, first);
      await ring(made);
      await send(made, await made.connected("edge-2"));
      made.nowMs += 30_000;
      await send(made, first);
      await ring(made);
      received.labels = { ...SITES, "edge-1": { site: "voss" } };
      made.nowMs += 1000 * EXPORT_LIMITS.labelsSeconds;
      const again = await made.connected("edge-1");
      await made.connected("edge-2");
      await send(made, again);
      await ring(made);
      expect(received.asked).toEqual([["edge-1"], ["edge-2"], ["edge-1", "edge-2"]]);
      expect(received.machines()).toEqual([
        ["site=oslo,edge-1"],
        ["site=bergen,edge-2", "site=oslo,edge-1"],
        ["site=voss,edge-1"],
      ]);
    }));

  it("the index does not answer → the samples of a new machine wait", () =>
    inGateway(async (made) => {
      const received = receiving(made, SITES);
      received.labels = null;
      await send(made, await made.connected("edge-1"));
      await ring(made);
      expect(received.bodies).toEqual([]);
      received.labels = SITES;
      await ring(made);
      expect(received.machines()).toEqual([["site=oslo,edge-1"]]);
    }));

  it("a new machine's sample that arrives while labels are read waits for its own", () =>
    inGateway(async (made) => {
      const received = receiving(made, SITES);
      const second = await made.connected("edge-2");
      await send(made, await made.connected("edge-1"));
      const { labels } = made.receiver!;
      made.receiver!.labels = async (names) => {
        if (names.includes("edge-1")) await send(made, second);
        return labels!(names);
      };
      await ring(made);
      expect(received.machines()).toEqual([["site=oslo,edge-1"], ["site=bergen,edge-2"]]);
    }));

  it("the index does not know the machine yet → sent without labels, and the next sample with them", () =>
    inGateway(async (made) => {
      const received = receiving(made, {});
      const socket = await made.connected("edge-1");
      await send(made, socket);
      await ring(made);
      received.labels = SITES;
      made.nowMs += 30_000;
      await send(made, socket);
      await ring(made);
      expect(received.machines()).toEqual([["edge-1"], ["site=oslo,edge-1"]]);
    }));

  it("a label cannot take the place of the machine's name", () =>
    inGateway(async (made) => {
      const received = receiving(made, { "edge-1": { machine: "edge-2" } });
      await send(made, await made.connected("edge-1"));
      await ring(made);
      expect(received.machines()).toEqual([["edge-1"]]);
    }));
});

describe("a receiver that fails", () => {
  it.each<[situation: string, answer: () => Promise<Response>, error: string]>([
    ["answers 503", async () => new Response("busy", { status: 503 }), "503"],
    ["refuses the header", async () => new Response("", { status: 401 }), "401"],
    [
      "redirects",
      async () => new Response("", { status: 302, headers: { location: "https://a.test/" } }),
      "302",
    ],
    ["is not there", () => Promise.reject(new Error("no such host")), "Error: no such host"],
  ])("%s → the samples wait, in order, and one line is logged", (_, answer, error) =>
    inGateway(async (made) => {
      const received = receiving(made);
      const good = received.answer;
      received.answer = answer;
      await send(made, await made.connected("edge-1"));
      await ring(made);
      await send(made, await made.connected("edge-2"));
      await ring(made);
      expect(made.log).toEqual([{ message: "usage is not sent", error }]);
      received.answer = good;
      await ring(made);
      expect(received.machines()).toEqual([["edge-1"], ["edge-1", "edge-2"], ["edge-1", "edge-2"]]);
      expect(counted(made)).toEqual({ sent: 2, refused: 0, dropped: 0, expired: 0 });
    }),
  );

  it.each([400, 413, 415, 422])("answers %d → the samples are refused, and not sent again", (status) =>
    inGateway(async (made) => {
      const received = receiving(made);
      received.answer = async () => new Response("", { status });
      await send(made, await made.connected("edge-1"));
      await ring(made);
      await ring(made);
      expect([received.bodies.length, counted(made)]).toEqual([
        1,
        { sent: 0, refused: 1, dropped: 0, expired: 0 },
      ]);
    }),
  );

  it("hangs → heartbeats are answered meanwhile, and no second request begins", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      received.answer = () => new Promise(() => undefined);
      const socket = await made.connected("edge-1");
      await send(made, socket);
      await ring(made);
      expect(await made.beat(socket)).toBe("answer");
      await ring(made);
      expect(received.bodies).toHaveLength(1);
    }));

  it("fails for long → the oldest samples are dropped and counted", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      received.answer = async () => new Response("", { status: 503 });
      const socket = await made.connected("edge-1");
      for (let samples = 1; samples <= EXPORT_LIMITS.waiting + 2; samples++) {
        made.nowMs += 30_000;
        await send(made, socket, { load1: samples });
      }
      await ring(made);
      expect(counted(made)).toEqual({ sent: 0, refused: 0, dropped: 2, expired: 0 });
      expect(pointsOf(received.bodies[0]!)[0]).toEqual(["edge-1", 3]);
    }));
});

it("a late isolate sends nothing", () =>
  inGateway(async (made) => {
    const received = receiving(made);
    made.live({ lateness: { note: () => undefined, ms: 500, calmMs: 0 } });
    await send(made, await made.connected("edge-1"));
    await ring(made);
    expect(received.bodies).toEqual([]);
  }));
