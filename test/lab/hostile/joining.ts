// Enrols a recording's machines, with a join token created for the run and with seeded keys, which never leave this
// file.
import { machineKey, type MachineKey } from "../../../node-shim/identity/identity.ts";
import type { Transport } from "../../../node-shim/worker-link/exchange.ts";
import { enrol, type EnrolledMachine } from "../../../node-shim/worker-link/requests.ts";
import type { Result } from "../../../shared/result.ts";
import type { BenchWorker } from "../bench/workerd.ts";
import { ORIGIN, PLANT_PATH, type Planted } from "./agreed.ts";
import { seededKey } from "./jwt.ts";
import type { Random } from "./random.ts";

/** The time of the Worker and the apiserver at the start of a run. */
export const NOW_MS = Date.UTC(2026, 0, 2);
const DAY_SECONDS = 86_400;

export async function keyOf(random: Random): Promise<MachineKey> {
  const { x, d } = await seededKey(random);
  return machineKey({ kty: "OKP", crv: "Ed25519", x, d });
}

/** Creates the join token, for all names. From now on `seed` seeds the Worker's randomness. */
export async function plantToken({ url }: BenchWorker, random: Random, seed: number): Promise<string> {
  const { thumbprint, x, d } = await seededKey(random);
  const expiresInSeconds = 365 * DAY_SECONDS;
  const wish = { names: "*", uses: 1000, expiresInSeconds, rejoin: false, withoutFactsOnlyTaint: false };
  const body = JSON.stringify({ id: thumbprint, key: x, request: wish } satisfies Planted);
  await fetch(`${url}${PLANT_PATH}?${seed}`, { method: "POST", body });
  return `rcj1_${d}`;
}

export function enrolling(name: string, joinToken: string) {
  return { name, origin: ORIGIN, joinToken, machineID: `machine-of-${name}`, systemUUID: name };
}

export async function enrolled(
  send: Transport,
  name: string,
  joinToken: string,
  key: MachineKey,
): Promise<EnrolledMachine> {
  const { kid } = taken(await enrol(send, key, enrolling(name, joinToken)));
  return { name, origin: ORIGIN, key, kid };
}

export function taken<Answer>(outcome: Result<Answer, unknown>): Answer {
  if (outcome.ok) return outcome.value;
  throw new Error(`a machine's own request was not taken: ${JSON.stringify(outcome)}`);
}
