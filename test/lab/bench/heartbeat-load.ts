// Plays machines that post heartbeats to a Worker on loopback: real signatures, real objects, one lease renewal for
// each heartbeat. Measures one round at a time, so that two Workers can take turns.
import { Agent, request as httpRequest } from "node:http";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import type { Transport, TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { sha256Base64url, signReport } from "../../../node-shim/worker-link/sign.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import type { Progress } from "./benchmark.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { enrolledMachine, type RunningWorker } from "./workerd.ts";

const AT_ONCE = 32;
/** Enough for all rounds: one machine would exceed the Worker's limit for a machine (RATE_LIMITS.requests). */
const MACHINES = 8 * AT_ONCE;
/**
 * The number of attempts for a round. An object forgets its ticket after 10 s without a request, and a very busy
 * computer may take longer to sign a round.
 */
const ATTEMPTS = 5;

/**
 * Answers lease renewals at once, so that the apiserver's work is not measured. Returns undefined for other requests:
 * the apiserver creates leases and answers the rest.
 */
export function renewed(verb: string, body: string): string | undefined {
  return verb === "PUT" && body.includes('"kind":"Lease"') ? body : undefined;
}

export interface Load {
  /** Signs `reportsEach` reports for each machine, then posts them. */
  round: (reportsEach: number) => Promise<LoadRound>;
  stop: () => void;
}

export interface LoadRound {
  heartbeatsPerSecond: number;
  /** The CPU time of workerd, in microseconds per heartbeat. */
  cpuMicroseconds: number;
}

/** Enrols machines, whose names begin with `prefix` and whose facts the Worker then knows. */
export async function startLoad(worker: RunningWorker, prefix: string, progress: Progress): Promise<Load> {
  const { send, close } = httpTransport(worker.url, 9000);
  const machines: BenchMachine[] = [];
  for (let index = 0; index < MACHINES; index++) {
    progress(`${index} of ${MACHINES} machines`);
    machines.push(await startMachine(worker, `${prefix}-${index}`, send));
  }
  const round = async (reportsEach: number): Promise<LoadRound> => {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      // Each machine reports first: during the other Worker's turn, objects may have forgotten their tickets, and
      // workerd its connections.
      const signers: Awaited<ReturnType<BenchMachine["report"]>>[] = [];
      for (let from = 0; from < MACHINES; from += AT_ONCE)
        signers.push(
          ...(await Promise.all(machines.slice(from, from + AT_ONCE).map(({ report }) => report()))),
        );
      const rounds: TransportRequest[][] = [];
      for (let n = 1; n <= reportsEach; n++) rounds.push(await Promise.all(signers.map((sign) => sign(n))));
      const heartbeats = reportsEach * MACHINES;
      const [cpuBefore, startedMs] = [worker.cpuMicroseconds(), performance.now()];
      const stale = await postAll(worker.url, rounds);
      const seconds = (performance.now() - startedMs) / 1000;
      const cpuMicroseconds = (worker.cpuMicroseconds() - cpuBefore) / heartbeats;
      if (stale === 0) return { heartbeatsPerSecond: heartbeats / seconds, cpuMicroseconds };
    }
    throw new Error(`this machine is too busy: tickets were stale in ${ATTEMPTS} rounds`);
  };
  return { round, stop: close };
}

/**
 * Posts the rounds, each with a report of every machine. A machine's next report waits for its last answer. Returns
 * the number of reports with a stale ticket.
 */
async function postAll(url: string, rounds: TransportRequest[][]): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let stale = 0;
  const postShare = async (share: number) => {
    for (const round of rounds) {
      for (let index = share; index < MACHINES; index += AT_ONCE) {
        const status = await post(url, agent, round[index]!);
        if (status === 409) stale++;
        else if (status !== 200) throw new Error(`a report was answered with HTTP ${status}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, share) => postShare(share)));
  agent.destroy();
  return stale;
}

function post(url: string, agent: Agent, { method, path, headers, body }: TransportRequest): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const options = { method, agent, headers: { ...headers, ...length } };
    const request = httpRequest(url + path, options, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    request.once("error", reject);
    request.end(body);
  });
}

interface BenchMachine {
  /** Sends a report. Returns a function that signs the report's `n`th copy with the ticket of the Worker's answer. */
  report: () => Promise<(n: number) => Promise<TransportRequest>>;
}

/** Enrols a machine and sends its facts. */
async function startMachine(worker: RunningWorker, name: string, send: Transport): Promise<BenchMachine> {
  let last: TransportRequest | undefined;
  let ticket = "";
  const watched: Transport = async (request) => {
    const response = await send(request);
    last = request;
    ticket = (JSON.parse(response.body) as { ticket?: string }).ticket ?? "";
    return response;
  };
  const { key, kid } = await enrolledMachine(worker, name, watched);
  const machine = { name, origin: worker.url, key, kid, startId: name, send: watched };
  const post = reporter({ ...machine, machineTime: () => new Date().toISOString() });
  const facts = machineFacts();
  let reports = 0;
  const report: BenchMachine["report"] = async () => {
    const outcome = await post(facts, machineVitals(reports++));
    if (!outcome.ok || !last) throw new Error(`a report of ${name} was ${JSON.stringify(outcome)}`);
    const { path, body } = last;
    const claims = { sub: name, aud: worker.url, body: sha256Base64url(body), ticket };
    return async (n) => {
      const authorization = `Bearer ${await signReport(key, kid, { ...claims, n })}`;
      return { method: "POST", path, headers: { "content-type": "application/json", authorization }, body };
    };
  };
  // The first report has the facts, and creates the Node.
  await report();
  return { report };
}
