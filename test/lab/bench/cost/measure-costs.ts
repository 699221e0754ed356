// Measures all counts for the bill, and the traffic of machines. docs/costs.md shows the last recorded measurement
// (record.ts).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Progress } from "../benchmark.ts";
import { startCountingKube } from "../counting-kube.ts";
import { renewed, startLoad } from "../heartbeat-load.ts";
import { machineFacts } from "../machine.ts";
import { median } from "../rounds.ts";
import { ROOT, startBenchWorker } from "../workerd.ts";
import type { CountedFleet, CountedTransport, GatewayRates, SlowerUsage } from "./bill.ts";
import { type FleetHours, fleetHours } from "./fleet-hours.ts";
import { DEFAULT_PROFILE, PROFILES } from "./profiles.ts";
import { socketMachines, usageMachines } from "./socket-machines.ts";
import { type QuestionUsage, questionsOver } from "./questions.ts";
import { TRANSPORTS } from "./transports.ts";
import type { CostTransport } from "./transport.ts";
import type { WireCount } from "./wire.ts";

/**
 * The number of measured hours. The rarest regular event of a machine is the alarm of its node object, once an
 * hour.
 */
const HOURS = 1;
export const SMALL = 1;
export const LARGE = 5;
/** The number of machines per gateway, which is the default of wrangler.toml. */
const GATEWAY_SIZE = 500;
/**
 * The times of a measured gateway. A minute is enough, because heartbeats overlap equally in each minute. Before, the
 * gateway measures how many machines it can serve, and the other machines start.
 */
const GATEWAY_TIMES = { firstMs: 60_000, hours: 1 / 60 };
/**
 * The slower answers of the apiserver whose bill is printed, in milliseconds, and the most machines that a gateway then
 * serves (docs/deploy.md). With more machines a second gateway would appear, and the measurement would fail.
 */
const SLOWER = [
  { answersAfterMs: 150, machines: 233 },
  { answersAfterMs: 300, machines: 116 },
] as const;
/** The hours with slower answers. Only the time counts in which objects are awake. */
const SLOWER_HOURS = 0.5;
/** The fleet sizes whose bill is printed. */
export const FLEETS = [1, 100, 10_000] as const;

export interface Traffic {
  transport: string;
  profile: string;
  hours: number;
  beats: number;
  wire: WireCount;
  /** The traffic of the enrolment and the first report. */
  start: WireCount;
}

export interface CostRecord {
  /** The counts for the bill, by the name of the transport. */
  counted: Record<string, CountedTransport>;
  traffic: Traffic[];
  /** The messages and requests to objects that one machine causes more in an hour if it sends its usage. */
  usage: { messages: number; objectRequests: number };
  /** What one question costs, by its name and transport, like `disks, HTTP`. */
  questions: Record<string, QuestionUsage>;
}

export async function measureCosts(progress: Progress): Promise<CostRecord> {
  const usage = { messages: 0, objectRequests: 0 };
  const record: CostRecord = { counted: {}, traffic: [], usage, questions: {} };
  const cpuMs = await cpuOfHeartbeat(progress);
  for (const transport of TRANSPORTS) {
    const { name } = transport;
    const count = (machines: number) =>
      fleetHours({ transport, machines, hours: HOURS, facts: machineFacts() }, progress);
    const [small, large] = [await count(SMALL), await count(LARGE)];
    const fleets = { small: fleetOf(small), large: fleetOf(large) };
    const gateways = await gatewayRates(transport, small, progress);
    const slower: SlowerUsage[] = [];
    for (const each of SLOWER) slower.push(await slowerUsage(transport, each, progress));
    const platform = { gatewaySize: GATEWAY_SIZE, hasInvocationLogs: hasInvocationLogs(), cpuMs };
    const counted = { ...fleets, ...platform, slower };
    record.counted[name] = { ...counted, ...(gateways && { gateways }) };
    record.traffic.push(trafficOf(name, DEFAULT_PROFILE, small));
    for (const { name: profile, facts, hours, cutAfterMs } of PROFILES) {
      const fleet = await fleetHours({ transport, machines: 1, hours, facts: facts(), cutAfterMs }, progress);
      record.traffic.push(trafficOf(name, profile, fleet));
    }
    if (transport === socketMachines) await addUsage(record, small, progress);
    Object.assign(record.questions, await questionsOver(transport, small, progress));
  }
  return record;
}

