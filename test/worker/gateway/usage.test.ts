// Tests what a gateway does with usage frames: it shows them, and nothing else follows from them.
import { describe, expect, it } from "vitest";
import { heartbeatText } from "../../../shared/protocol/frames.ts";
import { USAGE_LIMITS } from "../../../shared/protocol/limits.ts";
import {
  INTERVAL_MS,
  inGateway,
  type MadeUpGateway,
  type MachineSocket,
} from "../support/made-up-gateway.ts";

const USED = { uptimeSeconds: 1000, cpuSecondsTotal: 400, cpus: 8, load1: 0.5, temperatureCelsius: 51.5 };
const MINUTE_LATER = { ...USED, uptimeSeconds: 1060, cpuSecondsTotal: 430 };

async function send(made: MadeUpGateway, socket: MachineSocket, ...how: Parameters<MachineSocket["usage"]>) {
  await made.receive(socket, await socket.usage(...how));
}
const shown = ({ gateway }: MadeUpGateway) =>
  gateway.usages.list().map(({ name, cpuUsed, load1 }) => [name, cpuUsed, load1]);

describe("a usage frame", () => {
  it("the gateway names it in its answers to reports", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      expect(socket.last).toMatchObject({ type: "report-answer", takes: ["usage", "questions"] });
    }));

  it("is shown with its time; the second one has rates", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await send(made, socket, USED);
      expect(made.gateway.usages.list()).toMatchObject([
        {
          name: "edge-1",
          at: "2026-01-01T00:00:00.000Z",
          cpus: 8,
          cpuUsed: null,
          temperatureCelsius: 51.5,
          memoryCapacityBytes: null,
        },
      ]);
      made.nowMs += 60_000;
      await send(made, socket, MINUTE_LATER);
      expect(made.gateway.usages.list()).toMatchObject([{ at: "2026-01-01T00:01:00.000Z", cpuUsed: 0.5 }]);
    }));

  it("has no answer, wakes no object, makes no PUT, sets no alarm, and writes no row", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const before = [
        made.alarmMs,
        socket.frames.length,
        structuredClone(socket.deserializeAttachment()),
        made.members,
      ];
      made.nowMs += 1000;
      await send(made, socket, USED);
      const after = [made.alarmMs, socket.frames.length, socket.deserializeAttachment(), made.members];
      expect([after, made.puts, made.woken]).toEqual([before, [], ["edge-1 report"]]);
    }));

  it("between two heartbeats changes neither their number nor their nonce", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (let beats = 0; beats < 3; beats++) {
        expect(await made.beat(socket)).toBe("answer");
        await send(made, socket, USED);
        made.nowMs += 20_000 - INTERVAL_MS;
      }
    }));

  it("is no contact: a machine that sends only usage becomes silent as one that sends nothing", () =>
    inGateway(async (made) => {
      const [busy, idle] = [await made.connected("edge-1"), await made.connected("edge-2")];
      const ends: Record<string, number> = {};
      for (let seconds = 0; seconds < 60; seconds += 2) {
        if (seconds % 30 === 0 && busy.readyState === 1) await send(made, busy, USED);
        await made.pass(2000);
        for (const { name, said } of [busy, idle])
          if (said.includes("closing silent")) ends[name] ??= seconds;
      }
      expect(ends["edge-1"]).toBe(ends["edge-2"]);
      expect(ends["edge-1"]).toBeDefined();
    }));

  it("is taken after the loan's end as well, since a machine under pressure has no loan", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      made.onReport = async (report) => ({ ...made.lent(report.request.name), lent: null });
      await made.report(socket);
      await send(made, socket, USED);
      expect(shown(made)).toEqual([["edge-1", null, 0.5]]);
    }));
});

describe("is not shown", () => {
  it.each<[situation: string, how: Parameters<MachineSocket["usage"]>[1]]>([
    ["another machine's MAC", { key: new Uint8Array(32).fill(8) }],
    ["the MAC of a heartbeat", { text: (payload) => heartbeatText("nonce-0000000000000001", payload) }],
    ["a number that was used", { n: 1 }],
  ])("%s", (_, how) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await send(made, socket, USED);
      await send(made, socket, { ...MINUTE_LATER, load1: 9 }, how);
      expect([shown(made), socket.said]).toEqual([[["edge-1", null, 0.5]], ["report-answer 200"]]);
    }),
  );

  it("before the first session, and after an eviction until the next one", () =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      await send(made, socket, USED);
      made.evict();
      await send(made, socket, MINUTE_LATER);
      expect(shown(made)).toEqual([]);
      await made.report(socket);
      await send(made, socket, MINUTE_LATER);
      expect(shown(made)).toEqual([["edge-1", null, 0.5]]);
    }));

  it("once five frames are missing, or the socket has closed", () =>
    inGateway(async (made) => {
      const [one, two] = [await made.connected("edge-1"), await made.connected("edge-2")];
      await send(made, one, USED);
      await send(made, two, USED);
      await made.lose(two);
      expect(shown(made)).toEqual([["edge-1", null, 0.5]]);
      made.nowMs += 1000 * USAGE_LIMITS.everySeconds * USAGE_LIMITS.missed;
      expect(shown(made)).toHaveLength(1);
      made.nowMs++;
      expect(shown(made)).toEqual([]);
    }));
});

describe("the gateway closes the socket", () => {
  it.each([
    ["three at once, then one each half minute", [0, 0, 0, 30, 30, 30], false],
    ["four at once", [0, 0, 0, 0], true],
    ["one each quarter of a minute", [0, 15, 15, 15, 15, 15], true],
  ])("%s", (_, seconds, isClosed) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      for (const after of seconds) {
        made.nowMs += 1000 * after;
        if (socket.readyState === 1) await send(made, socket, USED);
      }
      expect(socket.said.includes("closing too often")).toBe(isClosed);
    }),
  );

  it.each([
    ["300 bytes", 300, "report-answer 200"],
    ["301 bytes", 301, "closing bad frame"],
  ])("%s", (_, length, last) =>
    inGateway(async (made) => {
      const socket = await made.connected("edge-1");
      const [payload = "", mac = ""] = (await socket.usage(USED)).split("\n");
      await made.receive(socket, `${payload}${" ".repeat(length - payload.length - mac.length - 1)}\n${mac}`);
      expect(socket.said.at(-1)).toBe(last);
    }),
  );
});

describe("the metrics", () => {
  it("each machine has its lines, without those of unknown amounts", () =>
    inGateway(async (made) => {
      expect(made.gateway.usages.measure()).toEqual({});
      for (const name of ["edge-1", "edge-2"])
        await send(made, await made.connected(name), name === "edge-1" ? USED : { load1: 2 });
      expect(made.gateway.usages.measure()).toEqual({
        node_cpu_usage_seconds_total: 'node_cpu_usage_seconds_total{machine="edge-1"} 400\n',
        rollcall_machine_cpus: 'rollcall_machine_cpus{machine="edge-1"} 8\n',
        node_load1: 'node_load1{machine="edge-1"} 0.5\nnode_load1{machine="edge-2"} 2\n',
        rollcall_machine_temperature_celsius: 'rollcall_machine_temperature_celsius{machine="edge-1"} 51.5\n',
        rollcall_machine_usage_timestamp_seconds:
          'rollcall_machine_usage_timestamp_seconds{machine="edge-1"} 1767225600\nrollcall_machine_usage_timestamp_seconds{machine="edge-2"} 1767225600\n',
      });
    }));
});
