// Gives each hostile machine its join token, and starts all of them in a thread.
import { fileURLToPath } from "node:url";
import { Worker as Thread } from "node:worker_threads";
import { ask, readAnswer, type WorkerConnection } from "../../../../infra/operator/client.ts";
import { mintedTokenSchema } from "../../../../shared/protocol/operator-answers.ts";
import { grantOf } from "./grants.ts";
import type { HostileMachine } from "./hostile-machine.ts";
import type { HostileOrders, Said } from "./hostile-thread.ts";
import type { Coveted } from "./kinds.ts";
import { HONEST, KUBELETS, nameOfHostile } from "./names.ts";
import { COVETED_MARKS } from "./operator.ts";

const THREAD = fileURLToPath(new URL("hostile-thread.ts", import.meta.url));

/** Makes `count` machines, which are not enrolled yet. */
export async function hostileMachines(
  count: number,
  connection: WorkerConnection,
): Promise<HostileMachine[]> {
  const coveted: Coveted = { names: [...HONEST, ...KUBELETS], ...COVETED_MARKS };
  const mint = async (wish: object) => {
    const body = { uses: 5000, expiresInSeconds: 86_400, ...wish };
    const answer = await ask(connection, { method: "POST", path: "/v1/tokens", body });
    const minted = answer.ok ? readAnswer(mintedTokenSchema, answer.value) : answer;
    if (!minted.ok) throw new Error(minted.error.message);
    return minted.value.token;
  };
  const joinTokenOfAll = await mint({ names: "*" });
  const machines: HostileMachine[] = [];
  for (let number = 0; number < count; number++) {
    const name = nameOfHostile(number);
    const joinToken = await mint({ names: `${name}*`, ...grantOf(number) });
    machines.push({ number, name, joinToken, joinTokenOfAll, coveted });
  }
  return machines;
}

export interface Attack {
  ended: Promise<void>;
  isOver: () => boolean;
  faults: readonly string[];
  end: () => void;
}

export function startHostile(orders: HostileOrders, note: (said: Said) => void): Attack {
  const faults: string[] = [];
  const thread = new Thread(THREAD, { workerData: orders });
  thread.on("message", note);
  // The fault counts because a machine that fails by itself was not refused: the run then proves nothing.
  thread.on("error", (error) => faults.push(`the hostile machines ended: ${String(error)}`));
  let isOver = false;
  const ended = new Promise<void>((resolve) =>
    thread.once("exit", () => {
      isOver = true;
      resolve();
    }),
  );
  return { ended, isOver: () => isOver, faults, end: () => void thread.terminate() };
}
