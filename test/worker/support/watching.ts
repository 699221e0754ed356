// Runs the cluster object's watch while the test's clock stands still.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { clusterObject } from "../../../worker/env.ts";
import { eventually, passPause } from "./clock.ts";

/** The alarm in progress, which ends with its watch; undefined if none is in progress. */
let watching: Promise<unknown> | undefined;

/**
 * Repeats `look` until it throws nothing. The cluster object watches during that time, and each pause of an object
 * ends.
 */
export const whileWatched = <T>(look: () => T | Promise<T>): Promise<T> =>
  eventually(look, async () => {
    watching ??= runDurableObjectAlarm(clusterObject(env))
      .catch(() => undefined)
      .finally(() => (watching = undefined));
    await passPause();
  });
