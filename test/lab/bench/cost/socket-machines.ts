// Plays machines that report over sockets, with the shim's own link: the link starts by HTTP and opens the socket
// that the Worker offers.
import { createSecureContext } from "node:tls";
import type { Clock } from "../../../../node-shim/base/clock.ts";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { Link } from "../../../../node-shim/worker-link/link.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { machineVitals } from "../machine.ts";
import { nextInMs } from "../next-in-ms.ts";
import type { CostTransport } from "./transport.ts";

/** The time limit of a request, in real milliseconds. Long, so that a busy computer does not exceed it. */
const WITHIN_MS = 120_000;

export const socketMachines: CostTransport = {
  key: "socket",
  name: "sockets",
  gateway: "GatewayObject",
  start({ name, origin, authority, facts, nowMs, after, ...enrolled }) {
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
    });
    const report = reporter({ ...machine, send, link });
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
  },
};
