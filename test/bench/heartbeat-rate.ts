// How many heartbeats a second go through workerd on loopback: real signatures, real objects, one renewal each. Of what
// is around the Worker only the answers to renewals are made up, so that the apiserver is not what is measured; reports are
// signed beforehand (under one ticket n may count up).
import { Agent, request as httpRequest } from "node:http";
import { reporter, type Transport, type TransportRequest } from "../../node-shim/worker-link/reporter.ts";
import { sha256Base64url, signReport } from "../../node-shim/worker-link/sign.ts";
import { httpTransport } from "../../node-shim/worker-link/http-transport.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { type BenchWorker, enrolledMachine, startBenchWorker } from "./workerd.ts";

const AT_ONCE = 32;
const MACHINES = 2 * AT_ONCE;
/** Not measured: workerd has compiled by then what runs often. */
const WARM_UP_EACH = 50;
const REPORTS_EACH = 80;

/** Takes a renewal and says so; a lease's first PUT and all else are the apiserver's. */
function renewed(verb: string, body: string): string | undefined {
  return verb === "PUT" && body.includes('"kind":"Lease"') ? body : undefined;
}

export const heartbeatRate: Benchmark = {
  name: "heartbeat-rate",
  what: "heartbeats through workerd on loopback",
  unit: "/s",
  budget: 1500,
  atLeast: true,
  measure: async (progress) => {
    const kube = await startCountingKube(Date.now, renewed);
    const worker = await startBenchWorker(kube, "m-*");
    try {
      const requests = await signedReports(worker, progress);
      progress(`posting ${REPORTS_EACH * MACHINES} reports`);
      const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
      await postAll(worker.url, agent, requests.slice(0, WARM_UP_EACH));
      const startedMs = performance.now();
      await postAll(worker.url, agent, requests.slice(WARM_UP_EACH));
      const seconds = (performance.now() - startedMs) / 1000;
      agent.destroy();
      return (REPORTS_EACH * MACHINES) / seconds;
    } finally {
      await worker.stop();
      await kube.stop();
    }
  },
};

/** Each round holds a report of every machine; a machine's next one waits for the answer to the one before. */
async function postAll(url: string, agent: Agent, rounds: TransportRequest[][]): Promise<void> {
  const postShare = async (share: number) => {
    for (const round of rounds) {
      for (let index = share; index < MACHINES; index += AT_ONCE) await post(url, agent, round[index]!);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, share) => postShare(share)));
}

function post(url: string, agent: Agent, { method, path, headers, body }: TransportRequest): Promise<void> {
  return new Promise((resolve, reject) => {
    const length = { "content-length": Buffer.byteLength(body) };
    const options = { method, agent, headers: { ...headers, ...length } };
    const request = httpRequest(url + path, options, (response) => {
      response.resume();
      response.once("end", () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${response.statusCode}`)),
      );
    });
    request.once("error", reject);
    request.end(body);
  });
}

/** Rounds of steady reports, one of every machine in each, signed with the tickets that the machines hold now. */
async function signedReports(worker: BenchWorker, progress: Progress): Promise<TransportRequest[][]> {
  const { send, close } = httpTransport(worker.url, 9000);
  const machines: BenchMachine[] = [];
  for (let index = 0; index < MACHINES; index++) {
    progress(`${index} of ${MACHINES} machines`);
    machines.push(await startMachine(worker, `m-${index}`, send));
  }
  // An object forgets its ticket 10 s after its last request: from here on nothing but signing.
  const reports = await Promise.all(machines.map((machine) => machine.report(1)));
  close();
  const rounds: TransportRequest[][] = [];
  for (let n = 1; n <= WARM_UP_EACH + REPORTS_EACH; n++) {
    rounds.push(await Promise.all(reports.map((report) => report(n))));
  }
  return rounds;
}

interface BenchMachine {
  /** Reports, and yields what signs the same report as the `n`th under the ticket that came with the answer. */
  report: (vitals: number) => Promise<(n: number) => Promise<TransportRequest>>;
}

/** Enrolled, its facts known. */
async function startMachine(worker: BenchWorker, name: string, send: Transport): Promise<BenchMachine> {
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
  // A ticket is good for a lease duration, and all of them are signed for before the first is posted.
  facts.settings.nodeLeaseDurationSeconds = 600;
  const report: BenchMachine["report"] = async (vitals) => {
    const outcome = await post(facts, machineVitals(vitals));
    if (outcome.kind !== "ok" || !last) throw new Error(`a report of ${name} was ${outcome.kind}`);
    const { path, body } = last;
    const claims = { sub: name, aud: worker.url, body: sha256Base64url(body), ticket };
    return async (n) => {
      const authorization = `Bearer ${await signReport(key, kid, { ...claims, n })}`;
      return { method: "POST", path, headers: { "content-type": "application/json", authorization }, body };
    };
  };
  await report(0);
  return { report };
}
