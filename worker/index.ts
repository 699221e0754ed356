// The Worker's routes: cap, parse, authenticate cheaply, hand over to the object that decides.
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { validateNodeName } from "../shared/node/node-name.ts";
import { type EnrolmentAnswer, enrolmentSchema, LIMITS } from "../shared/protocol/report.ts";
import type { Answer } from "./machine/answer.ts";
import { origins } from "./env.ts";
import { refuseEarly, refuseUnproven } from "./http/failure-limits.ts";
import { answered, type App, bearer, fleet, forget, invalidBody, json, refuse } from "./http/responses.ts";
import { claimedKid, verifyProof } from "./identity/jwt.ts";
import { newKid, parseMacKeys, verifyKid } from "./identity/kid.ts";
import type { SignedRequest } from "./machine/pinned-keys.ts";
import { operatorRoutes } from "./http/operator-routes.ts";

export { FleetObject } from "./registry/registry-object.ts";
export { NodeObject } from "./machine/node-object.ts";

const app = new Hono<App>();

app.use(bodyLimit({ maxSize: LIMITS.bodyBytes, onError: () => refuse("body-too-large") }));
app.notFound(() => refuse("not-found"));
app.onError((error) => {
  console.error(JSON.stringify({ message: "request failed", error: error.stack ?? String(error) }));
  return refuse("internal");
});

app.get("/livez", (c) => c.text("ok"));

app.use("/v1/*", async (c, next) => {
  await next();
  c.res.headers.set("cache-control", "no-store");
});

app.use("/v1/nodes/:name/*", async (c, next) => {
  // A name has one spelling: one that is percent-encoded is none.
  const isEncoded = new URL(c.req.url).pathname.includes("%");
  if (isEncoded || validateNodeName(c.req.param("name")).length > 0) return refuse("invalid-name");
  await next();
  return undefined;
});

/** A machine's request whose kid is one of ours, or why not; no object is woken for that. */
async function signedRequest(c: Context<App, "/v1/nodes/:name/*">): Promise<SignedRequest | Response> {
  const name = c.req.param("name");
  const token = bearer(c.req.header("authorization"));
  const kid = token && claimedKid(token);
  if (!kid || !(await verifyKid(parseMacKeys(c.env.KID_MAC_KEYS), name, kid)))
    return refuseUnproven(c, "unauthenticated");
  const body = new Uint8Array(await c.req.raw.arrayBuffer());
  // bodyLimit believes content-length.
  if (body.byteLength > LIMITS.bodyBytes) return refuse("body-too-large");
  return { name, kid, token, body };
}

/** A kid may be known to somebody who has not the key. */
async function answeredMachine(c: Context<App>, answer: Answer): Promise<Response> {
  return answer.status === 401 ? refuseUnproven(c, "unauthenticated") : answered(c, answer);
}

app.post("/v1/nodes/:name/report", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  return answeredMachine(c, await c.env.NODES.getByName(request.name).report(request));
});

app.post("/v1/nodes/:name/rotate", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  return answeredMachine(c, await c.env.NODES.getByName(request.name).rotate(request, c.req.path));
});

app.post("/v1/nodes/:name/leave", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  const node = c.env.NODES.getByName(request.name);
  const answer = await node.leave(request);
  if (answer.status === 200) await forget(node);
  return answeredMachine(c, answer);
});

app.put("/v1/nodes/:name/enrolment", async (c) => {
  // Signatures are dear, and the registry is one for all: machines that want to enrol wait for their neighbours' failures.
  const early = refuseEarly(c);
  if (early) return early;
  const name = c.req.param("name");
  const body = enrolmentSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const request = { name, method: c.req.method, path: c.req.path, origins: origins(c.env) };
  const machine = await verifyProof(body.data.proof, request);
  if (!machine) return refuseUnproven(c, "unauthenticated");
  const { method, path } = request;
  const { binding } = body.data;
  const address = c.req.header("cf-connecting-ip") ?? "";
  const admitted = await fleet(c.env).admit({ name, method, path, binding, machine, address });
  const { admission, pin } = admitted;
  if (admission === "pending" || admission === "full") {
    return refuse("name-pinned", { detail: WAITING[admission](machine.thumbprint) });
  }
  const enrolled = pin && (await c.env.NODES.getByName(name).enrol(pin));
  // Refused, or taken over since it was admitted.
  if (!enrolled?.thumbprints.includes(machine.thumbprint)) return refuseUnproven(c, "token-refused");
  const { thumbprint } = machine;
  const kid = await newKid(c.env.KID_MAC_KEYS, name, { thumbprint, id: enrolled.id });
  return c.json({ kid, ticket: enrolled.ticket } satisfies EnrolmentAnswer);
});

/** For the operator of a machine that has to wait. */
const WAITING = {
  pending: (thumbprint: string) => `An operator has to approve this machine's key ${thumbprint}.`,
  full: () => "An operator has to approve one of the machines that wait for it before others can.",
};

app.route("/", operatorRoutes);

const MACHINE_RESOURCES = ["report", "leave", "rotate", "enrolment"];
const OPERATOR_RESOURCES = ["history", "register", "clones", "believe", "approve", "reject", "revoke"];
for (const resource of [...MACHINE_RESOURCES, ...OPERATOR_RESOURCES]) {
  app.all(`/v1/nodes/:name/${resource}`, () => refuse("method-not-allowed"));
}
app.all("/v1/nodes/:name", () => refuse("method-not-allowed"));
for (const path of [
  "/v1/tokens",
  "/v1/tokens/:id",
  "/v1/pending",
  "/v1/audit",
  "/v1/origins",
  "/v1/origins/machines",
]) {
  app.all(path, () => refuse("method-not-allowed"));
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default app;
