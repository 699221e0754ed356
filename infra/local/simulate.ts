// N simulated machines in one process: real keys, real enrolment, real reports; only their facts are made up.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import { defaultConfiguration } from "../../node-shim/config/config.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { systemClock } from "../../node-shim/base/clock.ts";
import { startLoop } from "../../node-shim/loop/loop.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../node-shim/worker-link/requests.ts";
import { requestFaultText, type Transport } from "../../node-shim/worker-link/exchange.ts";
import { machineKey, makeMachineKey } from "../../node-shim/identity/machine-key.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import { simulatedFacts, simulatedVitals } from "./simulated-facts.ts";

const stored = z.record(z.string(), z.object({ jwk: z.looseObject({}), kid: z.string() }));
type Stored = z.infer<typeof stored>;

const HELP = `Usage: simulate --url ORIGIN --state DIR --join-token-file FILE --nodes N
N machines named sim-1 … sim-N report through the same protocol as real ones, until SIGTERM.`;

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    state: { type: "string" },
    "join-token-file": { type: "string" },
    nodes: { type: "string" },
    help: { type: "boolean" },
  },
});
if (values.help || !values.url || !values.state || !values["join-token-file"] || !Number(values.nodes)) {
  console.error(HELP);
  process.exit(values.help ? 0 : 2);
}
const origin = values.url;
const file = join(values.state, "machines.json");
mkdirSync(values.state, { recursive: true, mode: 0o700 });
const machines: Stored = existsSync(file) ? stored.parse(JSON.parse(readFileSync(file, "utf8"))) : {};
const indices = Array.from({ length: Number(values.nodes) }, (_, index) => index + 1);
const joinToken = readFileSync(values["join-token-file"], "utf8").trim();
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
const configuration = defaultConfiguration();

/** As many machines enrol and register at a time: enough to keep a Worker busy, few enough that none is late. */
const ENROLMENTS_AT_ONCE = 32;

/** Keys are on disk before they are enrolled: an interrupted start must find the names pinned to keys it still has. */
async function makeKeys(): Promise<void> {
  for (const index of indices)
    machines[`sim-${index}`] ??= { jwk: { ...(await makeMachineKey()).jwk }, kid: "" };
  save();
}

/** A machine reports as soon as it is enrolled, and goes on by itself; the next one begins after its first report. */
async function enrolAndRun(waiting: number[]): Promise<void> {
  const running: Promise<void>[] = [];
  const { send, close } = httpTransport(origin, 9000);
  for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
    const ticket = await enrolOne(index, send);
    const reported = Promise.withResolvers<void>();
    const run = runOne(index, ticket, reported.resolve);
    running.push(run);
    await Promise.race([reported.promise, run]);
  }
  close();
  save();
  await Promise.all(running);
}

function save(): void {
  const beside = `${file}.new`;
  writeFileSync(beside, JSON.stringify(machines), { mode: 0o600 });
  renameSync(beside, file);
}

/** The ticket for the first report; "": it was enrolled before. */
async function enrolOne(index: number, send: Transport): Promise<string> {
  const name = `sim-${index}`;
  const machine = machines[name];
  if (!machine || machine.kid !== "" || stop.signal.aborted) return "";
  const key = await machineKey(machine.jwk);
  const { machineID = "", systemUUID = "" } = simulatedFacts(index, configuration).machine ?? {};
  const outcome = await enrol(send, key, {
    name,
    origin,
    joinToken,
    machineID,
    systemUUID,
  });
  if (!outcome.ok) {
    const why = requestFaultText(outcome.error);
    throw new Error(`${name} could not enrol: ${why}`);
  }
  machine.kid = outcome.value.kid;
  return outcome.value.ticket;
}

async function runOne(index: number, ticket: string, reported: () => void): Promise<void> {
  const name = `sim-${index}`;
  const { jwk, kid } = machines[name] as Stored[string];
  const { send, close } = httpTransport(origin, 9000);
  const report = reporter({
    name,
    origin,
    key: await machineKey(jwk),
    kid,
    ticket,
    startId: randomBytes(16).toString("base64url"),
    send,
    machineTime: () => new Date().toISOString(),
  });
  const loop = startLoop({
    gather: async () => ({ facts: simulatedFacts(index, configuration), vitals: simulatedVitals(index) }),
    report: (facts, vitals) => report(facts, vitals).finally(reported),
    settings: simulatedFacts(index, configuration).settings,
    clock: systemClock,
    stop: stop.signal,
    random: Math.random,
    reconnect: close,
    log: (level, message) => console.log(`${name} ${level} ${message}`),
  });
  await loop.done;
  close();
  reported();
}

try {
  await makeKeys();
  console.log(`enrolling ${indices.length} machines`);
  const waiting = [...indices];
  await Promise.all(Array.from({ length: ENROLMENTS_AT_ONCE }, () => enrolAndRun(waiting)));
} catch (error) {
  save();
  console.error(`simulate: ${faultOf(error)}`);
  process.exit(1);
}
