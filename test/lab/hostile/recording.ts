// Records the requests of machines that enrol, report, rotate, leave and are revoked. A thief has all of them, as
// if TLS were missing; some never arrived. The keys stay in this file; the generator gets the requests.
import type { MachineKey } from "../../../node-shim/identity/identity.ts";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import {
  askForUpgrade,
  enrol,
  type EnrolledMachine,
  leave,
  rotate,
} from "../../../node-shim/worker-link/requests.ts";
import { type Transport, type TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { httpTransport } from "../../../node-shim/worker-link/http-transport.ts";
import { ask } from "../../../infra/operator/client.ts";
import type { BenchWorker } from "../bench/workerd.ts";
import { machineFacts, machineVitals } from "../bench/machine.ts";
import { FramedMachine, type FramedPlace } from "./frames/framed-machine.ts";
import { reportRequest } from "./frames/shot.ts";
import { WireSocket } from "./frames/wire-socket.ts";
import { enrolled, enrolling, keyOf, NOW_MS, plantToken, taken } from "./joining.ts";
import { type Recording, tokenOf } from "./recorded.ts";
import { seededSessionKeys, takenApart } from "./jwt.ts";
import type { Random } from "./random.ts";

/** Milliseconds that the clock moves with each beat. A ticket lasts for several hundred beats. */
const BEAT_MS = 100;

export interface Recorded {
  recording: Recording;
  /** Sends one heartbeat of each present machine. Throws if the Worker does not accept one. */
  beat: () => Promise<void>;
  close: () => void;
}

type Beat = () => Promise<TransportRequest>;

/** Records the machines' requests, which are the same for the same randomness. `seed` is the Worker's. */
export async function record(worker: BenchWorker, random: Random, seed: number): Promise<Recorded> {
  const { send: sendNow, close } = httpTransport(worker.url, 9000);
  // The clock moves only with beats, so the tickets stay valid.
  let nowMs = NOW_MS;
  const send: Transport = (request) =>
    sendNow({ ...request, headers: { ...request.headers, "x-now-ms": String(nowMs) } });
  const requests: TransportRequest[] = [];
  const recorder: Transport = (request) => {
    requests.push(request);
    return send(request);
  };
  const joinToken = await plantToken(worker, random, seed);
  const machine = async (name: string) => enrolled(recorder, name, joinToken, await keyOf(random));

  const stillValid: TransportRequest[] = [];
  const beats: Beat[] = [];
  const standing = async (name: string) => {
    const found = await machine(name);
    stillValid.push(requests.at(-1)!);
    return found;
  };
  for (const name of ["live-1", "live-2"]) beats.push(beatOf(await standing(name), recorder, requests));
  for (const beat of [...beats, ...beats, ...beats]) await beat();

  const rotated = await machine("rotated");
  await beatOf(rotated, recorder, requests)();
  const next = await keyOf(random);
  const { kid } = taken(await rotate(recorder, rotated, next));
  beats.push(beatOf({ ...rotated, key: next, kid }, recorder, requests));

  taken(await askForUpgrade(recorder, rotated, "0.1.0"));

  const left = await machine("left");
  await beatOf(left, recorder, requests)();
  taken(await leave(recorder, left));

  await beatOf(await machine("revoked"), recorder, requests)();
  const revoked = await ask(worker.operator, { method: "POST", path: "/v1/nodes/revoked/revoke" });
  if (!revoked.ok) throw new Error(revoked.error.message);

  // The name is taken, so this enrolment stays pending: no operator decides about it.
  await enrol(recorder, await keyOf(random), enrolling("live-1", joinToken));

  stillValid.push(
    ...(await withheld(standing, send, { requests, next, joinToken, key: await keyOf(random) })),
  );

  const sockets = await recordUpgrades(await standing("socket"), random, {
    url: worker.url,
    send: recorder,
    nowMs: () => nowMs,
  });
  // The last request is a report by HTTP of the machine with sockets, which is still valid.
  stillValid.push(requests.at(-1)!);
  requests.push(sockets.report);

  for (const beat of beats) stillValid.push(await beat());
  return {
    recording: { requests: [...requests], stillValid, ...sockets },
    beat: async () => {
      nowMs += BEAT_MS;
      for (const beat of beats) await beat();
      requests.length = 0;
    },
    close,
  };
}

/** Opens a socket of this machine, prepares more upgrades, and signs a report for one of them. */
async function recordUpgrades(enrolled: EnrolledMachine, random: Random, place: FramedPlace) {
  const machine = new FramedMachine(enrolled.name, enrolled, place);
  await machine.register();
  const keys = seededSessionKeys(random);
  const upgrades = [await machine.upgrade(keys)];
  for (const { path, token } of upgrades) (await WireSocket.open(place.url, path, token)).close();
  const withheldUpgrades = [await machine.upgrade(keys), await machine.upgrade(seededSessionKeys(random))];
  const report = reportRequest(enrolled.name, await machine.signed(keys.publicKey));
  return { upgrades, withheldUpgrades, report };
}

/** Returns requests that the Worker never receives, one of each kind. Their machines send nothing afterwards. */
async function withheld(
  machine: (name: string) => Promise<EnrolledMachine>,
  send: Transport,
  { requests, next, joinToken, key }: Withholding,
): Promise<TransportRequest[]> {
  const kept: TransportRequest[] = [];
  const withholding: Transport = async (request) => {
    requests.push(request);
    // A request that only gets a ticket, or an enrolment's challenge, arrives at the Worker.
    if (carries(request) === "") return send(request);
    kept.push(request);
    throw new Error("withheld");
  };
  await beatOf(await machine("withheld-report"), withholding, requests)().catch(() => undefined);
  await leave(withholding, await machine("withheld-leave"));
  await rotate(withholding, await machine("withheld-rotation"), next);
  await enrol(withholding, key, enrolling("withheld-enrolment", joinToken));
  return kept;
}

/** Returns the Worker's ticket or challenge that the request contains. */
function carries(request: TransportRequest): unknown {
  if (request.method !== "PUT") return takenApart(tokenOf(request)).claims["ticket"];
  return takenApart((JSON.parse(request.body) as { proof: string }).proof).claims["challenge"];
}

interface Withholding {
  requests: TransportRequest[];
  next: MachineKey;
  joinToken: string;
  key: MachineKey;
}

function beatOf(machine: EnrolledMachine, send: Transport, requests: TransportRequest[]): Beat {
  const machineTime = () => "2026-01-02T03:04:05Z";
  const report = reporter({ ...machine, startId: machine.name, send, machineTime });
  let index = 0;
  return async () => {
    taken(await report(machineFacts(), machineVitals(index++)));
    return requests.at(-1)!;
  };
}
