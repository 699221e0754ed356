// Prints costs and traffic as tables, for a terminal of 80 columns and for docs/costs.md. Measures nothing.
import {
  billOf,
  dollarsOfUsage,
  type CountedTransport,
  linearUsage,
  MONTH_HOURS,
  partPrices,
  shareOf,
  slowedDown,
  sumOf,
  type Used,
} from "./bill.ts";
import { controlPlaneOf } from "./control-plane.ts";
import { ANSWERS_AFTER_MS } from "./fleet-hours.ts";
import { type CostRecord, FLEETS, LARGE, SMALL, type Traffic } from "./measure-costs.ts";
import { dollarsOf, PRICES, PRICES_OF } from "./prices.ts";

type Rows = string[][];

/**
 * Formats dollars with three digits, as `4.25`, `0.149` or `0.0082`. Digits below a hundred-thousandth are left
 * out.
 */
export function dollarsText(dollars: number): string {
  if (dollars === 0) return "0";
  if (dollars < 0.000005) return "<0.00001";
  const places = Math.min(5, Math.max(2, 2 - Math.floor(Math.log10(dollars))));
  return dollars.toFixed(places);
}

/**
 * Returns the rows of the cost per machine and month, by fleet, with the sum at the end. Rows without costs are
 * left out.
 */
export function dollarRows(transports: readonly [name: string, counted: CountedTransport][]): Rows {
  const fleets = transports.flatMap(([name, counted]) =>
    FLEETS.map((machines) => ({ name, machines, bill: billOf(counted, machines) })),
  );
  const lines = (fleets[0]?.bill ?? []).map(({ what }, index) => [
    what,
    ...fleets.map(({ bill }) => dollarsText(bill[index]?.dollars ?? 0)),
  ]);
  const heads = fleets.map(({ name, machines }) => `${name}, ${machines.toLocaleString("en")}`);
  const sums = fleets.map(({ bill }) => dollarsText(sumOf(bill)));
  const isThere = (row: string[]) => row.slice(1).some((text) => text !== "0");
  return [["machines", ...heads], ...lines.filter(isThere), ["in all", ...sums]];
}

/** The number of machines of the largest fleet that is measured. */
const [, , LARGEST] = FLEETS;
/** The price of Workers Paid, in dollars a month; docs/costs.md has the address of the price list. */
const PLAN_DOLLARS = 5;
const HEARTBEATS_AN_HOUR = 373;

const wholeDollars = (dollars: number) => `$${Math.round(dollars).toLocaleString("en")}`;
const fleetDollars = (counted: CountedTransport, machines: number) =>
  wholeDollars(PLAN_DOLLARS + machines * sumOf(billOf(counted, machines)));

/**
 * Returns the rows of a whole fleet's month, with its requests to the apiserver. The row of 100,000 machines needs
 * more than one cluster.
 */
export function billRows(transports: readonly [name: string, counted: CountedTransport][]): Rows {
  const rows = [...FLEETS, 100_000].map((machines) => [
    machines.toLocaleString("en"),
    ...transports.map(([, counted]) => fleetDollars(counted, machines)),
    countText((machines * HEARTBEATS_AN_HOUR) / 3600),
  ]);
  return [["machines", ...transports.map(([name]) => name), "lease PUTs a second"], ...rows];
}

/** Returns the prices with which docs/costs.md and `rollcall cost` compute the bill of any fleet. */
export function costParts({ counted }: CostRecord) {
  const rounded = (dollars: number) => Number(dollarsText(dollars));
  const transports = Object.entries(counted).map(([name, of]) => {
    const { once, eachMachine, eachGateway } = partPrices(of, LARGEST);
    const parts = {
      once: rounded(PLAN_DOLLARS + once),
      eachMachine: rounded(eachMachine),
      eachGateway: eachGateway === null ? null : rounded(eachGateway),
    };
    return [name, parts] as const;
  });
  return {
    transports: Object.fromEntries(transports),
    gatewaySize: Math.max(...Object.values(counted).map(({ gatewaySize }) => gatewaySize)),
    leasePutsAnHour: HEARTBEATS_AN_HOUR,
  };
}

