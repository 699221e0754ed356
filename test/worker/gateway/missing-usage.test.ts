// Tests how a gateway asks for the samples of usage that machines have kept, and when it takes them.
import { describe, expect, it } from "vitest";
import { USAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import type { Usage } from "../../../shared/protocol/usage.ts";
import { Durations, type Sample } from "../../../worker/metrics/metrics.ts";
import type { UsageReceiver } from "../../../worker/gateway/usage-receiver.ts";
import { EXPORT_LIMITS } from "../../../worker/gateway/usage-export.ts";
import { inGateway, type MadeUpGateway, type MachineSocket, START_MS } from "../support/made-up-gateway.ts";

const NOW = { uptimeSeconds: 10_000, load1: 10 };
/** A sample of some minutes ago, with this number as load. */
const ago = (minutes: number) => ({ uptimeSeconds: 10_000 - 60 * minutes, load1: minutes });

/** A receiver, and for each request the samples as [seconds before the first frame, load]. */
function receiving(made: MadeUpGateway, gateways: UsageReceiver["gateways"] = () => Promise.resolve(1)) {
  const received = { requests: [] as [number, number][][], status: 200 };
  made.receiver = {
    deployment: "rollcall",
    post(body) {
      const { resourceMetrics } = JSON.parse(body) as {
        resourceMetrics: {
          scopeMetrics: { metrics: { name: string; gauge: { dataPoints: Point[] } }[] }[];
        }[];
      };
      const load = resourceMetrics[0]?.scopeMetrics[0]?.metrics.find(({ name }) => name === "node_load1");
      const points = load?.gauge.dataPoints ?? [];
      received.requests.push(
        points.map(({ timeUnixNano, asDouble }) => [
          (Number(timeUnixNano) / 1e6 - START_MS) / 1000,
          asDouble,
        ]),
      );
      return Promise.resolve(new Response("", { status: received.status }));
    },
    labels: null,
    gateways,
  };
  made.evict();
  return received;
}
interface Point {
  timeUnixNano: string;
  asDouble: number;
}

async function offer(
  made: MadeUpGateway,
  socket: MachineSocket,
  missing: number,
  usage: Partial<Usage> = NOW,
) {
  await made.receive(socket, await socket.usage(usage, { missing }));
}
const answer = async (
  made: MadeUpGateway,
  socket: MachineSocket,
  ...of: Parameters<MachineSocket["missingUsage"]>
) => {
  await made.receive(socket, await socket.missingUsage(...of));
  await settle();
};
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((again) => void setTimeout(again));
}
function counted({ counters }: MadeUpGateway, outcome: string): unknown {
  const status = { gateway: 7, members: 1, isSuspended: false, queue: { length: 0, seconds: 0 } };
  const measured = counters.measure(status, new Durations(() => 0));
  const samples = measured.rollcall_gateway_usage_samples_total as Sample[];
  return samples.find(({ labels }) => labels["outcome"] === outcome)?.value;
}
const asked = ({ frames }: MachineSocket) =>
  frames.flatMap((frame) => (frame.type === "missing-usage" ? [frame.most] : []));
const takes = ({ last }: MachineSocket) => (last?.type === "report-answer" ? last.takes : undefined);

