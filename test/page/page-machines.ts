// Machines of a page's test: real keys, real enrolment, real reports each second; what is wrong with them a test says.
import { randomBytes } from "node:crypto";
import { parseConfiguration } from "../../node-shim/config/config.ts";
import { makeMachineKey, type MachineKey } from "../../node-shim/identity/machine-key.ts";
import { requestFaultText, type Transport } from "../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-facts.ts";
import type { SimulatedFault } from "../../infra/local/simulated-faults.ts";
import { thisRun } from "../e2e/run-record.ts";

/** Reports each second, so that silence is noticed within some; a pressure is over as soon as it is. */
const { configuration } = parseConfiguration(
  `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nodeStatusUpdateFrequency: 1s
nodeLeaseDurationSeconds: 4
evictionPressureTransitionPeriod: 1s
`,
  "the machines' configuration",
);
const BEAT_MS = 1000;

export interface PageMachines {
  /** Enrols it; resolves once its first report was taken. Then it reports each second. */
  machineJoins: (name: string) => Promise<void>;
  /** Its processes end: no report comes any more. */
  machineFallsSilent: (name: string) => Promise<void>;
  /** It starts again, having booted anew; resolves once a report was taken. */
  machineReturns: (name: string) => Promise<void>;
  /** What is wrong with it from now on, `undefined`: nothing; resolves once a report that says so was taken. */
  fault: (name: string, fault: MachineFault | undefined) => Promise<void>;
  /** Another machine asks for the name, with another key: an operator has to decide. */
  anotherAsks: (name: string) => Promise<void>;
  /** All of them end. */
  stop: () => Promise<void>;
}

export type MachineFault = Extract<SimulatedFault, "memory pressure" | "not ready">;

interface Machine {
  name: string;
  index: number;
  key: MachineKey;
  kid: string;
  /** Of its enrolment; "": it has started again since. */
  ticket: string;
  boots: number;
  fault: MachineFault | undefined;
}

/** The processes of a machine, until they end. */
interface Running {
  /** One report, after the one that is under way. */
  beat: () => Promise<void>;
  stop: () => Promise<void>;
}

/** `joinToken` is good for all of their names. */
export function pageMachines(origin: string, joinToken: string): PageMachines {
  const machines = new Map<string, { machine: Machine; running: Running }>();
  const { send, close } = httpTransport(origin, 9000);
  const known = (name: string) => {
    const found = machines.get(name);
    if (!found) throw new Error(`${name} has not joined`);
    return found;
  };
  const start = async (machine: Machine) => {
    const running = startReporting(machine, origin, send);
    machines.set(machine.name, { machine, running });
    await running.beat();
  };
  const ask = (name: string, key: MachineKey, index: number) => {
    thisRun().secret("machine key", String(key.jwk.d));
    const { machineID = "", systemUUID = "" } = simulatedFacts(index, configuration).machine ?? {};
    return enrol(send, key, { name, origin, joinToken, machineID, systemUUID });
  };
  return {
    async machineJoins(name) {
      const [key, index] = [await makeMachineKey(), machines.size + 1];
      const outcome = await ask(name, key, index);
      if (!outcome.ok) throw new Error(`${name} could not enrol: ${requestFaultText(outcome.error)}`);
      const { kid, ticket } = outcome.value;
      await start({ name, index, key, kid, ticket, boots: 0, fault: undefined });
    },
    machineFallsSilent: (name) => known(name).running.stop(),
    async machineReturns(name) {
      const { machine } = known(name);
      await start({ ...machine, boots: machine.boots + 1, ticket: "" });
    },
    async fault(name, fault) {
      const { machine, running } = known(name);
      machine.fault = fault;
      await running.beat();
    },
    async anotherAsks(name) {
      const outcome = await ask(name, await makeMachineKey(), OTHERS_FROM + machines.size);
      if (outcome.ok) throw new Error(`${name} was given to another machine`);
    },
    async stop() {
      await Promise.all([...machines.values()].map(({ running }) => running.stop()));
      close();
    },
  };
}

/** Machines that ask for a name of another one are none of those that have joined. */
const OTHERS_FROM = 100_000;

function startReporting(machine: Machine, origin: string, send: Transport): Running {
  const { name, index, boots } = machine;
  const startId = randomBytes(16).toString("base64url");
  const post = reporter({ ...machine, origin, startId, send, machineTime: () => new Date().toISOString() });
  let last = Promise.resolve();
  const report = async () => {
    const facts = simulatedFacts(index, configuration, { boots, fault: machine.fault });
    const outcome = await post(facts, simulatedVitals(index, machine.fault));
    if (!outcome.ok) throw new Error(`a report of ${name} was not taken: ${requestFaultText(outcome.error)}`);
  };
  const beat = () => {
    const next = last.then(report);
    last = next.catch(() => undefined);
    return next;
  };
  // One that is not taken, as while a Worker starts, is followed by the next.
  const beating = setInterval(() => void beat().catch(() => undefined), BEAT_MS);
  const stop = () => {
    clearInterval(beating);
    return last;
  };
  return { beat, stop };
}
