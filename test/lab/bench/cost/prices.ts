// Lists the public prices of Cloudflare's Workers Paid plan, in dollars before taxes, copied from the pages below
// on the day of PRICES_OF.

export const PRICES_OF = "2026-11-23";

const WORKERS = "https://developers.cloudflare.com/workers/platform/pricing/";
const OBJECTS = "https://developers.cloudflare.com/durable-objects/platform/pricing/";
const LOGS = "https://developers.cloudflare.com/workers/observability/logs/workers-logs/#pricing";

interface Price {
  /** The billed unit, and the way in which the platform counts it. */
  what: string;
  dollars: number;
  /** The number of units that the price is for; `forWhat` is its text. */
  per: number;
  forWhat: string;
  /**
   * The amount that a plan of $5 a month includes. The bill does not subtract it: other Workers of the account may
   * use it up.
   */
  included: string;
  source: string;
}

export const PRICES = {
  workerRequest: {
    what: "requests to the Worker, including upgrades to sockets and the cron trigger; the Worker's own requests are free",
    dollars: 0.3,
    per: 1e6,
    forWhat: "a million",
    included: "10 million",
    source: WORKERS,
  },
  workerCpuMs: {
    what: "CPU time of the Worker; the CPU time of objects is free",
    dollars: 0.02,
    per: 1e6,
    forWhat: "a million ms",
    included: "30 million ms",
    source: WORKERS,
  },
  objectRequest: {
    what: "requests to an object: each call of a method, each upgrade, each alarm that runs",
    dollars: 0.15,
    per: 1e6,
    forWhat: "a million",
    included: "1 million",
    source: OBJECTS,
  },
  message: {
    what: "messages that a socket receives, billed as a twentieth of a request to an object; sent messages are free",
    dollars: 0.15,
    per: 20e6,
    forWhat: "20 million",
    included: "with the requests",
    source: OBJECTS,
  },
  awakeSecond: {
    what: "time in which an object is awake: $12.50 for a million GB-s, billed as 0.128 GB for each object",
    dollars: 12.5 * 0.128,
    per: 1e6,
    forWhat: "a million s",
    included: "400,000 GB-s, 3.1 million s",
    source: OBJECTS,
  },
  rowRead: {
    what: "rows read",
    dollars: 0.001,
    per: 1e6,
    forWhat: "a million",
    included: "25 billion",
    source: OBJECTS,
  },
  rowWritten: {
    what: "rows written, and each alarm that is set",
    dollars: 1,
    per: 1e6,
    forWhat: "a million",
    included: "50 million",
    source: OBJECTS,
  },
  storedByteMonth: {
    what: "storage of objects, for a month",
    dollars: 0.2,
    per: 1e9,
    forWhat: "a GB",
    included: "5 GB",
    source: OBJECTS,
  },
  /** Cloudflare's page announces other prices from 2026-12-01 on, without naming them. */
  logEvent: {
    what: "lines of Workers Logs: the Worker's own lines, and one for each invocation if that is turned on",
    dollars: 0.6,
    per: 1e6,
    forWhat: "a million",
    included: "20 million",
    source: LOGS,
  },
} as const satisfies Record<string, Price>;

export type Billable = keyof typeof PRICES;

export function dollarsOf(billable: Billable, count: number): number {
  const { dollars, per } = PRICES[billable];
  return (count * dollars) / per;
}