describe("a machine is asked", () => {
  it("only with a receiver: without one, the gateway does not name the frame", () =>
    inGateway(async (made) => {
      expect(takes(await made.connected("edge-1"))).toEqual(["usage", "questions"]);
      receiving(made);
      expect(takes(await made.connected("edge-2"))).toEqual(["usage", "missing-usage", "questions"]);
    }));

  it("for as many samples as it offers, and not without an offer", () =>
    inGateway(async (made) => {
      receiving(made);
      const socket = await made.connected("edge-1");
      await made.receive(socket, await socket.usage(NOW));
      expect(asked(socket)).toEqual([]);
      await offer(made, socket, 7);
      expect(asked(socket)).toEqual([7]);
    }));

  it("no further one while there is no room", () =>
    inGateway(async (made) => {
      receiving(made);
      const sockets: MachineSocket[] = [];
      const fits = Math.floor(EXPORT_LIMITS.waiting / (USAGE_LIMITS.kept + 1)) + 1;
      for (let machines = 0; machines <= fits; machines++) {
        sockets.push(await made.connected(`edge-${machines}`));
        await offer(made, sockets.at(-1)!, USAGE_LIMITS.kept);
      }
      const most = sockets.flatMap(asked);
      const own = sockets.length;
      expect(most).toHaveLength(fits);
      expect(most.reduce((sum, each) => sum + each) + own).toBeLessThanOrEqual(EXPORT_LIMITS.waiting + 1);
    }));

  it("again after ten seconds, if machines that were asked do not answer", () =>
    inGateway(async (made) => {
      receiving(made);
      const fits = Math.ceil(EXPORT_LIMITS.waiting / USAGE_LIMITS.kept);
      for (let machines = 0; machines <= fits; machines++)
        await offer(made, await made.connected(`edge-${machines}`), USAGE_LIMITS.kept);
      const last = await made.connected("last");
      await offer(made, last, 1);
      made.nowMs += 10_000;
      await offer(made, last, 1);
      expect(asked(last)).toEqual([1]);
    }));

  it("after one call to the registry for all machines of some minutes", () =>
    inGateway(async (made) => {
      let calls = 0;
      receiving(made, () => Promise.resolve(++calls));
      const sockets = [await made.connected("edge-1"), await made.connected("edge-2")];
      await Promise.all(sockets.map((socket) => offer(made, socket, 1)));
      expect([calls, sockets.flatMap(asked)]).toEqual([1, [1, 1]]);
    }));

  it.each([
    ["one gateway: 50 in a second", 1, 50],
    ["25 gateways: 2 in a second", 25, 2],
    ["100 gateways: one at once", 100, 1],
  ])("%s", (_, gateways, most) =>
    inGateway(async (made) => {
      receiving(made, () => Promise.resolve(gateways));
      let count = 0;
      for (let machines = 0; machines < most + 2; machines++) {
        const socket = await made.connected(`edge-${machines}`);
        await offer(made, socket, 1);
        count += asked(socket).length;
      }
      expect(count).toBe(most);
      made.nowMs += (1000 * gateways) / USAGE_LIMITS.askedASecond;
      const later = await made.connected("later");
      await offer(made, later, 1);
      expect(asked(later)).toEqual([1]);
    }),
  );

  it("not while the registry does not answer how many gateways share the rate", () =>
    inGateway(async (made) => {
      receiving(made, () => Promise.reject(new Error("no answer")));
      const socket = await made.connected("edge-1");
      await offer(made, socket, 1);
      expect(asked(socket)).toEqual([]);
    }));
});

describe("the samples are sent to the receiver", () => {
  it("with their own times, by the machine's uptime, apart from those of now", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      await offer(made, socket, 2);
      await answer(made, socket, [ago(3), ago(2)]);
      expect(received.requests).toEqual([
        [[0, 10]],
        [
          [-180, 3],
          [-120, 2],
        ],
      ]);
      expect(counted(made, "sent")).toBe(3);
    }));

  it("a sample that arrives twice, over two sockets, has the same time", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      await offer(made, socket, 0);
      made.nowMs += 90;
      const again = await made.connected("edge-1");
      await offer(made, again, 1, { uptimeSeconds: 10_000.03, load1: 11 });
      await answer(made, again, [NOW]);
      expect(received.requests.flat().filter(([, load]) => load === 10)).toEqual([
        [0, 10],
        [0, 10],
      ]);
    }));

  it("in requests of one machine, since its samples may contradict what it sent before", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      const sockets = [await made.connected("edge-1"), await made.connected("edge-2")];
      for (const socket of sockets) await offer(made, socket, 2);
      received.status = 503;
      for (const [index, socket] of sockets.entries())
        await made.receive(socket, await socket.missingUsage([ago(5 + index)]));
      await made.gateway.ring();
      await settle();
      received.requests.length = 0;
      received.status = 200;
      await made.gateway.ring();
      await settle();
      expect(received.requests.map((points) => points.map(([, load]) => load))).toEqual([[10, 10], [5], [6]]);
    }));

  it("what the machine had no room for is counted", () =>
    inGateway(async (made) => {
      receiving(made);
      const socket = await made.connected("edge-1");
      await offer(made, socket, 1);
      await answer(made, socket, [ago(1)], { lost: 5 });
      expect(counted(made, "expired")).toBe(5);
    }));
});

