// Tests the way of a receiver's question to a machine and back: what the machine and the audit log learn, and why a
// receiver gets no diagnosis.
import { createHmac } from "node:crypto";
import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { SocketQuestions } from "../../node-shim/worker-link/questions.ts";
import { answerText, type AskedQuestion } from "../../shared/protocol/asking.ts";
import type { MachineDiagnosis } from "../../shared/fleet/alert.ts";
import { ASKING_LIMITS } from "../../shared/protocol/limits.ts";
import type { AuditEntry } from "../../shared/protocol/operator-answers.ts";
import type { AnswerEnd } from "../../shared/protocol/questions.ts";
import { diagnose } from "../../worker/fleet/diagnose.ts";
import { fleetIndex } from "../../worker/env.ts";
import { GatewayObject } from "../../worker/gateway/gateway-object.ts";
import { NodeObject } from "../../worker/machine/node-object.ts";
import { nextBeat, onHttp, onSocket } from "../faults/sockets/on-socket.ts";
import { currentMs, eventually, pass } from "../worker/support/clock.ts";
import { operator } from "../worker/support/machine.ts";
import { updateOf } from "../worker/support/made-up-fleet.ts";

const COMPLETE: AnswerEnd = { reason: "complete" };

interface Answering {
  end?: AnswerEnd;
  on?: string;
  /** Resolves when the machine ends its answer. `signal` aborts when the answer is not wanted any more. */
  until?: (signal: AbortSignal) => Promise<void>;
}

/** Opens the socket of a machine that answers with `text`. Returns the questions that reach the machine. */
async function answering(
  name: string,
  text: string,
  { end = COMPLETE, on = "diagnosis", until = () => Promise.resolve() }: Answering = {},
): Promise<AskedQuestion[]> {
  const { socket } = await onSocket(name);
  const reached: AskedQuestion[] = [];
  const questions = new SocketQuestions({
    answering: {
      on: new Set([on]),
      isInRate: () => true,
      async *answer(asked, signal) {
        reached.push(asked);
        yield Buffer.from(text);
        await until(signal);
        return end;
      },
    },
    send: async (frame) => (socket.closed ? undefined : socket.sendText(frame)),
  });
  socket.takes = (frame) =>
    (frame.type === "question" || frame.type === "credit" || frame.type === "end") && questions.take(frame);
  const { raw } = socket.session!;
  questions.name((frame) => {
    const payload = JSON.stringify(frame);
    const mac = createHmac("sha256", raw).update(answerText(payload)).digest();
    return `${payload}\n${mac.toString("base64url", 0, 16)}`;
  });
  await nextBeat(socket);
  return reached;
}

const diagnosed = (machine: string) =>
  diagnose(env, { machine, receiver: "ops" }, new AbortController().signal);

async function auditOf(name: string): Promise<string[]> {
  const { body } = await operator<{ entries: AuditEntry[] }>("GET", `/v1/audit?target=${name}`);
  return body.entries
    .filter(({ what }) => what === "machine.ask")
    .map(({ who, detail }) => `${who}: ${detail}`);
}

afterEach(() => void vi.restoreAllMocks());

