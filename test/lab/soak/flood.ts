// Lets one machine flood a full gateway, in one way after the other, while its neighbours are measured.
import { fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { GATEWAY_LIMITS } from "../../../shared/protocol/limits.ts";
import { type MachinesReport, type SoakFleet, startFleet } from "./fleet.ts";
import type { FloodObserved, Flooded } from "./flood-verdict.ts";
import { LeaseWatch } from "./lease-watch.ts";
import { inMadeUpPlace } from "./made-up-place.ts";
import { minuteOf } from "./minutes.ts";
import { type SoakOutput, untilAllOnSockets } from "./soak.ts";
import type { SoakWorker } from "./place.ts";

/** The ways to flood, each as fast as possible. */
const FLOODS = ["heartbeats", "reports", "reconnects", "upgrades"] as const;
type Flood = (typeof FLOODS)[number];

export interface FlooderWish {
  url: string;
  joinToken: string;
  name: string;
  index: number;
  kind: Flood;
}

/** The counts of the flooder since its last message. */
export interface FlooderReport {
  sent: number;
  /** The number of each answer, such as `upgrade: 101` or `connection: cut`. */
  answers: Record<string, number>;
}

const TICK_MS = 1000;
const SETTLE_MS = 15_000;
/** The number of neighbours. The flooders have a place in the gateway as well. */
const NEIGHBOURS = GATEWAY_LIMITS.machines - FLOODS.length;
const NAMES = new Set(Array.from({ length: NEIGHBOURS }, (_, at) => `sim-${at + 1}`));

/** Measures a calm part and one part for each way to flood, each for an equal share of `minutes`. */
export async function runFlood(
  minutes: number,
  output: SoakOutput,
  stop: AbortSignal,
): Promise<FloodObserved> {
  const secondsEach = (60 * minutes) / (FLOODS.length + 1);
  const leases = new LeaseWatch();
  const neighbours: Pick<LeaseWatch, "renewed"> = {
    renewed: (name, atMs) => void (NAMES.has(name) && leases.renewed(name, atMs)),
  };
  return inMadeUpPlace(GATEWAY_LIMITS.machines, neighbours, async ({ worker, apiserverCpuSeconds }) => {
    const failed = new AbortController();
    const wish = { url: worker.url, joinToken: worker.joinToken, from: 1, to: NEIGHBOURS, isAtOnce: false };
    const fleet = startFleet([wish], (why) => failed.abort(new Error(why)));
    try {
      const place = {
        worker,
        apiserverCpuSeconds,
        fleet,
        output,
        signal: AbortSignal.any([stop, failed.signal]),
      };
      await untilAllOnSockets(place, NEIGHBOURS);
      await wait(SETTLE_MS, undefined, { signal: place.signal });
      leases.begin(Date.now());
      const floods = [await watched(place, "calm", secondsEach)];
      for (const [at, kind] of FLOODS.entries())
        floods.push(await flooded(place, NEIGHBOURS + 1 + at, kind, secondsEach));
      return { floods, leases: leases.end(Date.now()) };
    } finally {
      fleet.stop();
    }
  });
}

interface FloodPlace {
  worker: SoakWorker;
  fleet: SoakFleet;
  output: SoakOutput;
  signal: AbortSignal;
}

async function flooded(place: FloodPlace, index: number, kind: Flood, seconds: number): Promise<Flooded> {
  const { url, joinToken } = place.worker;
  const wish = { url, joinToken, name: `sim-${index}`, index, kind } satisfies FlooderWish;
  const file = join(import.meta.dirname, "flooder.ts");
  const child = fork(file, [JSON.stringify(wish)], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const said: FlooderReport[] = [];
  const begun = new Promise<void>((resolve, reject) => {
    child.on("message", (report: FlooderReport) => {
      said.push(report);
      if (report.sent > 0) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the flooder ended with exit code ${code}`)));
  });
  try {
    await begun;
    said.length = 0;
    const seen = await watched(place, kind, seconds);
    const answers: Record<string, number> = {};
    for (const [answer, count] of said.flatMap((each) => Object.entries(each.answers)))
      answers[answer] = (answers[answer] ?? 0) + count;
    return { ...seen, sent: said.reduce((sum, each) => sum + each.sent, 0), answers };
  } finally {
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
  }
}

/** Measures the neighbours and workerd for this number of seconds. */
async function watched(place: FloodPlace, kind: Flooded["kind"], seconds: number): Promise<Flooded> {
  const { worker, fleet, output, signal } = place;
  fleet.take();
  const [beganMs, cpuBefore] = [performance.now(), worker.cpuSeconds()];
  const reports: MachinesReport[] = [];
  while (performance.now() - beganMs < seconds * TICK_MS) {
    await wait(TICK_MS, undefined, { signal });
    reports.push(fleet.take());
    output.show(`${kind}: ${Math.round((performance.now() - beganMs) / TICK_MS)} of ${seconds} s`);
  }
  const tookSeconds = (performance.now() - beganMs) / TICK_MS;
  const used = { worker: worker.cpuSeconds() - cpuBefore, machines: 0, apiserver: 0 };
  const residentBytes = worker.residentBytes();
  const minute = minuteOf({ reports, late: 0, seconds: tookSeconds, used, residentBytes });
  return { kind, sent: 0, answers: {}, neighbours: minute, lost: reports.flatMap(({ ends }) => ends) };
}
