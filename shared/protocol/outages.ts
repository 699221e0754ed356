// Defines the answers about outages. The Worker imports only their types. Times are RFC 3339.
import * as z from "zod/mini";

const outageShape = {
  id: z.number(),
  /** The network that the outage's machines report from: `203.0.113.7`, `2001:db8::/64`. */
  network: z.string(),
  /** The start of the first machine's silence. */
  startedAt: z.string(),
  /** The time from which no two of the machines were silent; null while the outage lasts. */
  endedAt: z.nullable(z.string()),
  /** The number of machines in the outage. */
  machines: z.number(),
  /** The number of machines that are still silent. */
  silent: z.number(),
  /** The first names of the outage's machines, sorted. */
  names: z.array(z.string()),
  /** The kinds of the silences that have ended: `cut off`, or `3 cut off, 1 down`. */
  was: z.string(),
};
const outage = z.object(outageShape);
/** An outage: machines of one network whose silences began within a minute of each other. */
export type Outage = z.infer<typeof outage>;

/** The body of a 200 answer to GET /v1/outages: open outages first, then the latest. */
export const outagesSchema = z.object({
  outages: z.array(outage),
  /** The parameter `before` of the next page; null on the last page. */
  next: z.nullable(z.string()),
});
export type OutagesAnswer = z.infer<typeof outagesSchema>;

const outageMachine = z.object({
  name: z.string(),
  silentSince: z.string(),
  /** The time at which the machine was back; null while it is silent. */
  backAt: z.nullable(z.string()),
  /** `cut off`, `down`, `restarted`, `left` or `unknown`; null while the machine is silent. */
  end: z.nullable(z.string()),
});

/** The body of a 200 answer to GET /v1/outages/{id}: an outage and its machines, sorted by name. */
export const outageSchema = z.object({
  ...outageShape,
  list: z.array(outageMachine),
  next: z.nullable(z.string()),
});
export type OutageAnswer = z.infer<typeof outageSchema>;
