// Plays machines for tests of the page: real keys, real enrolment, and reports on demand, with the faults that a
// test sets.
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Configuration, parseConfiguration } from "../../node-shim/config/config.ts";
import { makeMachineKey, type MachineKey } from "../../node-shim/identity/identity.ts";
import { requestFaultText, type Transport } from "../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { simulatedFacts, type SimulatedFault, simulatedVitals } from "../../infra/local/simulated-machine.ts";
import { VERSION } from "../../shared/version.ts";
import { thisRun } from "../e2e/run-record.ts";

/** Returns the default configuration, except that a pressure ends without a delay. `more` are further lines. */
const configured = (more = "") =>
  parseConfiguration(
    `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionPressureTransitionPeriod: 1ms
${more}`,
    "the machines' configuration",
  ).configuration;
const USUAL = configured();
/** The shortest lease, in milliseconds. The last report of a machine that stops sets this duration. */
const SHORTEST_LEASE_MS = 1000;
const LEAVING = configured(`nodeLeaseDurationSeconds: ${SHORTEST_LEASE_MS / 1000}\n`);
/** Milliseconds between two reports: a quarter of the lease. */
export const BEAT_MS = 10_000;

export interface PageMachines {
  /** Enrols the machine; resolves after its first accepted report. */
  machineJoins: (name: string) => Promise<void>;
  /** Sends another report of the machine; resolves once the Worker has accepted it. */
  machineReports: (name: string) => Promise<void>;
  /** Ends the machine's processes and its lease. Resolves once the played node controller has set the Node Unknown. */
  machineFallsSilent: (name: string) => Promise<void>;
  /** Starts the machine again with another boot ID; resolves after an accepted report. */
  machineReturns: (name: string) => Promise<void>;
  /** Sets the machine's fault, `undefined` for none; resolves after an accepted report with the fault. */
  fault: (name: string, fault: MachineFault | undefined) => Promise<void>;
  /** Lets another machine ask for the name with another key, so that an operator has to decide. */
  anotherAsks: (name: string) => Promise<void>;
  /** Ends all machines. */
  stop: () => Promise<void>;
}

export type MachineFault = Extract<SimulatedFault, "memory pressure" | "not ready">;

interface Machine {
  name: string;
  index: number;
  key: MachineKey;
  kid: string;
  /** The ticket of the machine's enrolment. "" after the machine was started again. */
  ticket: string;
  boots: number;
  fault: MachineFault | undefined;
}

/** The functions of a running machine. */
interface Running {
  /** Sends one report, after the running report has ended. */
  report: (configuration?: Configuration) => Promise<void>;
  stop: () => Promise<void>;
}

interface Surroundings {
  /** The origin of the Worker that the machines report to. */
  origin: string;
  /** A join token for the names of all machines. */
  joinToken: string;
  /** Sets the Node's conditions as the node controller does for a silent machine. */
  nodeIsLost: (name: string) => Promise<void>;
  beatMs: number;
}

export function pageMachines({ joinToken, nodeIsLost, ...around }: Surroundings): PageMachines {
  const { origin } = around;
  const machines = new Map<string, { machine: Machine; running: Running }>();
  const { send, close } = httpTransport(origin, ANSWERED_WITHIN_MS);
  const known = (name: string) => {
    const found = machines.get(name);
    if (!found) throw new Error(`${name} has not joined`);
    return found;
  };
  const start = async (machine: Machine) => {
    const running = startReporting(machine, around, send);
    machines.set(machine.name, { machine, running });
    await running.report();
  };
  const ask = (name: string, key: MachineKey, index: number) => {
    thisRun().secret("machine key", String(key.jwk.d));
    const { machineID = "", systemUUID = "" } = simulatedFacts(index, USUAL).machine ?? {};
    return enrol(send, key, { name, origin, joinToken, machineID, systemUUID });
  };
  return {
    async machineJoins(name) {
      const [key, index] = [await makeMachineKey(), indexOf(name)];
      const outcome = await ask(name, key, index);
      if (!outcome.ok) throw new Error(`${name} could not enrol: ${requestFaultText(outcome.error)}`);
      const { kid, ticket } = outcome.value;
      await start({ name, index, key, kid, ticket, boots: 0, fault: undefined });
    },
    machineReports: (name) => known(name).running.report(),
    async machineFallsSilent(name) {
      const { running } = known(name);
      await running.stop();
      await running.report(LEAVING);
      // The wait is longer than the lease: the Worker has its own clock, by which the lease must have expired.
      await pause(SHORTEST_LEASE_MS + 1);
      await nodeIsLost(name);
    },
    async machineReturns(name) {
      const { machine } = known(name);
      await start({ ...machine, boots: machine.boots + 1, ticket: "" });
    },
    async fault(name, fault) {
      const { machine, running } = known(name);
      machine.fault = fault;
      await running.report();
    },
    async anotherAsks(name) {
      const outcome = await ask(name, await makeMachineKey(), OTHERS_FROM + indexOf(name));
      if (outcome.ok) throw new Error(`${name} was given to another machine`);
    },
    async stop() {
      await Promise.all([...machines.values()].map(({ running }) => running.stop()));
      close();
    },
  };
}

/** The time limit for an answer, in milliseconds. A healthy machine waits less. */
const ANSWERED_WITHIN_MS = 60_000;
/**
 * The first index of machines that ask for another machine's name. These machines are not in the list of joined
 * machines.
 */
const OTHERS_FROM = 100_000;

/**
 * Returns a machine's index, computed from its name, so that machines of several test files do not look like
 * clones.
 */
function indexOf(name: string): number {
  return createHash("sha256").update(name).digest().readUInt16BE();
}

function startReporting(
  machine: Machine,
  { origin, beatMs }: Pick<Surroundings, "origin" | "beatMs">,
  send: Transport,
): Running {
  const { index, boots, name } = machine;
  const startId = randomBytes(16).toString("base64url");
  const post = reporter({ ...machine, origin, startId, send, machineTime: () => new Date().toISOString() });
  let last = Promise.resolve();
  const reportNow = async (configuration: Configuration) => {
    const facts = simulatedFacts(index, configuration, { name, boots, fault: machine.fault });
    const versions = facts.versions && { ...facts.versions, shim: VERSION };
    const outcome = await post({ ...facts, versions }, simulatedVitals(index, machine.fault));
    if (!outcome.ok)
      throw new Error(`a report of ${machine.name} was not taken: ${requestFaultText(outcome.error)}`);
  };
  const report = (configuration = USUAL) => {
    const next = last.then(() => reportNow(configuration));
    last = next.catch(() => undefined);
    return next;
  };
  // Errors are ignored because the Worker refuses the reports of a revoked machine.
  const beating = setInterval(() => void report().catch(() => undefined), beatMs);
  const stop = () => {
    clearInterval(beating);
    return last;
  };
  return { report, stop };
}