/** Returns the rows with which a reader computes the bill of any fleet. */
export function partRows(record: CostRecord): Rows {
  const rows = Object.entries(costParts(record).transports).map(([name, parts]) => {
    const { once, eachMachine, eachGateway } = parts;
    const gateway = eachGateway === null ? "none" : `$${dollarsText(eachGateway)}`;
    return [name, `$${dollarsText(once)}`, `$${dollarsText(eachMachine)}`, gateway];
  });
  return [["a month", "once, with the plan", "each machine", "each gateway, of up to 500 machines"], ...rows];
}

/** Returns the rows that compare a fleet's monthly cost with the cost of a cluster of its own. */
export function controlPlaneRows([name, counted]: readonly [name: string, counted: CountedTransport]): Rows {
  const rows = [...FLEETS, 100_000].map((machines) => {
    const { clusters, cores, dollars } = controlPlaneOf(machines);
    const own = [clusters, cores].map(String);
    return [machines.toLocaleString("en"), ...own, wholeDollars(dollars), fleetDollars(counted, machines)];
  });
  return [["machines", "clusters", "cores of an instance", "managed, a month", `rollcall, ${name}`], ...rows];
}

/** Returns the rows of the cost per machine and month of a large fleet, by the time of the apiserver's answers. */
export function slowerRows(transports: readonly [name: string, counted: CountedTransport][]): Rows {
  const [[, first] = []] = transports;
  const slower = [undefined, ...(first?.slower ?? []).map(({ answersAfterMs }) => answersAfterMs)];
  const rows = slower.map((afterMs = ANSWERS_AFTER_MS) => [
    `${afterMs} ms`,
    ...transports.flatMap(([, counted]) => {
      const usage = counted.slower?.find(({ answersAfterMs }) => answersAfterMs === afterMs);
      const at = usage ? slowedDown(counted, usage, LARGEST) : counted;
      const dollars = dollarsText(sumOf(billOf(at, LARGEST)));
      return counted.gateways ? [dollars, String(at.gatewaySize)] : [dollars];
    }),
  ]);
  const heads = transports.flatMap(([name, { gateways }]) =>
    gateways ? [name, "machines of a gateway"] : [name],
  );
  return [["the apiserver answers after", ...heads], ...rows];
}

const COUNTED: [used: Used, what: string][] = [
  ["workerRequests", "Worker requests"],
  ["objectRequests", "requests to objects"],
  ["alarmsRung", "alarms that ring"],
  ["messages", "messages of sockets"],
  ["awakeSeconds", "seconds awake"],
  ["rowsWritten", "rows written"],
  ["alarmsSet", "alarms that are set"],
  ["rowsRead", "rows read"],
  ["logLines", "lines of the log"],
  ["storedBytes", "bytes stored"],
  ["subrequests", "requests to the apiserver (not billed)"],
];

/** Returns the rows of one hour: the usage per machine, and the fixed usage. */
export function countRows(name: string, counted: CountedTransport): Rows {
  const kinds = Object.entries(linearUsage(counted));
  const rows = COUNTED.map(([used, what]) => {
    const each = kinds.reduce((sum, [, usage]) => sum + usage.each[used], 0);
    const shared = kinds.filter(([kind]) => shareOf(kind) !== "machines");
    const once = shared.reduce((sum, [, { fixed }]) => sum + fixed[used], 0);
    return [what, countText(each), countText(once)];
  });
  return [[`${name}, an hour`, "each machine", "once"], ...rows];
}

function countText(count: number): string {
  return count >= 100 ? Math.round(count).toLocaleString("en") : String(Number(count.toPrecision(3)));
}

