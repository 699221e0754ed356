// Sends an enrolment over the wire, with any challenge. In contrast, a shim requests a challenge and signs it.
import { env } from "cloudflare:workers";
import type { MachineKey } from "../../../node-shim/identity/identity.ts";
import { type EnrolmentToSign, signEnrolment } from "../../../node-shim/worker-link/sign.ts";
import { newChallenge } from "../../../worker/identity/issued.ts";
import { parseMacKeys } from "../../../worker/identity/mac-keys.ts";
import { ORIGIN } from "./constants.ts";

export const enrolmentPath = (name: string) => `/v1/nodes/${name}/enrolment`;

/** Returns a challenge for this name and key, as the Worker issues it. */
export function challengeFor(
  name: string,
  { thumbprint }: Pick<MachineKey, "thumbprint">,
  { atMs = Date.now(), macKeys = env.KID_MAC_KEYS }: { atMs?: number; macKeys?: string } = {},
): Promise<string> {
  return newChallenge(parseMacKeys(macKeys), { name, thumbprint }, atMs);
}

/** Returns the content of an enrolment that this machine must sign now. `more` replaces fields. */
export async function toSign(
  name: string,
  key: MachineKey,
  more: Partial<EnrolmentToSign> = {},
): Promise<EnrolmentToSign> {
  const challenge = more.challenge ?? (await challengeFor(name, key));
  const ids = { machineID: "m-1", systemUUID: "s-1" };
  return { name, origin: ORIGIN, path: enrolmentPath(name), ...ids, ...more, challenge };
}

/** Returns the body of the machine's enrolment. */
export async function enrolmentBody(
  name: string,
  { joinToken, key, ...more }: { joinToken: string; key: MachineKey } & Partial<EnrolmentToSign>,
): Promise<string> {
  const jwts = await signEnrolment(key, joinToken, await toSign(name, key, more));
  return JSON.stringify({ protocol: 1, ...jwts });
}