describe("are not sent, but counted", () => {
  it.each<[situation: string, sample: Partial<Usage>]>([
    ["a sample of later than now", { uptimeSeconds: 10_001 }],
    ["a sample of now", NOW],
    ["one of before the last hour", { uptimeSeconds: 10_000 - USAGE_LIMITS.keptSeconds - 1 }],
    ["one without an uptime", { load1: 1 }],
  ])("%s", (_, sample) =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      await offer(made, socket, 1);
      await answer(made, socket, [sample]);
      expect(received.requests.flat()).toEqual([[0, 10]]);
      expect(counted(made, "expired")).toBe(1);
    }),
  );
});

describe("a sample of now that Prometheus would refuse, and with it those of all machines of the request", () => {
  const impossible = { uptimeSeconds: 1e19, load1: 2 };
  it.each<[situation: string, second: Partial<Usage>, afterMs: number, sent: [number, number][]]>([
    ["the same time with another value → not sent", { ...NOW, load1: 2 }, 10, [[0, 10]]],
    ["an earlier time → not sent", { uptimeSeconds: 9999, load1: 2 }, 10, [[0, 10]]],
    [
      "an impossible uptime → sent with the present as its time",
      impossible,
      60_000,
      [
        [0, 10],
        [60, 2],
      ],
    ],
  ])("%s", (_, second, afterMs, sent) =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      await made.receive(socket, await socket.usage(NOW));
      made.nowMs += afterMs;
      await made.receive(socket, await socket.usage(second));
      await made.gateway.ring();
      await settle();
      expect(received.requests.flat()).toEqual(sent);
      expect(counted(made, "expired")).toBe(2 - sent.length);
    }),
  );

  it("an impossible uptime twice → no time hours away", () =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      for (let frames = 0; frames < 2; frames++) {
        await made.receive(socket, await socket.usage(impossible));
        made.nowMs += 1000;
      }
      await made.gateway.ring();
      await settle();
      expect(received.requests.flat().map(([seconds]) => seconds)).toEqual([0, 1]);
    }));
});

describe("are ignored", () => {
  it.each<[situation: string, how: Parameters<MachineSocket["missingUsage"]>[1]]>([
    ["another machine's MAC", { key: new Uint8Array(32).fill(8) }],
    ["a number that was used", { n: 1 }],
  ])("%s", (_, how) =>
    inGateway(async (made) => {
      const received = receiving(made);
      const socket = await made.connected("edge-1");
      await offer(made, socket, 1);
      await answer(made, socket, [ago(1)], how);
      expect(received.requests).toEqual([]);
      expect(socket.readyState).toBe(1);
    }),
  );
});

describe("the gateway closes the socket", () => {
  it.each<[situation: string, offered: number | null, answers: number[]]>([
    ["samples that it has not asked for", null, [1]],
    ["none, which it has not asked for either", null, [0]],
    ["more than it has asked for", 2, [3]],
    ["a second answer", 2, [2, 1]],
  ])("%s", (_, offered, answers) =>
    inGateway(async (made) => {
      receiving(made);
      const socket = await made.connected("edge-1");
      if (offered !== null) await offer(made, socket, offered);
      for (const count of answers)
        await answer(
          made,
          socket,
          Array.from({ length: count }, (_, index) => ago(9 - index)),
        );
      expect(socket.said.at(-1)).toBe("closing too often");
    }),
  );
});
