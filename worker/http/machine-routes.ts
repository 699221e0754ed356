// Serves the machines' routes: checks kid and body size, and passes the request to the object that decides.
import type { Context } from "hono";
import { Hono } from "hono/tiny";
import { ANSWER_UNTIL } from "../../shared/protocol/answer-until.ts";
import type { EnrolmentAnswer, ReportAnswer } from "../../shared/protocol/answers.ts";
import { QUESTIONS_HEADER } from "../../shared/protocol/asking.ts";
import { connectQuerySchema, enrolmentSchema } from "../../shared/protocol/claims.ts";
import { ASKING_LIMITS, GATEWAY_LIMITS, LIMITS } from "../../shared/protocol/limits.ts";
import { success } from "../../shared/result.ts";
import { currentMs, pause } from "../clock.ts";
import { gateway, origins, registry } from "../env.ts";
import { GATEWAY_OPENING, type GatewayOpening, moveMachine } from "../gateway/gateway-object.ts";
import {
  type Challenged,
  challengeTime,
  type Connecting,
  connectTicket,
  isConnectTicket,
  isIssuedKid,
  newChallenge,
  newKid,
} from "../identity/issued.ts";
import {
  claimedEnrolment,
  claimedKid,
  claimedStamp,
  type EnrolmentRequest,
  FOR_ANOTHER_ORIGIN,
  verifyConnect,
  verifyProof,
} from "../identity/jwt.ts";
import { isStamp } from "../identity/join-token.ts";
import { CHANGE_AGAIN_SECONDS, type MachineAnswer } from "../machine/answers.ts";
import type { NodeObject } from "../machine/node-object.ts";
import type { SignedRequest } from "../machine/pinned-keys.ts";
import type { NotAdmitted } from "../registry/admission.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { queryOf, register, type RouteContext } from "./register.ts";
import {
  answered,
  type App,
  bearer,
  clientAddress,
  forget,
  invalidBody,
  isUpgrade,
  json,
  macKeysOf,
  refuse,
  refuseLate,
  refuseUnconfigured,
} from "./responses.ts";

export const machineRoutes = new Hono<App>();

/** Returns the time until which a machine waits for the answer: no shim waits longer than 10 seconds. */
const untilMs = () => currentMs() + 10_000;

/** The name and value of the header with which a report requests a socket. */
const TRANSPORT = ["rollcall-transport", "socket"] as const;

/** Returns a machine's request if this Worker issued its kid, or the refusal. Wakes no object. */
async function signedRequest(c: Context<App, "/v1/nodes/:name/*">): Promise<SignedRequest | Response> {
  const unconfigured = refuseUnconfigured(c);
  if (unconfigured) return unconfigured;
  const name = c.req.param("name");
  const token = bearer(c.req.header("authorization"));
  const kid = token && claimedKid(token);
  if (!kid || !(await isIssuedKid(macKeysOf(c), name, kid))) return refuseUnproven(c, "unauthenticated");
  const body = new Uint8Array(await c.req.raw.arrayBuffer());
  // The middleware bodyLimit trusts the header content-length, so the size is checked again.
  if (body.byteLength > LIMITS.bodyBytes) return refuse("body-too-large");
  const [header, socket] = TRANSPORT;
  const wantsSocket = c.req.header(header) === socket && { wantsSocket: true as const };
  const questions = questionsIn(c.req.header(QUESTIONS_HEADER));
  return {
    name,
    kid,
    token,
    body,
    address: clientAddress(c),
    ...wantsSocket,
    ...questions,
    untilMs: untilMs(),
  };
}

/** Returns the questions that a report names; {} without a valid list. */
function questionsIn(header: string | undefined): Pick<SignedRequest, "questions"> {
  if (header === undefined || header.length > ASKING_LIMITS.questions * (ASKING_LIMITS.nameLength + 1))
    return {};
  return /^[\w:,-]+$/.test(header) ? { questions: header.split(",") } : {};
}

type Answering = (
  request: SignedRequest,
  node: DurableObjectStub<NodeObject>,
  c: Context<App>,
) => Promise<MachineAnswer>;

