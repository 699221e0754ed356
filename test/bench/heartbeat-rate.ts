// How many heartbeats a second go through workerd on loopback: real signatures, real objects, one renewal each. Of what
// is around the Worker only the answers to renewals are made up, so that the apiserver is not what is measured; reports are
// signed beforehand (under one ticket n may count up).
import { Agent, request as httpRequest } from "node:http";
import { reporter, type Transport, type TransportRequest } from "../../node-shim/post.ts";
import { sha256Base64url, signReport } from "../../node-shim/sign.ts";
import { httpTransport } from "../../node-shim/transport.ts";
import type { Benchmark, Progress } from "./benchmark.ts";
import { startCountingKube } from "./counting-kube.ts";
import { machineFacts, machineVitals } from "./machine.ts";
import { type BenchWorker, enrolledMachine, startBenchWorker } from "./workerd.ts";

const MACHINES = 50;
const REPORTS_EACH = 100;
const AT_ONCE = 32;

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
      progress(`posting ${requests.length} reports`);
      const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
      const startedMs = performance.now();
      const posting = requests.values();
      await Promise.all(Array.from({ length: AT_ONCE }, () => postAll(worker.url, agent, posting)));
      const seconds = (performance.now() - startedMs) / 1000;
      agent.destroy();
      return requests.length / seconds;
    } finally {
      await worker.stop();
      await kube.stop();
    }
  },
};

async function postAll(url: string, agent: Agent, posting: Iterable<TransportRequest>): Promise<void> {
  for (const request of posting) await post(url, agent, request);
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

/** Steady reports of all machines, in turns, signed with the tickets that the machines hold now. */
async function signedReports(worker: BenchWorker, progress: Progress): Promise<TransportRequest[]> {
  const { send, close } = httpTransport(worker.url, 9000);
  const machines: TransportRequest[][] = [];
  for (let index = 0; index < MACHINES; index++) {
    progress(`${index} of ${MACHINES} machines`);
    machines.push(await reportsOf(worker, `m-${index}`, send));
  }
  close();
  return Array.from({ length: REPORTS_EACH }, (_, n) => machines.map((reports) => reports[n]!)).flat();
}

async function reportsOf(worker: BenchWorker, name: string, send: Transport): Promise<TransportRequest[]> {
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
  const report = reporter({ ...machine, machineTime: () => new Date().toISOString() });
  const facts = machineFacts();
  for (const index of [0, 1]) {
    const outcome = await report(facts, machineVitals(index));
    if (outcome.kind !== "ok") throw new Error(`a report of ${name} was ${outcome.kind}`);
  }
  if (!last) throw new Error("no report was posted");
  const { path, body } = last;
  const claims = { sub: name, aud: worker.url, body: sha256Base64url(body), ticket };
  return Promise.all(
    Array.from({ length: REPORTS_EACH }, async (_, index): Promise<TransportRequest> => {
      const authorization = `Bearer ${await signReport(key, kid, { ...claims, n: index + 1 })}`;
      return { method: "POST", path, headers: { "content-type": "application/json", authorization }, body };
    }),
  );
}
