// Runs simulated machines in one process, with real keys, enrolment and reports, but invented facts.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import { defaultConfiguration, loadConfiguration } from "../../node-shim/config/config.ts";
import { faultOf } from "../../node-shim/base/fault.ts";
import { pause, systemClock, timestamp } from "../../node-shim/base/clock.ts";
import type { Log } from "../../node-shim/base/log.ts";
import { startLoop } from "../../node-shim/loop/loop.ts";
import { transportOf } from "../../node-shim/machine/transport.ts";
import { Link } from "../../node-shim/worker-link/link.ts";
import { DIRECTLY } from "../../node-shim/worker-link/outbound.ts";
import { gatewayPace } from "../../node-shim/worker-link/pace.ts";
import { reporter } from "../../node-shim/worker-link/reporter.ts";
import { atItsTurn } from "../../node-shim/worker-link/enrol.ts";
import { enrol, type EnrolledMachine } from "../../node-shim/worker-link/requests.ts";
import { requestFaultText, type Transport } from "../../node-shim/worker-link/exchange.ts";
import { machineKey, makeMachineKey } from "../../node-shim/identity/identity.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import {
  SIMULATED_FAULTS,
  simulatedFacts,
  type SimulatedFault,
  simulatedFaults,
  simulatedVitals,
} from "./simulated-machine.ts";

const stored = z.record(z.string(), z.object({ jwk: z.looseObject({}), kid: z.string() }));
type Stored = z.infer<typeof stored>;

const HELP = `Usage: simulate --url ORIGIN --state DIR --join-token-file FILE --nodes N [--config FILE] [--transport NAME]
N machines named sim-1 … sim-N report through the same protocol as real ones, until SIGTERM.
--config: their KubeletConfiguration. --transport: as the shim's; auto, or http for no sockets.
DIR/faults.json lists the faults of machines, and may change at any time:
  {"sim-1": "down", "sim-2": "cut off"}
Faults: ${SIMULATED_FAULTS.join(", ")}.`;

const { values } = parseArgs({
  options: {
    url: { type: "string" },
    state: { type: "string" },
    "join-token-file": { type: "string" },
    nodes: { type: "string" },
    config: { type: "string" },
    transport: { type: "string", default: "auto" },
    help: { type: "boolean" },
  },
});
if (values.help || !values.url || !values.state || !values["join-token-file"] || !Number(values.nodes)) {
  console.error(HELP);
  process.exit(values.help ? 0 : 2);
}
const origin = values.url;
const transport = transportOf(values);
const file = join(values.state, "machines.json");
mkdirSync(values.state, { recursive: true, mode: 0o700 });
const machines: Stored = existsSync(file) ? stored.parse(JSON.parse(readFileSync(file, "utf8"))) : {};
const indices = Array.from({ length: Number(values.nodes) }, (_, index) => index + 1);
const joinToken = readFileSync(values["join-token-file"], "utf8").trim();
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
const configuration = values.config === undefined ? defaultConfiguration() : loadConfiguration(values.config);
const faults = simulatedFaults(join(values.state, "faults.json"), stop.signal, (line) => console.log(line));

const DEADLINE_MS = 9000;
/** The number of machines that enrol at once: enough for a busy Worker, few enough for each to be on time. */
const ENROLMENTS_AT_ONCE = 32;

/** Makes and stores the machines' keys before enrolment, so that each pinned key outlives an interruption. */
async function makeKeys(): Promise<void> {
  for (const index of indices)
    machines[`sim-${index}`] ??= { jwk: { ...(await makeMachineKey()).jwk }, kid: "" };
  save();
}

