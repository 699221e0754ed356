// Handles the cron trigger of wrangler.toml. Each minute it checks the gateways' alarms; every five minutes the
// watch of the Nodes and the fleet index. Once a day it removes ended join tokens, and the Nodes of machines that are
// silent for long.
import { clusterObject, type Environment, fleetIndex, gateway, placed, registry } from "./env.ts";
import { inTime } from "./kube/deadline.ts";
import { logFailure } from "./log.ts";

/** The hour (UTC) at which Nodes of long silent machines are removed. */
const REMOVAL_HOUR = 3;
const MINUTES_OF_OTHERS = 5;
/** `atOnce`: the number of gateways that are called at the same time. `withinMs`: the deadline of each call. */
const GATEWAY_PACE = { atOnce: 50, withinMs: 10_000 } as const;

export async function scheduled({ scheduledTime }: ScheduledController, own: Environment): Promise<void> {
  const env = placed(own);
  const time = new Date(scheduledTime);
  const isForOthers = time.getUTCMinutes() % MINUTES_OF_OTHERS === 0;
  const isDaily = time.getUTCHours() === REMOVAL_HOUR && time.getUTCMinutes() === 0;
  await Promise.all([
    careForGateways(env),
    isForOthers && clusterObject(env).watchNodes(),
    isForOthers && fleetIndex(env).care(),
    isDaily && registry(env).removeSilentNodes(),
  ]);
}

/** Checks the alarms of all gateways that have machines. Logs a failure, and checks the other gateways nevertheless. */
async function careForGateways(env: Environment): Promise<void> {
  const logged = (what: object) => (error: unknown) =>
    logFailure({ message: "a gateway was not cared for", ...what, error: String(error) });
  const numbers = await Promise.resolve(registry(env).gatewaysInUse()).catch(logged({}));
  const left = (numbers ?? []).values();
  const askInTurn = async () => {
    for (const number of left)
      await inTime(
        GATEWAY_PACE.withinMs,
        async () => gateway(env, number).care(),
        undefined,
        undefined,
      ).catch(logged({ number }));
  };
  await Promise.all(Array.from({ length: GATEWAY_PACE.atOnce }, askInTurn));
}
