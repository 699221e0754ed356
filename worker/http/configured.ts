// Refuses what the Worker cannot serve for want of configuration: nothing that a machine has signed is at fault then.
import type { Context } from "hono";
import { type App, refuse } from "./responses.ts";

/** null: machines can be served. */
export function refuseUnconfigured(c: Context<App>): Response | null {
  const { stopsMachines } = c.get("isolate").configuration(c.env);
  return stopsMachines ? refuse("not-configured") : null;
}
