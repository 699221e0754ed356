// Measures the bytes of a steady heartbeat by HTTP: the body and the token that signs it, as the shim posts them.
import { randomBytes } from "node:crypto";
import { reporter } from "../../../node-shim/worker-link/reporter.ts";
import { type TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { ReportAnswer } from "../../../shared/protocol/answers.ts";
import { issueKid } from "../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../worker/identity/mac-keys.ts";
import type { Benchmark } from "./benchmark.ts";
import { budgetOf } from "./budgets.ts";
import { machineFacts, machineVitals, NAME } from "./machine.ts";

export const heartbeatBytes: Benchmark = {
  ...budgetOf("heartbeat-bytes"),
  measure: async () => {
    const { body, headers } = await steadyHeartbeat();
    return [{ ours: Buffer.byteLength(body) + Buffer.byteLength(headers.authorization ?? "") }];
  },
};

/** Returns the second report of a known shim: it has no facts, but a ticket, and n is 2. */
async function steadyHeartbeat(): Promise<TransportRequest> {
  const sent: TransportRequest[] = [];
  const key = await makeMachineKey();
  const macKey = parseMacKeys(`2026-01:${randomBytes(32).toString("base64url")}`)[0]!;
  const report = reporter({
    name: NAME,
    origin: "https://rollcall.example.com",
    key,
    kid: await issueKid(macKey, NAME, key.thumbprint, nonce()),
    startId: nonce(),
    send: (request) => {
      sent.push(request);
      const answer: ReportAnswer = { phase: "registered", ready: true, ticket: nonce(), reportInMs: 9600 };
      return Promise.resolve({ status: 200, body: JSON.stringify(answer) });
    },
    machineTime: () => new Date().toISOString(),
  });
  const facts = machineFacts();
  for (const index of [0, 1]) {
    const outcome = await report(facts, machineVitals(index));
    if (!outcome.ok) throw new Error(`a report was ${JSON.stringify(outcome)}`);
  }
  const last = sent.at(-1);
  if (!last || last.body.includes('"facts"')) throw new Error("no report without facts was posted");
  return last;
}

/** Returns 16 random bytes as text, like the nonces of the shim and the Worker. */
function nonce(): string {
  return randomBytes(16).toString("base64url");
}
