// Defines a machine and an operator for the Worker's tests, with real keys and real requests of any content.
import { runInDurableObject } from "cloudflare:test";
import { exports, env } from "cloudflare:workers";
import { expect } from "vitest";
import type { Node } from "../../../shared/kubernetes/types.ts";
import type { Environment } from "../../../worker/env.ts";
import type { KnownCluster } from "../../../worker/kube/token.ts";
import { reporter, type ReportLink } from "../../../node-shim/worker-link/reporter.ts";
import { enrol } from "../../../node-shim/worker-link/requests.ts";
import { type Transport, type TransportRequest } from "../../../node-shim/worker-link/exchange.ts";
import { type MachineKey, makeMachineKey } from "../../../node-shim/identity/identity.ts";
import {
  ADMIN_SECRET,
  FAULTS_PATH,
  HANGS_PATH,
  KUBE_TOKEN,
  KUBE_URL,
  ORIGIN,
  REQUESTS_PATH,
  WRITES_PATH,
} from "./constants.ts";
import type { Fault, Write } from "./fault.ts";
import { eventually, passPause, passTimer, stateOf } from "./clock.ts";

export { facts, HEALTHY } from "./facts.ts";

// wrangler.toml does not have the binding KUBE. set-up.ts gives each test file its own.
const bound = env as unknown as { KUBE: Fetcher };

export const send = (path: string, init: RequestInit): Promise<Response> =>
  exports.default.fetch(new Request(ORIGIN + path, init));

/** The shim's transport to the Worker, without a network. */
export const transport: Transport = async ({ method, path, headers, body }: TransportRequest) => {
  const response = await send(path, { method, headers, body });
  return { status: response.status, body: await response.text() };
};

export async function mintToken(wish: Record<string, unknown> = {}): Promise<string> {
  const body = JSON.stringify({ names: "*", expiresInSeconds: 600, uses: 1, ...wish });
  const headers = { authorization: `Bearer ${ADMIN_SECRET}`, "content-type": "application/json" };
  const response = await send("/v1/tokens", { method: "POST", headers, body });
  const { token } = await response.json<{ token: string }>();
  return token;
}

interface Answered<Body> {
  status: number;
  body: Body;
}

/** Sends a request with the admin secret, and returns the answer. */
export async function operator<Body = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered<Body>> {
  const headers = { authorization: `Bearer ${ADMIN_SECRET}` };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await send(path, init);
  const text = await response.text();
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as Body };
}

/** Enrols a machine. Returns the kid, or the status and the reason of the refusal. */
export async function enrolling(
  name: string,
  { joinToken, key, machineID = "m-1", systemUUID = "s-1" }: EnrolmentWish,
): Promise<{ kid: string } | { reason: string; status: number }> {
  const outcome = await enrol(transport, key, { name, origin: ORIGIN, joinToken, machineID, systemUUID });
  if (outcome.ok) return { kid: outcome.value.kid };
  if (outcome.error.reason === "failed") throw new Error(outcome.error.message);
  const { reason, status } = outcome.error.problem;
  return { reason, status };
}

interface EnrolmentWish {
  joinToken: string;
  key: MachineKey;
  machineID?: string;
  systemUUID?: string;
}

export interface EnrolledMachine {
  name: string;
  key: MachineKey;
  kid: string;
  /** The ticket for the machine's first report. */
  ticket: string;
}

export async function enrolled(
  name: string,
  tokenWish: Record<string, unknown> = {},
): Promise<EnrolledMachine> {
  const key = await makeMachineKey();
  const joinToken = await mintToken({ names: name, ...tokenWish });
  const outcome = await enrol(transport, key, {
    name,
    origin: ORIGIN,
    joinToken,
    machineID: "m-1",
    systemUUID: "s-1",
  });
  if (!outcome.ok) throw new Error(`enrolment of ${name}: ${JSON.stringify(outcome)}`);
  return { name, key, ...outcome.value };
}

