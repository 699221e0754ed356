// Tests this version's shims with the real Worker of 41dc790, which knows neither questions nor all facts: it takes
// over while an operator asks, and the later Worker takes over again.
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AnswerEnd } from "../../../shared/protocol/questions.ts";
import { type QuestionAnswering } from "../../../node-shim/worker-link/questions.ts";
import { nodesOf } from "../../lab/bench/local-fleet.ts";
import { eventually, temporaryFolder } from "../../e2e/local-cluster.ts";
import type { RunningShim } from "../../e2e/sockets/running-shim.ts";
import { type SocketPlace, startSocketPlace } from "../../e2e/sockets/socket-place.ts";
import { unpackWorker } from "./recorded-state.ts";

const NAME = "sim-1";
let place: SocketPlace;
let shim: RunningShim;
const folder = temporaryFolder();
const older = join(folder.path, "older.js");

/** The state of each answer that the machine has begun. */
const begun: AbortSignal[] = [];
/** Answers with one line, and then waits until the answer is not wanted any more. */
const answering: QuestionAnswering = {
  on: new Set(["disks"]),
  isInRate: () => true,
  async *answer(_, signal): AsyncGenerator<Uint8Array, AnswerEnd> {
    begun.push(signal);
    yield Buffer.from("begun\n");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    return { reason: "gone" };
  },
};

beforeAll(async () => {
  unpackWorker(join(import.meta.dirname, "workers/0.1.0-41dc790.js.br"), older);
  place = await startSocketPlace();
  shim = await place.shim({
    index: 1,
    intervalMs: 1000,
    leaseSeconds: 10,
    // The Worker of 41dc790 refuses all facts for this one, which the simulated machines do not send.
    facts: { runningInUserNamespace: false },
    answering,
  });
});
afterAll(async () => {
  await place.stop();
  folder.remove();
});

const onSocket = () => eventually(async () => shim.transport().via === "socket");
const isReady = async () => (await place.ready()).get(NAME) === "True";
const uid = async () =>
  (await nodesOf(place.admin)).find(({ metadata }) => metadata?.name === NAME)?.metadata?.uid;
const faults = async () => {
  const { url, adminSecret } = place.worker;
  const answer = await fetch(`${url}/v1/nodes/${NAME}`, {
    headers: { authorization: `Bearer ${adminSecret}` },
  });
  return ((await answer.json()) as { factsRefused?: object }).factsRefused;
};

function ask(): Promise<Response> {
  const { url, adminSecret } = place.worker;
  return fetch(`${url}/v1/nodes/${NAME}/questions`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminSecret}` },
    body: JSON.stringify({ name: "disks" }),
  });
}

it("that Worker takes over in mid-question → the answer ends, and the machine reports with the facts it knows", async () => {
  await place.renewed([NAME], Date.now());
  await onSocket();
  // The gateway has the machine's questions after a frame of their own.
  const response = await eventually(async () => {
    const answer = await ask();
    return answer.status === 200 && answer;
  });
  const reader = response.body!.getReader();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('{"text":"begun\\n"}\n');
  const before = await uid();
  await place.worker.startOther(older);
  await eventually(async () => begun[0]?.aborted);
  await expect(untilEnd(reader)).resolves.toBeUndefined();
  await place.renewed([NAME], Date.now());
  await onSocket();
  const quiet = await place.quietHeartbeats();
  await eventually(async () => (await place.quietHeartbeats()) > quiet + 2);
  await eventually(isReady);
  expect([await uid(), await faults(), (await ask()).status]).toEqual([before, undefined, 404]);
});

/** Reads what is left. The connection may break, since the Worker has ended. */
async function untilEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The asker's command reports that the answer broke off.
  }
}

it("a machine joins that Worker → it registers, though its facts have an unknown field", async () => {
  const joined = await place.shim({
    index: 2,
    intervalMs: 1000,
    facts: { runningInUserNamespace: true },
    answering,
  });
  await eventually(async () => joined.transport().via === "socket");
  await eventually(async () => (await place.ready()).get(joined.name) === "True");
});

it("the later Worker again → it has the machine's questions, and can ask", async () => {
  await place.worker.startAgain("deployed");
  await place.renewed([NAME], Date.now());
  await onSocket();
  const response = await eventually(async () => {
    const answer = await ask();
    return answer.status === 200 && answer;
  });
  await response.body!.cancel();
  await eventually(async () => begun.at(-1)?.aborted);
  expect(await isReady()).toBe(true);
});
