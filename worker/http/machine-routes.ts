// The machines' routes: they limit the body, parse it, check the kid, and pass the request to the object that decides.
import { type Context, Hono } from "hono";
import type { EnrolmentAnswer } from "../../shared/protocol/answers.ts";
import { enrolmentSchema } from "../../shared/protocol/claims.ts";
import { LIMITS } from "../../shared/protocol/limits.ts";
import { CHANGE_AGAIN_SECONDS, type MachineAnswer } from "../machine/answers.ts";
import { origins, registry } from "../env.ts";
import { refuseEarly, refuseUnproven } from "./failure-limits.ts";
import { answered, type App, bearer, forget, invalidBody, json, refuse } from "./responses.ts";
import { claimedKid, verifyProof } from "../identity/jwt.ts";
import { isIssuedKid, newKid } from "../identity/kid.ts";
import type { SignedRequest } from "../machine/pinned-keys.ts";

export const machineRoutes = new Hono<App>();

/** A machine's request whose kid this Worker issued, or the refusal. No object is woken for that. */
async function signedRequest(c: Context<App, "/v1/nodes/:name/*">): Promise<SignedRequest | Response> {
  const name = c.req.param("name");
  const token = bearer(c.req.header("authorization"));
  const kid = token && claimedKid(token);
  if (!kid || !(await isIssuedKid(c.get("isolate").macKeys(c.env.KID_MAC_KEYS), name, kid)))
    return refuseUnproven(c, "unauthenticated");
  const body = new Uint8Array(await c.req.raw.arrayBuffer());
  // bodyLimit relies on content-length.
  if (body.byteLength > LIMITS.bodyBytes) return refuse("body-too-large");
  return { name, kid, token, body };
}

/** A kid is no secret: whoever sends one without having the key counts as a failed attempt. */
async function answeredMachine(c: Context<App>, answer: MachineAnswer): Promise<Response> {
  return !answer.ok && answer.error.reason === "unauthenticated"
    ? refuseUnproven(c, "unauthenticated")
    : answered(c, answer);
}

machineRoutes.post("/v1/nodes/:name/report", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  return answeredMachine(c, await c.env.NODES.getByName(request.name).report(request));
});

machineRoutes.post("/v1/nodes/:name/rotate", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  return answeredMachine(c, await c.env.NODES.getByName(request.name).rotate(request, c.req.path));
});

machineRoutes.post("/v1/nodes/:name/leave", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  const node = c.env.NODES.getByName(request.name);
  const answer = await node.leave(request);
  if (answer.ok) await forget(node);
  return answeredMachine(c, answer);
});

machineRoutes.put("/v1/nodes/:name/enrolment", async (c) => {
  // Signatures are costly to verify, and there is one registry for all: machines that enrol wait where others at their
  // address have failed too often.
  const early = refuseEarly(c);
  if (early) return early;
  const name = c.req.param("name");
  const body = enrolmentSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const request = { name, method: c.req.method, path: c.req.path, origins: origins(c.env) };
  const machine = await verifyProof(body.data.proof, request);
  if (!machine.ok) return refuseUnproven(c, "unauthenticated");
  const { thumbprint } = machine.value;
  const { method, path } = request;
  const { binding } = body.data;
  const address = c.req.header("cf-connecting-ip") ?? "";
  const asking = { name, method, path, binding, machine: machine.value, address };
  const admitted = await registry(c.env).admit(asking);
  const reason = admitted.ok ? null : admitted.error.reason;
  if (reason === "too often") return refuse("rate-limited", { retryAfterSeconds: CHANGE_AGAIN_SECONDS });
  if (reason === "pending" || reason === "full")
    return refuse("name-pinned", { detail: WAITING[reason](thumbprint) });
  const enrolled = admitted.ok ? await c.env.NODES.getByName(name).enrol(admitted.value) : null;
  // The registry refused, or another machine took the name over since the admission.
  if (!enrolled?.thumbprints.includes(thumbprint)) return refuseUnproven(c, "token-refused");
  const kid = await newKid(c.get("isolate").macKeys(c.env.KID_MAC_KEYS), name, {
    thumbprint,
    id: enrolled.id,
  });
  return c.json({ kid, ticket: enrolled.ticket } satisfies EnrolmentAnswer);
});

/** For the operator of a machine that has to wait. */
const WAITING = {
  pending: (thumbprint: string) => `An operator has to approve this machine's key ${thumbprint}.`,
  full: () => "An operator has to approve one of the machines that wait for it before others can.",
};
