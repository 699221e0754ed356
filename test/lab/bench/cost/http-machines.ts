// Plays machines that report over HTTP, with the shim's own reporter and connection.
import { createSecureContext } from "node:tls";
import { httpTransport } from "../../../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../../../node-shim/worker-link/reporter.ts";
import { machineVitals } from "../machine.ts";
import { nextInMs } from "../next-in-ms.ts";
import type { CostTransport } from "./transport.ts";

/** The time limit of a request, in real milliseconds. Long, so that a busy computer does not exceed it. */
const WITHIN_MS = 120_000;

export const httpMachines: CostTransport = {
  key: "http",
  name: "HTTP",
  start({ name, origin, authority, facts, nowMs, ...enrolled }) {
    const trust = createSecureContext({ ca: authority });
    const { send, close: stop } = httpTransport(origin, WITHIN_MS, { proxy: null, trust });
    const machineTime = () => new Date(nowMs()).toISOString();
    const machine = { name, origin, startId: `start of ${name}`, machineTime, nowMs, ...enrolled };
    const report = reporter({ ...machine, send });
    const beat = async (index: number) => nextInMs(name, await report(facts, machineVitals(index)));
    return { beat, stop };
  },
};
