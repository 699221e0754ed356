// The Worker's routes: cap, parse, authenticate cheaply, hand over to the object that decides.
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { createMiddleware } from "hono/factory";
import { validateNodeName } from "../shared/node-name.ts";
import {
  type EnrolmentAnswer,
  enrolmentSchema,
  firstFault,
  LIMITS,
  type Problem,
  tokenRequestSchema,
} from "../shared/protocol.ts";
import { type Environment, origins } from "./env.ts";
import { isOperator } from "./identity/operator.ts";
import { claimedKid, verifyProof } from "./identity/jwt.ts";
import { type Answer, FORGOTTEN, type NodeObject, type SignedRequest } from "./node-object.ts";
import { issueKid, parseMacKeys, verifyKid } from "./identity/kid.ts";
import { historyQuerySchema } from "./history.ts";
import { problem, problemResponse } from "./problems.ts";

export { FleetObject } from "./fleet-object.ts";
export { NodeObject } from "./node-object.ts";

type App = { Bindings: Environment };

const fleet = (env: Environment) => env.FLEET.getByName("fleet");
const refuse = (...args: Parameters<typeof problem>) => problemResponse(problem(...args));

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
    return refuse("unauthenticated");
  const body = new Uint8Array(await c.req.arrayBuffer());
  // bodyLimit believes content-length.
  if (body.byteLength > LIMITS.bodyBytes) return refuse("body-too-large");
  return { name, kid, token, body };
}

const answered = (c: Context<App>, answer: Answer) =>
  answer.status === 200 ? c.json(answer.body) : problemResponse(answer.body as Problem);

app.post("/v1/nodes/:name/report", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  return answered(c, await c.env.NODES.getByName(request.name).report(request));
});

app.post("/v1/nodes/:name/leave", async (c) => {
  const request = await signedRequest(c);
  if (request instanceof Response) return request;
  const node = c.env.NODES.getByName(request.name);
  const answer = await node.leave(request);
  if (answer.status === 200) await forget(node);
  return answered(c, answer);
});

app.put("/v1/nodes/:name/enrolment", async (c) => {
  const name = c.req.param("name");
  const body = enrolmentSchema.safeParse(await json(c.req.raw));
  if (!body.success) return invalidBody(body.error);
  const request = { name, method: c.req.method, path: c.req.path, origins: origins(c.env) };
  const machine = await verifyProof(body.data.proof, request);
  if (!machine) return refuse("unauthenticated");
  const { method, path } = request;
  const admission = await fleet(c.env).admit({ name, method, path, binding: body.data.binding, machine });
  if (!admission) return refuse("token-refused");
  const pinned = await c.env.NODES.getByName(name).enrol(name, machine, admission);
  if (!pinned) return refuse("name-pinned");
  const [macKey] = parseMacKeys(c.env.KID_MAC_KEYS);
  if (!macKey) throw new Error("KID_MAC_KEYS holds no key");
  const kid = await issueKid(macKey, name, machine.thumbprint, pinned.enrolment);
  return c.json({ kid, ticket: pinned.ticket } satisfies EnrolmentAnswer);
});

/** The operator alone. */
const operator = createMiddleware<App>(async (c, next) => {
  const secret = bearer(c.req.header("authorization"));
  if (!(await isOperator(secret, c.env.ADMIN_SECRET_SHA256))) return refuse("forbidden");
  await next();
  return undefined;
});

/** The object of a machine that enrolled once; no other is woken. */
async function knownNode(env: Environment, name: string): Promise<DurableObjectStub<NodeObject> | null> {
  return (await fleet(env).knows(name)) ? env.NODES.getByName(name) : null;
}

app.get("/v1/nodes/:name/history", operator, async (c) => {
  const query = historyQuerySchema.safeParse(c.req.query());
  if (!query.success) return invalidBody(query.error);
  const node = await knownNode(c.env, c.req.param("name"));
  return node ? c.json({ entries: await node.history(query.data) }) : refuse("not-found");
});

app.post("/v1/nodes/:name/register", operator, async (c) => {
  const node = await knownNode(c.env, c.req.param("name"));
  return node && (await node.registerAgain()) ? c.body(null, 204) : refuse("not-found");
});

/** Repeatable: what a first one left half done is done then. */
app.delete("/v1/nodes/:name", operator, async (c) => {
  const name = c.req.param("name");
  if (!(await fleet(c.env).knew(name))) return refuse("not-found");
  const node = c.env.NODES.getByName(name);
  const answer = await node.remove();
  if (answer.status !== 200) return answered(c, answer);
  await forget(node);
  return c.body(null, 204);
});

/** An object that forgets ends itself, and the call with it. */
async function forget(node: DurableObjectStub<NodeObject>): Promise<void> {
  try {
    await node.forget();
  } catch (error) {
    if (!(error instanceof Error && error.message.includes(FORGOTTEN))) throw error;
  }
}

app.post("/v1/tokens", operator, async (c) => {
  const request = tokenRequestSchema.safeParse(await json(c.req.raw));
  if (!request.success) return invalidBody(request.error);
  return c.json(await fleet(c.env).mintToken(request.data), 201);
});

for (const resource of ["report", "leave", "enrolment", "history", "register"]) {
  app.all(`/v1/nodes/:name/${resource}`, () => refuse("method-not-allowed"));
}
app.all("/v1/nodes/:name", () => refuse("method-not-allowed"));
app.all("/v1/tokens", () => refuse("method-not-allowed"));

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default app;

function bearer(header: string | undefined): string | null {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(header ?? "")?.[1] ?? null;
}

/** The parsed body, or undefined where it is not JSON (no schema accepts that). */
async function json(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    return undefined;
  }
}

function invalidBody(error: Parameters<typeof firstFault>[0]): Response {
  const { path, message } = firstFault(error);
  return refuse("invalid-body", { detail: message, pointer: path });
}