/** Returns the rows of what one question costs, of each kind. */
export function questionRows({ questions }: CostRecord): Rows {
  const kinds = Object.entries(questions);
  const isBilled = ([used]: (typeof COUNTED)[number]) => used !== "storedBytes" && used !== "subrequests";
  const isCounted = ([used]: (typeof COUNTED)[number]) => kinds.some(([, { usage }]) => usage[used] > 0);
  const used = COUNTED.filter((each) => isBilled(each) && isCounted(each));
  return [
    ["a question", ...kinds.map(([name]) => name)],
    ...used.map(([each, what]) => [what, ...kinds.map(([, { usage }]) => countText(usage[each]))]),
    ["workerd's CPU, ms", ...kinds.map(([, { cpuMs }]) => countText(cpuMs))],
    [
      "dollars for a thousand, at most",
      ...kinds.map(([, { usage, cpuMs }]) => dollarsText(1000 * dollarsOfUsage(usage, cpuMs))),
    ],
  ];
}

/** Returns the dollars a month that the usage frames of one machine cost. */
export function usageDollars({ usage }: CostRecord): number {
  const { messages, objectRequests } = usage;
  return MONTH_HOURS * (dollarsOf("message", messages) + dollarsOf("objectRequest", objectRequests));
}

export function trafficRows(traffic: readonly Traffic[]): Rows {
  const rows = traffic.map(({ transport, profile, hours, wire, start }) => {
    const aMonth = (bytes: number) => `${Number(megabytesIn(bytes, hours).toPrecision(3))} MB`;
    const all = wire.bytes + wire.headerBytes;
    const begin = `${Math.round((start.bytes + start.headerBytes) / 1000)} KB`;
    return [`${transport}, ${profile}`, ...[wire.bytes, wire.headerBytes, all].map(aMonth), begin];
  });
  return [["a month", "TLS", "TCP, IP", "in all", "start"], ...rows];
}

/** Returns the megabytes per month that a machine sends and receives, with all headers. */
export function megabytesAMonth({ wire, hours }: Traffic): number {
  return megabytesIn(wire.bytes + wire.headerBytes, hours);
}

function megabytesIn(bytes: number, hours: number): number {
  return (bytes * MONTH_HOURS) / hours / 1e6;
}

export function priceRows(): Rows {
  const rows = Object.values(PRICES).map(({ what, dollars, forWhat, included, source }) => {
    const price = dollars < 0.01 ? String(dollars) : dollars.toFixed(2);
    return [what, `$${price} for ${forWhat}`, included, source];
  });
  return [["what", `price on ${PRICES_OF}`, "a plan includes", "page"], ...rows];
}

/** The notes under the tables: which values are computed, and which costs are left out. */
const CAVEATS = `Computed, not counted: all fleets, from those of ${SMALL} and of ${LARGE} machines (but a
gateway's time and alarms, which are counted of one as full); CPU, as all of
workerd's per heartbeat under load; headers of TCP and IP. Left out: what is
done once a day, operators and their pages, what the platform adds to an answer
over HTTP (some hundred bytes), storage that grows, name resolution.`;

export function costText(record: CostRecord): string {
  const { counted, traffic, usage } = record;
  const transports = Object.entries(counted);
  const blocks = [
    `Dollars per machine and month of 30.4 days: heartbeats every 10 s, an apiserver
that takes 50 ms, prices of ${PRICES_OF} without what a plan includes`,
    ...transports.map((each) => columns(dollarRows([each]))),
    `The same of ${LARGEST.toLocaleString("en")} machines, by the time of the apiserver's answers`,
    columns(slowerRows(transports)),
    `Counted in hours of ${SMALL} and of ${LARGE} machines`,
    ...transports.map(([name, of]) => columns(countRows(name, of))),
    `A machine that sends its usage: ${countText(usage.messages)} messages and ${countText(usage.objectRequests)} requests more
an hour, $${dollarsText(usageDollars(record))} a month`,
    "Questions of an operator to a machine",
    columns(questionRows(record)),
    "Between a machine and the Worker, both ways",
    columns(trafficRows(traffic)),
    CAVEATS,
  ];
  return `\n${blocks.join("\n\n")}\n`;
}

/** Formats rows as columns: the first is aligned left, the others right. */
function columns(rows: Rows): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) =>
    column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(cell).join("  ").trimEnd()).join("\n");
}
