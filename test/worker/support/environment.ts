// The embedded apiserver behind KUBE in the Worker's tests, which can be told to fail. Runs on Node; the tests reach it
// through the binding.
import { randomUUID } from "node:crypto";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { afterTimeout } from "../../../infra/local/apiserver/timer.ts";
import { FAULTS_PATH, KUBE_TOKEN, REQUESTS_PATH, WRITES_PATH } from "./constants.ts";
import type { Fault, Write } from "./fault.ts";

const apiserver = createApiserver({
  store: openStore(":memory:"),
  now: () => new Date(),
  uuid: randomUUID,
  random: Math.random,
  after: afterTimeout,
  adminToken: KUBE_TOKEN,
});

interface ActiveFault {
  fault: Fault;
  met: number;
  /** Ends when the fault does: what hangs must not outlive its test. */
  over: Promise<void>;
  end: () => void;
}

type Refusal = Extract<Fault, { kind: "status" }>;

/** By the Node's name. */
const faults = new Map<string, ActiveFault>();
/** What the Worker has asked, without what the tests ask as administrators. */
let requests: { method: string; path: string; about: string }[] = [];
const writes: (Write & { about: string })[] = [];

/** Tests run side by side: a Node's name within a longer one is another Node. An event's name begins with its Node's. */
function names(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w.-])${name.replaceAll(".", String.raw`\.`)}(?![\\w-])`).test(text);
}

/** The KUBE binding. */
export async function kube(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const name = url.searchParams.get("name") ?? "";
  const body = await request.text();
  if (url.pathname === FAULTS_PATH) return setFault(name, JSON.parse(body) as Fault | null);
  if (url.pathname === REQUESTS_PATH) {
    const found = requests.filter(({ about }) => names(about, name));
    requests = requests.filter(({ about }) => !names(about, name));
    return Response.json(found.map(({ method, path }) => `${method} ${path}`));
  }
  if (url.pathname === WRITES_PATH) return Response.json(writes.filter(({ about }) => names(about, name)));
  const { method, headers } = request;
  const ask = () => apiserver.fetch(new Request(request.url, { method, headers, ...(body && { body }) }));
  if (headers.get("user-agent") !== "rollcall") return ask();

  const about = url.pathname + body;
  requests.push({ method, path: url.pathname, about });
  const line = `${method} ${url.pathname}`;
  const askAndNote = async () => {
    const response = await ask();
    if (method !== "GET" && response.ok)
      writes.push({ request: line, object: (await response.clone().json()) as Write["object"], about });
    return response;
  };
  const active = faultOf(line, url.pathname, body);
  return active ? faulty(active, askAndNote) : askAndNote();
}

function setFault(name: string, fault: Fault | null): Response {
  faults.get(name)?.end();
  faults.delete(name);
  if (fault) {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    faults.set(name, { fault, met: 0, over, end });
  }
  return new Response(null, { status: 204 });
}

function faultOf(line: string, path: string, body: string): ActiveFault | undefined {
  for (const [name, active] of faults) {
    const { of = "", after = 0, times = Number.POSITIVE_INFINITY } = active.fault;
    if (!names(path + body, name)) continue;
    if (!new RegExp(of).test(line)) continue;
    const met = active.met++;
    if (met >= after && met < after + times) return active;
  }
  return undefined;
}

async function faulty({ fault, over }: ActiveFault, ask: () => Promise<Response>): Promise<Response> {
  switch (fault.kind) {
    case "hangs":
      await over;
      return gatewayTimeout();
    case "hangs after its effect":
      await ask();
      await over;
      return gatewayTimeout();
    case "answer lost":
      await ask();
      return gatewayTimeout();
    case "html":
      return new Response("<html>tunnel error</html>", { status: 200 });
    case "truncated":
      return new Response('{"kind":"Node","apiVersion":"v1","metadata":{"na', { status: 200 });
    default:
      return refusal(fault);
  }
}

function refusal({ code, reason = "InternalError", message = reason, retryAfterSeconds }: Refusal): Response {
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };
  return Response.json(status, { status: code, headers });
}

const gatewayTimeout = () => new Response("no answer from the origin", { status: 504 });