/** Serves a route for machines. The machine's object verifies the requests. */
function serveSigned(act: "report" | "rotate" | "upgrade" | "answers" | "leave", ask: Answering): void {
  register(machineRoutes, `POST /v1/nodes/{name}/${act}`, async (c) => {
    const request = await signedRequest(c);
    if (request instanceof Response) return request;
    const answer = await ask(request, c.env.NODES.getByName(request.name), c);
    // A kid is no secret: a request with a valid kid but a wrong signature counts as a failed attempt.
    return !answer.ok && answer.error.reason === "unauthenticated"
      ? refuseUnproven(c, "unauthenticated")
      : answered(c, answer);
  });
}

serveSigned("report", async (request, node, c) => withPath(c, request, await node.report(request)));
serveSigned("rotate", async (request, node, c) => node.rotate(request, c.req.path));
serveSigned("upgrade", async (request, node) => node.upgrade(request));
serveSigned("answers", async (request, node) => node.answer(request));
serveSigned("leave", async (request, node) => {
  const left = await node.leave(request);
  if (left.ok) await forget(node);
  return left;
});

/** Replaces the gateway's number in an answer by the path of the machine's socket, if the machine wants a socket. */
async function withPath(
  c: Context<App>,
  { name, kid, wantsSocket }: SignedRequest,
  answer: MachineAnswer,
): Promise<MachineAnswer> {
  if (!answer.ok || !("gateway" in answer.value)) return answer;
  const { gateway, ...body } = answer.value;
  if (gateway === undefined || !wantsSocket) return success(body);
  return success({ ...body, socket: await socketAt(c, { name, kid, gateway }) });
}

/** An enrolment request with a recent challenge of this Worker. Its signatures are not verified yet. */
interface FreshEnrolment extends EnrolmentRequest {
  challengedAtMs: number;
  proof: string;
  binding: string;
}

/** Returns the enrolment, or a refusal. The challenge is checked here, so that a replay causes no costlier check. */
async function freshEnrolment(c: Context<App, "/v1/nodes/:name/*">): Promise<FreshEnrolment | Response> {
  const unconfigured = refuseUnconfigured(c);
  if (unconfigured) return unconfigured;
  // An address with too many failed attempts must wait before it may enrol a machine.
  const early = refuseEarly(c);
  if (early) return early;
  const body = enrolmentSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const claimed = await claimedEnrolment(body.data.proof);
  if (!claimed) return refuseUnproven(c, "unauthenticated");
  const { thumbprint, challenge, origin } = claimed;
  const own = origins(c.env);
  // This refusal needs no costly verification, so it does not count as a failed attempt.
  if (origin !== undefined && !own.includes(origin)) return refuse("wrong-origin");
  // A shim that is older than challenges would report a challenge as an unexplained error.
  if (challenge === undefined) return refuse("shim-too-old");
  const name = c.req.param("name");
  const challengedAtMs = await challengeTime(macKeysOf(c), { name, thumbprint }, challenge, currentMs());
  if (challengedAtMs === null) return askFresh(c, { name, thumbprint });
  const { method, path } = c.req;
  const { proof, binding } = body.data;
  const invented = await refuseInvented(c, binding);
  if (invented) return invented;
  return { name, method, path, origins: own, challenge, challengedAtMs, proof, binding };
}

/** The time until an isolate may ask for the list of join tokens again. */
const TOKENS_EVERY_MS = 60_000;
const TOKENS_WAIT = "The Worker may read the list of join tokens once a minute.";
/** The longest time for which the Worker holds an answer back: a shim of an earlier version waits for ten seconds. */
const HELD_MS = 8000;

/**
 * Holds the answer back, for HELD_MS at most. Returns true if `waitMs` is then over. `join` of an earlier version ignores
 * Retry-After and ends after three attempts. A machine that sends ANSWER_UNTIL waits by itself.
 */
async function hold(c: Context<App>, waitMs: number): Promise<boolean> {
  if (c.req.header(ANSWER_UNTIL) !== undefined) return false;
  await pause(Math.min(waitMs, HELD_MS));
  return waitMs <= HELD_MS;
}

