// Plays machines that report over HTTP, with the shim's own reporter and connection.
import { createSecureContext } from "node:tls";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { Link } from "../../../../node-shim/worker-link/link.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { machineVitals } from "../machine.ts";
import { nextInMs } from "../next-in-ms.ts";
import type { CostTransport } from "./transport.ts";

/** The time limit of a request, in real milliseconds. Long, so that a busy computer does not exceed it. */
const WITHIN_MS = 120_000;

export const httpMachines: CostTransport = {
  key: "http",
  name: "HTTP",
  start({ name, origin, authority, facts, nowMs, after, answering, ...enrolled }) {
    const outbound = { proxy: null, trust: createSecureContext({ ca: authority }) };
    const { send, close: stop } = httpTransport(origin, WITHIN_MS, outbound);
    const machineTime = () => new Date(nowMs()).toISOString();
    const machine = { name, origin, startId: `start of ${name}`, machineTime, nowMs, ...enrolled };
    // Only a machine that answers questions has a link, which names them to the Worker.
    const link =
      answering &&
      new Link({
        machine,
        outbound,
        deadlineMs: WITHIN_MS,
        patienceMs: WITHIN_MS,
        clock: { nowMs, timer: after },
        choice: "http",
        random: Math.random,
        log: () => undefined,
        dropHttp: () => undefined,
        changed: () => undefined,
        answering,
      });
    const report = reporter({ ...machine, send, ...(link && { link }) });
    const beat = async (index: number) => nextInMs(name, await report(facts, machineVitals(index)));
    return { beat, stop };
  },
};
