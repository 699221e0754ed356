// The cluster object's watch in the time of the test.
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { clusterObject } from "../../../worker/env.ts";
import { eventually, passPause } from "./clock.ts";

/** The alarm in progress, which ends with its watch. */
let watching: Promise<unknown> | undefined;

/**
 * Repeats `look` until it throws nothing. Meanwhile the cluster object watches, and time passes while objects
 * pause.
 */
export const whileWatched = <T>(look: () => T | Promise<T>): Promise<T> =>
  eventually(look, async () => {
    watching ??= runDurableObjectAlarm(clusterObject(env))
      .catch(() => undefined)
      .finally(() => (watching = undefined));
    await passPause();
  });