/**
 * Refuses a join token that this deployment has not minted; null otherwise. A token's stamp tells that without a
 * request to the registry. Machines with a token or a shim of an earlier version send no stamp: their tokens' IDs are in
 * the isolate's list, which one request a minute may renew.
 */
async function refuseInvented(c: Context<App>, binding: string): Promise<Response | null> {
  const stamp = claimedStamp(binding);
  if (stamp !== undefined)
    return (await isStamp(macKeysOf(c), stamp)) ? null : refuseUnproven(c, "token-refused");
  const id = claimedKid(binding) ?? "";
  const { joinTokens } = c.get("isolate");
  const leftMs = () => joinTokens.askedMs + TOKENS_EVERY_MS - currentMs();
  if (joinTokens.ids?.has(id) ?? leftMs() > 0) return null;
  // An operator may have created the token after the isolate got the list.
  if (leftMs() > 0 && !(await hold(c, leftMs())))
    return refuse("busy", { detail: TOKENS_WAIT, retryAfterSeconds: Math.ceil(leftMs() / 1000) });
  // Another request may have renewed the list meanwhile.
  if (leftMs() > 0) return joinTokens.ids?.has(id) ? null : refuseUnproven(c, "token-refused");
  joinTokens.askedMs = currentMs();
  joinTokens.ids = new Set(await registry(c.env).tokenIds());
  return joinTokens.ids.has(id) ? null : refuseUnproven(c, "token-refused");
}

/**
 * Answers with a new challenge. The answer does not count as a failed attempt, since every enrolment begins with a
 * challenge, and does not reveal whether a machine has the name. The challenge must be newer than `afterMs`, a time by
 * the registry's clock, which may be ahead.
 */
async function askFresh(c: Context<App>, challenged: Challenged, afterMs = 0): Promise<Response> {
  const challenge = await newChallenge(macKeysOf(c), challenged, Math.max(currentMs(), afterMs + 1));
  return refuse("challenge-stale", { challenge });
}

register(machineRoutes, "PUT /v1/nodes/{name}/enrolment", async (c) => {
  const enrolment = await freshEnrolment(c);
  if (enrolment instanceof Response) return enrolment;
  const { proof, ...request } = enrolment;
  const machine = await verifyProof(proof, request);
  if (!machine.ok) return refuseUnproven(c, "unauthenticated");
  const { name } = request;
  const { thumbprint } = machine.value;
  const { origins: _, ...asking } = request;
  const asked = { ...asking, machine: machine.value, address: clientAddress(c), untilMs: untilMs() };
  let admitted = await registry(c.env).admit(asked);
  const turn = !admitted.ok && admitted.error.reason === "not its turn" ? admitted.error : null;
  if (turn && (await hold(c, 1000 * turn.waitSeconds))) admitted = await registry(c.env).admit(asked);
  if (!admitted.ok) return notAdmitted(c, { name, thumbprint }, admitted.error);
  const enrolled = await c.env.NODES.getByName(name).enrol(admitted.value);
  // If the object has other keys, another machine has taken over the name since the registry admitted this machine.
  if (!enrolled?.thumbprints.includes(thumbprint)) return refuseUnproven(c, "token-refused");
  const kid = await newKid(macKeysOf(c), name, { thumbprint, id: enrolled.id });
  return c.json({ kid, ticket: enrolled.ticket } satisfies EnrolmentAnswer);
});

async function notAdmitted(c: Context<App>, challenged: Challenged, why: NotAdmitted): Promise<Response> {
  switch (why.reason) {
    case "not fresh":
      return askFresh(c, challenged, why.changedAtMs);
    case "too often":
      return refuse("rate-limited", { retryAfterSeconds: CHANGE_AGAIN_SECONDS });
    case "too late":
      return refuseLate(Math.random);
    case "not its turn":
      return refuse("busy", { detail: why.detail, retryAfterSeconds: why.waitSeconds });
    case "pending":
    case "full":
      return refuse("name-pinned", { detail: WAITING[why.reason](challenged) });
    default:
      return refuseUnproven(c, "token-refused");
  }
}

