// Runs a bare Worker as the yardstick of our Worker: the minimum that any Worker does for a heartbeat and for an
// enrolment. The bare Worker is no product.
//
// For a heartbeat, the bare Worker verifies one JWT and PUTs one lease. It omits the Durable Object, the kid and its
// MAC, names, the digest of the body, tickets and schemas. It also omits the setters and their comparison, phases,
// deadlines and retries. For an enrolment, it verifies one JWT, stores one row in the machine's Durable Object, and
// POSTs Node and lease. It omits the challenge, which costs a round trip, and the registry with its join tokens, pins
// and audit. It also omits the join token's signature, the first report, the setters (the Node is a template), the
// status patch, history and events.
import { DurableObject } from "cloudflare:workers";
import { type CryptoKey, decodeProtectedHeader, importJWK, type JWK, jwtVerify } from "jose";
import type { BareGatewayObject } from "./bare-gateway.ts";
import { ask, type BareKube, type BareLease, type BareStored, createLease, renewLease } from "./bare-kube.ts";

export { BareGatewayObject } from "./bare-gateway.ts";

interface BareEnv extends BareKube {
  ORIGIN: string;
  /** The Node as JSON. The Nodes of two machines differ only in their names. */
  NODE: string;
  ROWS: DurableObjectNamespace<RowObject>;
  GATEWAYS: DurableObjectNamespace<BareGatewayObject>;
}

/** The keys and leases of all machines, in the isolate's memory. */
const machines = new Map<string, { key: CryptoKey; lease: BareLease }>();

export class RowObject extends DurableObject<BareEnv> {
  store(key: string): void {
    const { sql } = this.ctx.storage;
    sql.exec("CREATE TABLE IF NOT EXISTS machine (id INTEGER PRIMARY KEY, key TEXT)");
    sql.exec("INSERT INTO machine (key) VALUES (?)", key);
  }
}

/** Enrols a machine: sends the answer that docs/protocol.md describes for an enrolment. */
async function enrol(request: Request, env: BareEnv, name: string): Promise<Response> {
  const { proof } = await request.json<{ proof: string }>();
  const jwk = decodeProtectedHeader(proof).jwk as JWK & { x: string };
  const key = (await importJWK(jwk, "EdDSA")) as CryptoKey;
  await jwtVerify(proof, key, { algorithms: ["EdDSA"], audience: env.ORIGIN });
  await env.ROWS.getByName(name).store(jwk.x);
  const node = JSON.parse(env.NODE) as BareStored;
  node.metadata.name = name;
  const { metadata } = await ask<BareStored>(env, "POST", "/api/v1/nodes", node);
  const lease = await createLease(env, name, metadata.uid);
  machines.set(name, { key, lease });
  return Response.json({ kid: name, ticket: "bare" });
}

async function report(request: Request, env: BareEnv, name: string): Promise<Response> {
  const machine = machines.get(name);
  const token = request.headers.get("authorization")?.slice("Bearer ".length) ?? "";
  if (!machine) return new Response(null, { status: 401 });
  await jwtVerify(token, machine.key, { algorithms: ["EdDSA"], audience: env.ORIGIN });
  machine.lease = await renewLease(env, machine.lease);
  return Response.json({ phase: "registered", ready: true, ticket: "bare", reportInMs: 9600 });
}

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  fetch(request: Request, env: BareEnv): Response | Promise<Response> {
    const [, name = "", what] = /^\/v1\/nodes\/([^/]+)\/(\w+)$/.exec(new URL(request.url).pathname) ?? [];
    if (request.headers.has("upgrade")) return env.GATEWAYS.getByName("1").fetch(request);
    if (what === "enrolment") return enrol(request, env, name);
    return what === "report" ? report(request, env, name) : new Response("ok");
  },
};
