// Plays machines that report over sockets, with the shim's own link: the link starts by HTTP and opens the socket
// that the Worker offers.
import { createSecureContext } from "node:tls";
import type { Clock } from "../../../../node-shim/base/clock.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { sendingUsage } from "../../../../node-shim/loop/usage.ts";
import { Link } from "../../../../node-shim/worker-link/link.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { usageOf } from "../../../../shared/protocol/usage.ts";
import { machineVitals } from "../machine.ts";
import { nextInMs } from "../next-in-ms.ts";
import type { CostTransport } from "./transport.ts";

/** The time limit of a request, in real milliseconds. Long, so that a busy computer does not exceed it. */
const WITHIN_MS = 120_000;

/** The usage of a busy server after a month, in a frame of usual length. */
const SERVER = usageOf([
  2_592_000.25, 4_147_200.75, 16, 1.52, 1.48, 1.44, 24_123_456_789, 33_554_432_000, 1_234_567_890_432,
  2_345_678_901_248, 987_654_321_098, 123_456_789_012, 51_840.22, 120.5, 80.25, 25_920.5, 12_960.75, 54.5,
]);

const startOver =
  (sendsUsage: boolean): CostTransport["start"] =>
  ({ name, origin, authority, facts, nowMs, after, answering = null, ...enrolled }) => {
    const outbound = { proxy: null, trust: createSecureContext({ ca: authority }) };
    const { send, close } = httpTransport(origin, WITHIN_MS, outbound);
    const machineTime = () => new Date(nowMs()).toISOString();
    const machine = { name, origin, startId: `start of ${name}`, machineTime, nowMs, ...enrolled };
    // After its wait the link opens a socket, which takes real time. The opening ends when the link requests a
    // report, or logs a fault.
    let isOpening = false;
    const timer: Clock["timer"] = (ms, callback) =>
      after(ms, () => {
        isOpening = true;
        callback();
      });
    const link = new Link({
      machine,
      outbound,
      deadlineMs: WITHIN_MS,
      patienceMs: 2 * WITHIN_MS,
      clock: { nowMs, timer },
      choice: "socket",
      random: Math.random,
      log: () => undefined,
      dropHttp: close,
      changed: () => void (isOpening = false),
      answering,
    });
    const reporting = reporter({ ...machine, send, link });
    const usage = { read: () => Promise.resolve(SERVER), socket: () => link.socket(), nowMs };
    const report = sendsUsage ? sendingUsage(reporting, usage) : reporting;
    const beat = async (index: number) => nextInMs(name, await report(facts, machineVitals(index)));
    const stop = () => {
      link.close();
      close();
    };
    const listen = (wake: () => void) =>
      link.listen(() => {
        isOpening = false;
        wake();
      });
    return { beat, stop, listen, isBusy: () => isOpening };
  };

function overSockets({ sendsUsage }: { sendsUsage: boolean }): CostTransport {
  return { key: "socket", name: "sockets", gateway: "GatewayObject", start: startOver(sendsUsage) };
}

export const socketMachines = overSockets({ sendsUsage: false });
/** The machines that also send their usage. They are no transport of their own. */
export const usageMachines = overSockets({ sendsUsage: true });