/** The texts for the operator of a machine that waits for approval. */
const WAITING = {
  pending: ({ name, thumbprint }: Challenged) =>
    `An operator has to approve this machine's key: rollcall approve ${name} ${thumbprint}.`,
  full: () => "An operator has to approve one of the machines that wait for it before others can.",
};

const SOCKET = "GET /v1/gateways/{gateway}/nodes/{name}";
/** Matches a gateway's number, without leading zeros. No ticket exists for an unassigned number. */
const NUMBER = /^[1-9]\d{0,8}$/;

/** Returns the path of the machine's socket, with a ticket, for an answer to a report. */
async function socketAt(
  c: Context<App>,
  connecting: Connecting,
): Promise<NonNullable<ReportAnswer["socket"]>> {
  const ticket = await connectTicket(macKeysOf(c), connecting, currentMs());
  const path = `/v1/gateways/${connecting.gateway}/nodes/${connecting.name}`;
  return { path: `${path}?t=${encodeURIComponent(ticket)}`, withinMs: GATEWAY_LIMITS.comeBackMs };
}

register(machineRoutes, SOCKET, async (c) => {
  const opening = await verifiedOpening(c);
  if (opening instanceof Response) return opening;
  const headers = { upgrade: "websocket", [GATEWAY_OPENING]: JSON.stringify(opening) };
  const response = await gateway(c.env, opening.gateway).fetch(new Request(c.req.raw.url, { headers }));
  const { webSocket } = response;
  return webSocket
    ? new Response(null, { status: 101, webSocket })
    : refusedBy(c, opening, await response.text());
});

/** Returns the data with which a gateway opens a socket, or a refusal. Checks the ticket before the signature. */
async function verifiedOpening(c: RouteContext<typeof SOCKET>): Promise<GatewayOpening | Response> {
  const unconfigured = refuseUnconfigured(c);
  if (unconfigured) return unconfigured;
  if (!NUMBER.test(c.req.param("gateway"))) return refuse("not-found");
  if (!isUpgrade(c)) return refuse("upgrade-required");
  const query = queryOf(c, connectQuerySchema);
  if (query instanceof Response) return query;
  const { name, path } = { name: c.req.param("name"), path: c.req.path };
  const token = bearer(c.req.header("authorization"));
  const kid = token && claimedKid(token);
  if (!kid || !(await isIssuedKid(macKeysOf(c), name, kid))) return refuseUnproven(c, "unauthenticated");
  const connecting = { name, kid, gateway: Number(c.req.param("gateway")) };
  if (!(await isConnectTicket(macKeysOf(c), connecting, query.t, currentMs())))
    return refuseUnproven(c, "unauthenticated");
  const request = { thumbprint: thumbprintIn(kid), name, path, origins: origins(c.env) };
  const claims = await verifyConnect(token, request);
  if (!claims.ok && claims.error === FOR_ANOTHER_ORIGIN) return refuse("wrong-origin");
  if (!claims.ok) return refuseUnproven(c, "unauthenticated");
  const { session } = claims.value;
  return { ...connecting, session, ticket: query.t, address: clientAddress(c) };
}

/** Returns the thumbprint in a kid. The caller has checked that this Worker issued the kid. */
const thumbprintIn = (kid: string) => kid.split(".")[1] ?? "";

/** Returns the answer to a machine whose socket the gateway refuses. `text`: the gateway's reason. */
async function refusedBy(
  c: Context<App>,
  { gateway: from, name, kid }: GatewayOpening,
  text: string,
): Promise<Response> {
  if (text === "used ticket") return refuseUnproven(c, "unauthenticated");
  const awaySeconds = /^sent away (\d+)$/.exec(text)?.[1];
  if (awaySeconds !== undefined) return refuse("rate-limited", { retryAfterSeconds: Number(awaySeconds) });
  if (text !== "full") throw new Error(`gateway ${from} answers: ${text}`);
  await moveMachine(c.env, { name, kid, from });
  return refuse("try-another", { retryAfterSeconds: 1 });
}