/** Makes the index deliver an alert about the machine to a receiver. Returns the alerts that the receiver gets. */
async function alertsAbout(name: string): Promise<{ diagnosis?: MachineDiagnosis }[]> {
  const bodies: string[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation((_, init) => {
    bodies.push(init?.body as string);
    return Promise.resolve(new Response("thanks"));
  });
  const wish = { name: "ops", url: "https://hooks.example.com/", names: name, withDiagnosis: true };
  expect(await operator("POST", "/v1/receivers", { ...wish, delaySeconds: 0 })).toMatchObject({
    status: 201,
  });
  const index = fleetIndex(env);
  const update = updateOf(1, 1, { state: "not-ready", sinceMs: currentMs() });
  await index.tell({ ...update, name, generation: 1_000_000 });
  await eventually(async () => {
    await runDurableObjectAlarm(index);
    expect(bodies).toHaveLength(1);
  });
  await operator("DELETE", "/v1/receivers/ops");
  return (JSON.parse(bodies[0]!) as { alerts: { diagnosis?: MachineDiagnosis }[] }).alerts;
}

it("an alert about a machine with faults → its findings; machine and audit log name the receiver, once", async () => {
  const text = "fail  disk  / is full\n            → ask disks\nno fault found: dns\n";
  const reached = await answering("faulty", text);
  const diagnosis = { findings: ["fail  disk  / is full"], none: "" };
  expect(await alertsAbout("faulty")).toMatchObject([{ diagnosis }]);
  expect(reached).toEqual([{ question: { name: "diagnosis", parameters: {} }, asker: "receiver ops" }]);
  const entry = `receiver ops: diagnosis: ${Buffer.byteLength(text)} bytes, complete`;
  await eventually(async () => expect(await auditOf("faulty")).toEqual([entry]));
});

it("the deadline of the delivery → the machine ends its answer", async () => {
  let signal: AbortSignal | undefined;
  const until = (given: AbortSignal) => {
    signal = given;
    return new Promise<void>((resolve) => given.addEventListener("abort", () => resolve()));
  };
  await answering("endless", "warn  dns  slow\n", { until });
  const deadline = new AbortController();
  const diagnosis = diagnose(env, { machine: "endless", receiver: "ops" }, deadline.signal);
  await eventually(() => expect(signal).toBeDefined());
  deadline.abort();
  await diagnosis;
  // An empty line of the gateway reveals that its reader has gone.
  await pass(1000 * ASKING_LIMITS.aliveSeconds);
  await eventually(() => expect(signal?.aborted).toBe(true));
});

it.each<[string, string, AnswerEnd, string]>([
  ["finds-nothing", "no fault found: disk\n", COMPLETE, "the machine finds no fault"],
  [
    "pins-keys",
    "",
    { reason: "refused", fault: "sign this", challenge: "x" },
    "the machine answers only operators whose keys it has pinned",
  ],
  ["refuses", "", { reason: "refused", fault: "too often" }, "the machine refused the question"],
  ["breaks-off", "", { reason: "failed", fault: "no memory" }, "the machine's answer broke off"],
])("%s → no diagnosis, and why", async (name, text, end, why) => {
  await answering(name, text, { end });
  expect(await diagnosed(name)).toEqual({ findings: [], none: why });
});

it.each<[string, () => Promise<unknown>, string, string[]]>([
  [
    "off",
    () => answering("off", "", { on: "disks" }),
    "the machine does not answer the question `diagnosis`",
    [],
  ],
  ["over-http-alone", () => onHttp("over-http-alone"), "the machine has no socket", []],
  [
    "silent-machine",
    async () => {
      const where = { gateway: null, silentSinceMs: 1, mayBeAsked: true };
      vi.spyOn(NodeObject.prototype, "whereToAsk").mockReturnValue(where);
    },
    "the machine is silent",
    [],
  ],
  [
    "forbidden",
    async () => {
      const where = { gateway: 1, silentSinceMs: null, mayBeAsked: false };
      vi.spyOn(NodeObject.prototype, "whereToAsk").mockReturnValue(where);
    },
    "the machine's join token forbids questions",
    [],
  ],
  [
    "late-gateway",
    async () => {
      await answering("late-gateway", "");
      vi.spyOn(GatewayObject.prototype, "fetch").mockImplementation(async () =>
        Response.json({ reason: "busy" }),
      );
    },
    "the Worker is busy",
    ["receiver ops: diagnosis: not asked: busy"],
  ],
])("%s → the machine is not asked, and why", async (name, begin, why, audited) => {
  await begin();
  expect(await diagnosed(name)).toEqual({ findings: [], none: why });
  vi.restoreAllMocks();
  await eventually(async () => expect(await auditOf(name)).toEqual(audited));
});

it("more questions to one machine than its rate allows → not asked", async () => {
  const reached = await answering("often", "fail  disk  / is full\n");
  for (let n = 0; n <= ASKING_LIMITS.ofMachineAtOnce; n++) await diagnosed("often");
  expect(reached).toHaveLength(ASKING_LIMITS.ofMachineAtOnce);
});
