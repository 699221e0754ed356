// Plays a machine that reports to a Worker when a test calls `report`. Its key and its requests are real; its facts
// are made up.
import { mintToken } from "../../infra/local/admin.ts";
import { simulatedFacts, simulatedVitals } from "../../infra/local/simulated-machine.ts";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { type MachineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import type { Facts } from "../../shared/protocol/facts.ts";
import type { Grant } from "../../shared/protocol/join-tokens.ts";
import type { WorkerAccess } from "./own-worker.ts";
import { thisRun } from "./run-record.ts";

export interface SimulatedMachine {
  name: string;
  key: MachineKey;
  /** Sends one report. Resolves with the phase in the Worker's answer, or with the reason of a refusal. */
  report: (more?: Partial<Facts>) => Promise<string>;
}

/**
 * The join token that a machine enrols with: a given one, or a new one. With `rejoin`, the new one allows a name to
 * enrol again; other fields are the new one's grant.
 */
export type MachineWish = { rejoin: true } | { joinToken: string } | Partial<Grant>;

/** Enrols a simulated machine that has a key of its own. */
export async function simulatedMachine(
  { url, adminSecret }: WorkerAccess,
  index: number,
  wish?: MachineWish,
): Promise<SimulatedMachine> {
  const name = `sim-${index}`;
  const token = { names: name, uses: 1, withoutFactsOnlyTaint: false };
  const joinToken =
    wish && "joinToken" in wish ? wish.joinToken : await mintToken(url, adminSecret, { ...token, ...wish });
  const { send, close } = httpTransport(url, 9000);
  const key = await makeMachineKey();
  thisRun().secret("machine key", String(key.jwk.d));
  thisRun().secret("join token", joinToken);
  const asking = { name, origin: url, joinToken, machineID: name, systemUUID: name };
  const enrolled = await enrol(send, key, asking);
  if (!enrolled.ok) throw new Error(JSON.stringify(enrolled));
  const { kid } = enrolled.value;
  const machineTime = () => new Date().toISOString();
  const post = reporter({ ...asking, key, kid, startId: "s", send, machineTime });
  const report = async (more: Partial<Facts> = {}) => {
    const facts = { ...simulatedFacts(index, defaultConfiguration()), ...more };
    const reported = await post(facts, simulatedVitals(index));
    close();
    if (reported.ok) return reported.value.phase;
    return reported.error.reason === "refused" ? reported.error.problem.reason : reported.error.reason;
  };
  return { name, key, report };
}
