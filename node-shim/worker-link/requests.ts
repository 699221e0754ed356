// Sends a machine's requests other than reports: enrol, rotate the key, ask for an upgrade, leave.
import type {
  EnrolmentAnswer,
  LeaveAnswer,
  Problem,
  RotationAnswer,
  UpgradeAnswer,
} from "../../shared/protocol/answers.ts";
import { JWT_TYPES } from "../../shared/protocol/claims.ts";
import { PROTOCOL } from "../../shared/protocol/report.ts";
import type { PathOf } from "../../shared/protocol/routes.ts";
import type { Result } from "../../shared/result.ts";
import type { MachineKey } from "../identity/identity.ts";
import {
  type ReadAnswer,
  readEnrolmentAnswer,
  readLeaveAnswer,
  readRotationAnswer,
  readUpgradeAnswer,
} from "./answers.ts";
import { exchange, MAX_CHALLENGES, type RequestFault, type Transport } from "./exchange.ts";
import { namingOrigin } from "./origin.ts";
import { sha256Base64url, signEnrolment, signNextKey, signReport } from "./sign.ts";

export interface Enrolling {
  name: string;
  /** The Worker's origin: `https://rollcall.example.com`. */
  origin: string;
  joinToken: string;
  machineID: string;
  systemUUID: string;
}

/**
 * Asks the Worker to pin the machine's key under its name. The Worker answers the first request with a challenge,
 * which the machine's key and the token's key then sign. The request may be repeated with the same key and token.
 */
export async function enrol(
  send: Transport,
  key: MachineKey,
  enrolling: Enrolling,
): Promise<Result<EnrolmentAnswer, RequestFault>> {
  const path: PathOf<"PUT"> = `/v1/nodes/${enrolling.name}/enrolment`;
  const headers = { "content-type": "application/json" };
  return whileChallenged({ reason: "challenge-stale", member: "challenge" }, async (challenge) => {
    const jwts = await signEnrolment(key, enrolling.joinToken, { ...enrolling, path, challenge });
    const body = JSON.stringify({ protocol: PROTOCOL, ...jwts });
    const answered = await exchange(send, { method: "PUT", path, headers, body }, readEnrolmentAnswer);
    return namingOrigin(answered, enrolling.origin);
  });
}

/** An enrolled machine, with the key that signs its requests. */
export interface EnrolledMachine {
  name: string;
  origin: string;
  key: MachineKey;
  kid: string;
}

/** Asks the Worker to delete the lease and the Node, and to refuse this key for ever. */
export function leave(send: Transport, machine: EnrolledMachine): Promise<Result<LeaveAnswer, RequestFault>> {
  const request = { path: `/v1/nodes/${machine.name}/leave`, body: "{}", typ: JWT_TYPES.leave } as const;
  return ask(send, machine, request, readLeaveAnswer);
}

/** Asks the Worker to pin the next key; may be repeated. The present key is valid until the next signs a report. */
export async function rotate(
  send: Transport,
  machine: EnrolledMachine,
  next: MachineKey,
): Promise<Result<RotationAnswer, RequestFault>> {
  const { name, origin, key } = machine;
  const path: PathOf<"POST"> = `/v1/nodes/${name}/rotate`;
  const proof = await signNextKey(next, { name, origin, path, previous: key.thumbprint });
  const body = JSON.stringify({ protocol: PROTOCOL, proof });
  return ask(send, machine, { path, body, typ: JWT_TYPES.rotate }, readRotationAnswer);
}

/** Asks the Worker for the version that this machine's shim may have. `version` is the running version. */
export function askForUpgrade(
  send: Transport,
  machine: EnrolledMachine,
  version: string,
): Promise<Result<UpgradeAnswer, RequestFault>> {
  const path: PathOf<"POST"> = `/v1/nodes/${machine.name}/upgrade`;
  const body = JSON.stringify({ protocol: PROTOCOL, version });
  return ask(send, machine, { path, body, typ: JWT_TYPES.upgrade }, readUpgradeAnswer);
}

function ask<Answer>(
  send: Transport,
  { name, origin, key, kid }: EnrolledMachine,
  { path, body, typ }: { path: PathOf<"POST">; body: string; typ: string },
  read: ReadAnswer<Answer>,
): Promise<Result<Answer, RequestFault>> {
  return whileChallenged({ reason: "ticket-stale", member: "ticket" }, async (ticket) => {
    const claims = { sub: name, aud: origin, body: sha256Base64url(body), ticket, n: 1 };
    const authorization = `Bearer ${await signReport(key, kid, claims, typ)}`;
    const headers = { "content-type": "application/json", authorization };
    return namingOrigin(await exchange(send, { method: "POST", path, headers, body }, read), origin);
  });
}

/** Calls `attempt` again at once for each challenge. `attempt` signs the last challenge, at first "". */
async function whileChallenged<Answer>(
  { reason, member }: { reason: Problem["reason"]; member: "ticket" | "challenge" },
  attempt: (carried: string) => Promise<Result<Answer, RequestFault>>,
): Promise<Result<Answer, RequestFault>> {
  let carried = "";
  for (let challenges = 0; ; challenges++) {
    const outcome = await attempt(carried);
    if (outcome.ok || outcome.error.reason !== "refused" || challenges >= MAX_CHALLENGES) return outcome;
    const { problem } = outcome.error;
    if (problem.reason !== reason) return outcome;
    carried = problem[member] ?? "";
  }
}
