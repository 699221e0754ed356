// A check of GET /readyz: of which version the stored state is, and whether this Worker may touch it.
import { type CheckResult, failed } from "../../shared/deployment/check-result.ts";
import { clusterObject, type Environment, fleetIndex, gateway, registry } from "../env.ts";
import { isNewerState } from "../storage/migrations.ts";

type InTime = <T extends object>(ask: () => Promise<T>) => Promise<T>;

/** What one object says. */
interface SeenVersion {
  object: string;
  /** 0: nothing is stored. null: it does not answer, which other checks find. */
  version: number | null;
  /** Why it refuses. */
  newer?: string;
}

/** Objects of machines and gateways are many, and each is brought up to date as it wakes: one of each is asked. */
export async function checkState(env: Environment, inTime: InTime): Promise<CheckResult> {
  const look = async (object: string, ask: () => Promise<number | null>): Promise<SeenVersion> => {
    try {
      const { version } = await inTime(async () => ({ version: await ask() }));
      return { object, version: version ?? 0 };
    } catch (error) {
      return { object, version: null, ...(isNewerState(error) && { newer: (error as Error).message }) };
    }
  };
  const some = inTime(() => someOf(env)).catch(() => ({ name: undefined, number: undefined }));
  const { name, number } = await some;
  const seen = await Promise.all([
    look("registry", async () => registry(env).stateVersion()),
    look("cluster", async () => clusterObject(env).stateVersion()),
    look("index", async () => fleetIndex(env).stateVersion()),
    ...(name === undefined ? [] : [look(name, async () => env.NODES.getByName(name).stateVersion())]),
    ...(number === undefined
      ? []
      : [look(`gateway ${number}`, async () => gateway(env, number).stateVersion())]),
  ]);
  return judgeState(seen);
}

async function someOf(env: Environment): Promise<{ name: string | undefined; number: number | undefined }> {
  const [names, numbers] = await Promise.all([registry(env).sampleNames(1), registry(env).gatewaysInUse()]);
  return { name: names[0], number: numbers[0] };
}

export function judgeState(seen: readonly SeenVersion[]): CheckResult {
  const check = "state";
  const refusing = seen.filter(({ newer }) => newer !== undefined);
  if (refusing.length > 0) {
    const message = refusing.map(({ object, newer }) => `${object}: ${newer}`).join("; ");
    const cure = "deploy the later version again: nothing is lost, and nothing is written until then";
    return { check, ...failed(message, cure) };
  }
  const versions = seen.map(({ object, version }) => `${object} ${version ?? "?"}`);
  return { check, state: "ok", message: `its versions: ${versions.join(", ")}` };
}