/** Adds what usage frames cost: the difference from the same hour without them. */
async function addUsage(record: CostRecord, without: FleetHours, progress: Progress): Promise<void> {
  const { machines, hours } = without;
  const wish = { transport: usageMachines, machines, hours, facts: machineFacts() };
  const sending = await fleetHours(wish, progress);
  const countsOf = ({ counts }: FleetHours) => {
    const objects = Object.values(counts.objects);
    const sum = (of: (object: (typeof objects)[number]) => number) =>
      objects.reduce((all, each) => all + of(each), 0);
    const calls = (requests: Record<string, number>) =>
      Object.values(requests).reduce((all, each) => all + each, 0);
    return {
      messages: sum(({ messages }) => messages),
      objectRequests: sum(({ requests }) => calls(requests)),
    };
  };
  const [more, less] = [countsOf(sending), countsOf(without)];
  record.usage = {
    messages: (more.messages - less.messages) / hours,
    objectRequests: (more.objectRequests - less.objectRequests) / hours,
  };
  record.traffic.push(trafficOf(usageMachines.name, "every 10 s, with usage", sending));
}

/**
 * Returns the usage of a gateway: with one machine, from that machine's measured hour; with many machines, from a
 * measured minute.
 */
async function gatewayRates(
  transport: CostTransport,
  small: FleetHours,
  progress: Progress,
): Promise<CountedTransport["gateways"]> {
  if (transport.gateway === undefined) return undefined;
  const rates: Record<number, GatewayRates> = { [SMALL]: ratesIn(transport.gateway, small) };
  for (const fleet of FLEETS) {
    const machines = fleet / Math.ceil(fleet / GATEWAY_SIZE);
    const wish = { transport, machines, facts: machineFacts(), ...GATEWAY_TIMES };
    rates[machines] ??= ratesIn(transport.gateway, await fleetHours(wish, progress));
  }
  return rates;
}

/** Returns the usage of the one gateway of these machines. */
function ratesIn(gateway: string, { machines, counts, hours }: FleetHours): GatewayRates {
  const { awakeMs = 0, alarmsRung = 0, objects = 0 } = counts.objects[gateway] ?? {};
  if (objects !== 1) throw new Error(`${machines} machines have ${objects} gateways`);
  return { awake: awakeMs / (hours * 3600_000), alarmsAnHour: alarmsRung / hours };
}

async function slowerUsage(
  transport: CostTransport,
  { answersAfterMs, machines }: (typeof SLOWER)[number],
  progress: Progress,
): Promise<SlowerUsage> {
  const wish = { transport, facts: machineFacts(), answersAfterMs };
  const { counts } = await fleetHours({ ...wish, machines: LARGE, hours: SLOWER_HOURS }, progress);
  const machineAwakeMs = (counts.objects["NodeObject"]?.awakeMs ?? 0) / LARGE / SLOWER_HOURS;
  const usage = { answersAfterMs, machineAwakeMs };
  if (transport.gateway === undefined) return usage;
  const rates = ratesIn(
    transport.gateway,
    await fleetHours({ ...wish, machines, ...GATEWAY_TIMES }, progress),
  );
  return { ...usage, gateway: { machines, rates } };
}

const trafficOf = (
  transport: string,
  profile: string,
  { hours, beats, wire, start }: FleetHours,
): Traffic => ({
  transport,
  profile,
  hours,
  beats,
  wire,
  start,
});

const fleetOf = ({ machines, hours, counts }: FleetHours): CountedFleet => ({ machines, hours, counts });

/**
 * Measures the CPU time of all of workerd per heartbeat under load, with the objects' and the kernel's. The
 * Worker's own CPU time is less.
 */
async function cpuOfHeartbeat(progress: Progress): Promise<number> {
  const kube = await startCountingKube(Date.now, { shortcut: renewed });
  const worker = await startBenchWorker(kube, "m-*");
  const load = await startLoad(worker, "m", progress);
  try {
    const rounds: number[] = [];
    for (let round = 1 - WARM_UP_ROUNDS; round <= ROUNDS; round++) {
      progress(round < 1 ? "warming up" : `CPU, round ${round} of ${ROUNDS}`);
      const { cpuMicroseconds } = await load.round(REPORTS_EACH);
      if (round >= 1) rounds.push(cpuMicroseconds);
    }
    return median(rounds) / 1000;
  } finally {
    load.stop();
    await worker.stop();
    await kube.stop();
  }
}

const WARM_UP_ROUNDS = 12;
const ROUNDS = 11;
const REPORTS_EACH = 4;

/** Returns true unless wrangler.toml turns the invocation logs off: the platform has them on by default. */
function hasInvocationLogs(): boolean {
  return !/^invocation_logs = false$/m.test(readFileSync(join(ROOT, "wrangler.toml"), "utf8"));
}