/** Returns the function that reports as a process of the shim on an enrolled machine. */
export function shimOf(
  { name, key, kid }: Omit<EnrolledMachine, "ticket">,
  startId = "start-1",
  link?: ReportLink, // absent: a machine that names no questions
): ReturnType<typeof reporter> {
  return reporter({
    ...(link && { link }),
    name,
    origin: ORIGIN,
    key,
    kid,
    startId,
    send: transport,
    machineTime: () => "2026-01-02T03:04:05Z",
  });
}

/** Waits until the node object has sent its update to the fleet index. The object sends updates in the background. */
export async function indexIsUpdated(name: string): Promise<void> {
  await eventually(async () => expect(await env.NODES.getByName(name).toldSummary()).not.toBeNull());
}

/** Sends a request as an administrator of the apiserver, and returns the answer. */
export async function kube<T = Node>(
  method: string,
  path: string,
  body?: unknown,
  contentType = "application/json",
): Promise<T> {
  const headers = { authorization: `Bearer ${KUBE_TOKEN}`, "content-type": contentType };
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  return (await bound.KUBE.fetch(KUBE_URL + path, init)).json<T>();
}

/**
 * Makes the apiserver fail for a Node. A text is the message of a 500, "html" a tunnel's error page, and "" ends
 * the fault.
 */
export async function setFault(name: string, fault: Fault | string): Promise<void> {
  const { href } = new URL(`${FAULTS_PATH}?${new URLSearchParams({ name }).toString()}`, KUBE_URL);
  await bound.KUBE.fetch(href, { method: "POST", body: JSON.stringify(faultNamed(fault)) });
}

function faultNamed(fault: Fault | string): Fault | null {
  if (typeof fault !== "string") return fault;
  if (fault === "") return null;
  return fault === "html" ? { kind: "html" } : { kind: "status", code: 500, message: fault };
}

/** Returns the Worker's writes about a Node that took effect, oldest first, optionally of one kind. */
export async function writesAbout(name: string, kind?: "Lease"): Promise<Write[]> {
  const query = new URLSearchParams({ name, ...(kind && { kind }) }).toString();
  return (await bound.KUBE.fetch(`${KUBE_URL}${WRITES_PATH}?${query}`)).json<Write[]>();
}

/** The number of hanging requests whose deadline has passed, by the Node's name. */
const passed = new Map<string, number>();

/** The names of the Nodes whose hanging requests never reach a deadline. */
const held = new Set<string>();

async function hangs(name: string): Promise<number> {
  const query = new URLSearchParams({ name }).toString();
  return (await bound.KUBE.fetch(`${KUBE_URL}${HANGS_PATH}?${query}`)).json<number>();
}

/**
 * Returns the result of work in progress about a Node. Lets the deadline of each hanging request pass, and each
 * pause end.
 */
export async function inItsTime<T>(name: string, work: Promise<T>): Promise<T> {
  const state = stateOf(work);
  while (!state.isOver) {
    const before = passed.get(name) ?? 0;
    if (!held.has(name) && (await hangs(name)) > before) {
      passed.set(name, before + 1);
      await passTimer();
    } else await passPause();
  }
  return work;
}

/** Runs `act`. Deadlines of hanging requests about the Node do not pass during `act`, nor later. */
export async function withoutDeadlines(name: string, act: () => Promise<unknown>): Promise<void> {
  held.add(name);
  await act();
  passed.set(name, await hangs(name));
  held.delete(name);
}

/** Returns the Worker's requests to the apiserver about a Node since the last call, as `["PUT /apis/…", …]`. */
export async function requestsAbout(name: string): Promise<string[]> {
  const query = new URLSearchParams({ name }).toString();
  return (await bound.KUBE.fetch(`${KUBE_URL}${REQUESTS_PATH}?${query}`)).json<string[]>();
}

/** Sets what the objects of this isolate know about the cluster. They share it with the objects of other tests. */
export function setKnownCluster(name: string, known: Omit<KnownCluster, "token">): Promise<void> {
  return runInDurableObject(env.NODES.getByName(name), (object) => {
    const { knownCluster } = (object as unknown as { env: Environment }).env;
    const unknown = { watchedAtMs: undefined, askedAtMs: undefined, minor: undefined };
    Object.assign(knownCluster!(env.KUBE_TOKEN), { ...unknown, ...known });
  });
}
