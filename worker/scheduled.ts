// What the cron trigger has done: each minute each gateway looks to its duty; every five minutes what watches the Nodes
// and what repairs the fleet index do; once a day Nodes of silent machines are removed. wrangler.toml says how often it rings.
import {
  clusterObject,
  type Environment,
  fleetIndex,
  gateway,
  registry,
  removeSilentNodesDays,
} from "./env.ts";
import { inTime } from "./kube/deadline.ts";
import { logFailure } from "./log.ts";

/** At this hour (UTC) Nodes of machines are removed that have been silent for long. */
const REMOVAL_HOUR = 3;
const MINUTES_OF_OTHERS = 5;
/** How many gateways are asked at once, and for how long one is waited for. */
const GATEWAY_PACE = { atOnce: 50, withinMs: 10_000 } as const;

export async function scheduled({ scheduledTime }: ScheduledController, env: Environment): Promise<void> {
  const time = new Date(scheduledTime);
  const isForOthers = time.getUTCMinutes() % MINUTES_OF_OTHERS === 0;
  const isDaily = time.getUTCHours() === REMOVAL_HOUR && time.getUTCMinutes() === 0;
  await Promise.all([
    careForGateways(env),
    isForOthers && clusterObject(env).watchNodes(),
    isForOthers && fleetIndex(env).care(),
    isDaily && removeSilentNodesDays(env) !== null && registry(env).removeSilentNodes(),
  ]);
}

/** Only those that machines have. What fails is logged: it must not keep the others from being asked. */
async function careForGateways(env: Environment): Promise<void> {
  const logged = (what: object) => (error: unknown) =>
    logFailure({ message: "a gateway was not cared for", ...what, error: String(error) });
  const numbers = await Promise.resolve(registry(env).gatewaysInUse()).catch(logged({}));
  const left = (numbers ?? []).values();
  const askInTurn = async () => {
    for (const number of left)
      await inTime(GATEWAY_PACE.withinMs, async () => gateway(env, number).care()).catch(logged({ number }));
  };
  await Promise.all(Array.from({ length: GATEWAY_PACE.atOnce }, askInTurn));
}
