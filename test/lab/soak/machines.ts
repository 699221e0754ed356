// Runs many machines in one process, each with the shim's own loop, reporter and socket: `node machines.ts WISH`,
// started with an IPC channel. Each second it sends their events.
import { setTimeout as wait } from "node:timers/promises";
import { defaultConfiguration } from "../../../node-shim/config/config.ts";
import type { Clock } from "../../../node-shim/base/clock.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { requestFaultText } from "../../../node-shim/worker-link/exchange.ts";
import { afterEnrolment } from "../../../node-shim/worker-link/enrol.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { simulatedFacts, simulatedVitals } from "../../../infra/local/simulated-machine.ts";
import type { EnrolmentAnswer } from "../../../shared/protocol/answers.ts";
import { type RunningShim, runShim } from "../../e2e/sockets/running-shim.ts";
import { type MachinesReport, type MachinesWish, NO_EVENTS } from "./fleet.ts";

const WITHIN_MS = 9000;
const ENROLMENTS_AT_ONCE = 16;
/**
 * Milliseconds of an enrolment, above which the Worker counts as busy: the next machines then start more slowly.
 */
const CALM_MS = 500;
const SAY_EVERY_MS = 1000;

/** The machines use this clock, because the shim's own clock reads a file. */
const clock: Clock = {
  nowMs: () => performance.now(),
  timer: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

const wish = JSON.parse(process.argv[2] ?? "") as MachinesWish;
const configuration = defaultConfiguration();
const shims: RunningShim[] = [];
const nothing = (): MachinesReport => structuredClone(NO_EVENTS);
let since = nothing();

async function runOne(index: number): Promise<void> {
  const name = `sim-${index}`;
  const origin = wish.url;
  const key = await makeMachineKey();
  const http = httpTransport(origin, WITHIN_MS);
  const facts = simulatedFacts(index, configuration);
  const asking = { name, origin, joinToken: wish.joinToken, machineID: name, systemUUID: name };
  const { kid, ticket } = await untilEnrolled(() => enrol(http.send, key, asking));
  const registered = Promise.withResolvers<void>();
  let via: "socket" | "http" = "http";
  shims.push(
    runShim({
      machine: { name, origin, key, kid },
      ticket,
      facts,
      vitals: () => simulatedVitals(index),
      http,
      clock,
      changed(inUse) {
        if (via === "http" && inUse.via === "socket") since.opened.push({ name, atMs: Date.now() });
        if (via === "socket" && inUse.via === "http") since.ends.push(`${name}: ${inUse.fault}`);
        via = inUse.via;
      },
      reported({ outcome: reported }, tookMs) {
        registered.resolve();
        since.answersMs.push(Math.round(tookMs));
        if (!reported.ok) since.failures.push(`${name}: ${requestFaultText(reported.error)}`);
      },
    }),
  );
  await registered.promise;
}

/** Repeats an enrolment as the shim does, so that a busy computer has the time that it needs. */
async function untilEnrolled(asked: () => ReturnType<typeof enrol>): Promise<EnrolmentAnswer> {
  for (let failures = 1; ; failures++) {
    const outcome = await asked();
    if (outcome.ok) return outcome.value;
    since.failures.push(`enrolment: ${requestFaultText(outcome.error)}`);
    await wait(afterEnrolment(outcome.error, "soak", failures, Math.random).waitMs);
  }
}

async function runSome(waiting: number[]): Promise<void> {
  for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
    const beganMs = performance.now();
    await runOne(index);
    const tookMs = performance.now() - beganMs;
    if (tookMs > CALM_MS) await wait(2 * tookMs);
  }
}

let dueMs = performance.now() + SAY_EVERY_MS;
setInterval(() => {
  const nowMs = performance.now();
  const { user, system } = process.cpuUsage();
  const onSocket = shims.filter((shim) => shim.transport().via === "socket").length;
  process.send?.({
    ...since,
    onSocket,
    lagMs: Math.max(0, nowMs - dueMs),
    cpuSeconds: (user + system) / 1e6,
  });
  since = nothing();
  dueMs = nowMs + SAY_EVERY_MS;
}, SAY_EVERY_MS);
process.once("disconnect", () => process.exit(0));

const waiting = Array.from({ length: wish.to - wish.from + 1 }, (_, at) => wish.from + at);
if (wish.isAtOnce) await Promise.all(waiting.map(runOne));
else await Promise.all(Array.from({ length: ENROLMENTS_AT_ONCE }, () => runSome(waiting)));
