// Makes a machine whose reports use its link, with the test's clock: reporter, link and HTTP, and their log.
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { TransportChoice } from "../../../node-shim/machine/transport.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { Link, type TransportInUse } from "../../../node-shim/worker-link/link.ts";
import { DIRECTLY, type Outbound } from "../../../node-shim/worker-link/outbound.ts";
import { gatewayPace } from "../../../node-shim/worker-link/pace.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { Vitals } from "../../../shared/protocol/report.ts";
import { fakeClock } from "../base/fake-clock.ts";

export const FACTS = { platform: { os: "linux", architecture: "amd64" } } as Facts;
export const vitals = (available: number): Vitals => ({ signals: { "memory.available": [available, 1000] } });

/** The time limit of a request and of an upgrade, by real timers. */
const DEADLINE_MS = 9000;

export interface LinkSituation {
  choice?: TransportChoice;
  random?: number;
  outbound?: Outbound;
  /** Returns the header with which an upgrade states until when the machine waits. Absent: no header. */
  until?: () => Record<string, string>;
  /** The Worker's origin. Absent: http://127.0.0.1 with the Worker's port. */
  origin?: string;
}

export type LinkedMachine = Awaited<ReturnType<typeof linkedMachine>>;

/**
 * Makes a machine. `report` sends one report. `asked` is the number of reports that the Worker or a new socket has
 * asked for.
 */
export async function linkedMachine(
  worker: { port: number },
  { choice = "auto", random = 0, ...more }: LinkSituation = {},
) {
  const { outbound = DIRECTLY, origin = `http://127.0.0.1:${worker.port}` } = more;
  const clock = fakeClock();
  const lines: string[] = [];
  const seen: TransportInUse[] = [];
  const key = await makeMachineKey();
  const own = { name: "edge-1", origin, key, kid: `1.${key.thumbprint}.e.m` };
  const { send, close } = httpTransport(origin, DEADLINE_MS, outbound);
  let asked = 0;
  const link = new Link({
    machine: own,
    outbound,
    deadlineMs: DEADLINE_MS,
    patienceMs: 2 * DEADLINE_MS,
    clock,
    choice,
    random: () => random,
    ...(more.until && { until: more.until }),
    log: (level, message) => lines.push(`${level} ${message}`),
    dropHttp: close,
    changed: (transport) => seen.push(transport),
  });
  link.listen(() => asked++);
  const machineTime = () => "2026-01-01T00:00:00.000Z";
  const pace = gatewayPace(clock.nowMs);
  const report = reporter({ ...own, link, startId: "start", send, machineTime, nowMs: clock.nowMs, pace });
  return {
    clock,
    link,
    lines,
    seen,
    reportNow: report,
    pace,
    asked: () => asked,
    report: (amount = 100, facts = FACTS) => report(facts, vitals(amount)),
    reportVitals: (vitals: Vitals) => report(FACTS, vitals),
    close: () => {
      link.close();
      close();
    },
  };
}
