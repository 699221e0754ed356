// Has this machine's key pinned under its name, once: with the join token that an operator gave it.
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf } from "./fault.ts";
import { storeEnrolment, type StoredEnrolment } from "./identity.ts";
import type { Log } from "./log.ts";
import type { Machine } from "./machine.ts";
import { enrol, type Transport } from "./post.ts";
import type { MachineKey } from "./sign.ts";

interface Enrolling {
  flags: { state: string; joinTokenFile?: string };
  machine: Machine;
  key: MachineKey;
  origin: string;
  send: Transport;
  log: Log;
  stop: AbortSignal;
}

/**
 * Enrols, again and again while the Worker cannot be reached; a refusal ends the shim with what to do. null: stopped
 * before.
 */
export async function enrolMachine({
  flags,
  machine,
  key,
  origin,
  send,
  log,
  stop,
}: Enrolling): Promise<StoredEnrolment | null> {
  const joinToken = readJoinToken(flags);
  const { facts } = await machine.gather();
  const { machineID = "", systemUUID = "" } = facts.machine ?? {};
  let said = "";
  while (!stop.aborted) {
    const outcome = await enrol(send, key, { name: machine.name, origin, joinToken, machineID, systemUUID });
    if (outcome.kind === "ok") {
      const enrolment = { name: machine.name, thumbprint: key.thumbprint, kid: outcome.answer.kid };
      storeEnrolment(flags.state, enrolment);
      log("info", `enrolled as ${machine.name} at ${origin}, key ${key.thumbprint}`);
      return enrolment;
    }
    if (outcome.kind === "refused" && outcome.problem.status < 500) {
      throw new Error(`enrolment refused: ${outcome.problem.title}. ${outcome.problem.detail}`);
    }
    if (stop.aborted) break;
    const why = outcome.kind === "failed" ? outcome.message : outcome.problem.title;
    if (why !== said) log("warn", `enrolment failed: ${why}; trying again`);
    said = why;
    await sleepUnlessStopped(outcome.retryAfterMs ?? Math.random() * 5000, stop);
  }
  return null;
}

function readJoinToken(flags: Enrolling["flags"]): string {
  const token = flags.joinTokenFile ? readTokenFile(flags.joinTokenFile) : process.env["ROLLCALL_JOIN_TOKEN"];
  if (token) return token;
  throw new Error(
    "this machine is not enrolled yet: get a join token from your operator and pass --join-token-file or set ROLLCALL_JOIN_TOKEN",
  );
}

function readTokenFile(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new Error(
      `--join-token-file ${file} cannot be read (${codeOf(error)}): put the token there, or set ROLLCALL_JOIN_TOKEN`,
      { cause: error },
    );
  }
}

async function sleepUnlessStopped(ms: number, stop: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal: stop }).catch(() => undefined);
}