/** Enrols the waiting machines; the next machine enrols after the first report of the one before. */
async function enrolAndRun(waiting: number[]): Promise<void> {
  const running: Promise<void>[] = [];
  const { send, close } = httpTransport(origin, DEADLINE_MS);
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

/** Enrols a machine. Returns the ticket for its first report, or "" if the machine has enrolled before. */
async function enrolOne(index: number, send: Transport): Promise<string> {
  const name = `sim-${index}`;
  const machine = machines[name];
  if (!machine || machine.kid !== "" || stop.signal.aborted) return "";
  const key = await machineKey(machine.jwk);
  const { machineID = "", systemUUID = "" } = simulatedFacts(index, configuration).machine ?? {};
  const asking = { name, origin, joinToken, machineID, systemUUID };
  const outcome = await atItsTurn(
    () => enrol(send, key, asking),
    (ms) => pause(ms, stop),
    stop.signal,
  );
  if (!outcome.ok) {
    const why = requestFaultText(outcome.error);
    throw new Error(`${name} could not enrol: ${why}`);
  }
  machine.kid = outcome.value.kid;
  return outcome.value.ticket;
}

/** Runs a machine while it has no fault "down". After each "down" the machine has a new boot ID. */
async function runOne(index: number, ticket: string, reported: () => void): Promise<void> {
  const has = faultsOf(`sim-${index}`);
  for (let boots = 0; !stop.signal.aborted; boots++) {
    // The next machine to enrol does not wait for a machine that is down.
    if (has("down")) reported();
    await faults.until(() => !has("down"), stop.signal);
    const up = whileSo(() => !has("down"), stop.signal);
    const copies = runCopies(index, up);
    await report(index, { boots, ticket: boots === 0 ? ticket : "", stop: up, reported });
    await copies;
  }
}

const faultsOf = (name: string) => (fault: SimulatedFault) => faults.of(name) === fault;

/** Returns a signal that is aborted as soon as `isSo` is false or `ends` is aborted. */
function whileSo(isSo: () => boolean, ends: AbortSignal): AbortSignal {
  const controller = new AbortController();
  void faults.until(() => !isSo(), ends).then(() => controller.abort());
  return controller.signal;
}

/** Runs the faults "cloned" (a copy of the disk reports too) and "another asks" while the machine is up. */
async function runCopies(index: number, up: AbortSignal): Promise<void> {
  const has = faultsOf(`sim-${index}`);
  while (!up.aborted) {
    await faults.until(() => has("cloned") || has("another asks"), up);
    if (up.aborted) return;
    if (has("cloned")) {
      const ends = whileSo(() => has("cloned"), up);
      await report(index, { boots: -1, ticket: "", stop: ends, reported: () => undefined });
    } else {
      await askForName(index);
      await faults.until(() => !has("another asks"), up);
    }
  }
}

/** Enrols a second key with the machine's name and join token, as another machine would. */
async function askForName(index: number): Promise<void> {
  const { send, close } = httpTransport(origin, DEADLINE_MS);
  const key = await makeMachineKey();
  const outcome = await enrol(send, key, {
    name: `sim-${index}`,
    origin,
    joinToken,
    machineID: randomBytes(16).toString("hex"),
    systemUUID: randomBytes(16).toString("hex"),
  });
  console.log(`sim-${index} is asked for: ${outcome.ok ? "given" : requestFaultText(outcome.error)}`);
  close();
}

interface Process {
  /** The number of boots since this process started. -1 for a copy of the machine. */
  boots: number;
  ticket: string;
  stop: AbortSignal;
  reported: () => void;
}

/** Returns the connection of one machine to the Worker. The connection fails while the machine is cut off. */
function linkOf(machine: EnrolledMachine, log: Log) {
  const http = httpTransport(origin, DEADLINE_MS);
  const link = new Link({
    machine,
    outbound: DIRECTLY,
    deadlineMs: DEADLINE_MS,
    patienceMs: 2 * DEADLINE_MS,
    clock: systemClock,
    choice: transport,
    random: Math.random,
    log,
    dropHttp: http.close,
    changed: () => undefined,
  });
  const send: Transport = (request) => {
    if (faults.of(machine.name) !== "cut off") return http.send(request);
    return Promise.reject(new Error("no route to host"));
  };
  const reconnect = () => {
    http.close();
    link.drop();
  };
  const close = () => {
    link.close();
    http.close();
  };
  return { link, send, reconnect, close };
}

async function report(index: number, { boots, ticket, stop: ends, reported }: Process): Promise<void> {
  const name = `sim-${index}`;
  const { jwk, kid } = machines[name] as Stored[string];
  const log: Log = (level, message) => console.log(`${name} ${level} ${message}`);
  const machine = { name, origin, key: await machineKey(jwk), kid };
  const { link, send, reconnect, close } = linkOf(machine, log);
  const pace = gatewayPace(systemClock.nowMs);
  const post = reporter({
    ...machine,
    pace,
    ticket,
    startId: randomBytes(16).toString("base64url"),
    send,
    link,
    machineTime: timestamp,
  });
  const facts = () => simulatedFacts(index, configuration, { name, boots, fault: faults.of(name) });
  const loop = startLoop({
    gather: async () => ({ facts: facts(), vitals: simulatedVitals(index, faults.of(name)) }),
    report: (said, vitals) => {
      if (faults.of(name) === "cut off") link.drop();
      return post(said, vitals).finally(reported);
    },
    settings: facts().settings,
    clock: systemClock,
    stop: ends,
    random: Math.random,
    pace,
    reconnect,
    listen: (asked) => link.listen(asked),
    log,
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
