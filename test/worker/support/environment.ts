// Runs the embedded apiserver behind the binding KUBE in the Worker's tests, and makes its faults. The apiserver
// runs on Node, and the tests reach it through the binding.
import { randomUUID } from "node:crypto";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { FAULTS_PATH, FILE_HEADER, HANGS_PATH, KUBE_TOKEN, REQUESTS_PATH, WRITES_PATH } from "./constants.ts";
import type { Fault, Write } from "./fault.ts";

/** A test file's apiserver and its recorded requests. Each file has Nodes of its own. */
interface Surroundings {
  apiserver: ReturnType<typeof createApiserver>;
  /** The active faults, by the Node's name. */
  faults: Map<string, ActiveFault>;
  /** The Worker's requests to the apiserver, by the name of the Node that they concern. */
  askedOf: Map<string, Asked>;
}

const byFile = new Map<string, Surroundings>();

function surroundingsOf(file: string): Surroundings {
  const known = byFile.get(file) ?? { apiserver: newApiserver(), faults: new Map(), askedOf: new Map() };
  byFile.set(file, known);
  return known;
}

const newApiserver = () =>
  createApiserver({
    store: openStore(":memory:"),
    now: () => new Date(),
    uuid: randomUUID,
    random: Math.random,
    after: (ms, ring) => {
      const timer = setTimeout(ring, ms);
      // An open watch of a finished test must not keep the run alive.
      timer.unref();
      return () => clearTimeout(timer);
    },
    adminToken: KUBE_TOKEN,
  });

interface ActiveFault {
  fault: Fault;
  met: number;
  /** Resolves when the fault ends, so that a hanging request does not outlive its test. */
  over: Promise<void>;
  end: () => void;
}

type Refusal = Extract<Fault, { kind: "status" }>;

/** The Worker's requests about a Node, without the requests that tests send as administrators. */
interface Asked {
  /** The requests since the test's last call, as `["PUT /apis/…", …]`. */
  requests: string[];
  /** The writes that took effect. */
  writes: Write[];
  /** The number of requests that hung. */
  hangs: number;
  /** The writes that take effect after the answer to the next GET. */
  late: (() => Promise<unknown>)[];
}

function askedAbout({ askedOf }: Surroundings, name: string): Asked {
  const known = askedOf.get(name) ?? { requests: [], writes: [], hangs: 0, late: [] };
  askedOf.set(name, known);
  return known;
}

/**
 * Returns the Node's name in a request: the name of the Node or of its lease, or the first part of an event's name.
 */
function nodeOf(path: string, body: string): string {
  const [, resource = "", name = ""] = /\/(nodes|leases|events)(?:\/([^/]+))?/.exec(path) ?? [];
  // The name of an event is the Node's name, a dot and a number.
  if (name !== "") return resource === "events" ? name.slice(0, name.lastIndexOf(".")) : name;
  if (body === "") return "";
  const { metadata, involvedObject } = JSON.parse(body) as Record<string, { name?: string } | undefined>;
  return (involvedObject ?? metadata)?.name ?? "";
}

/** Answers a request through the binding KUBE: a test's own request, or a request to the apiserver. */
export async function kube(request: Request): Promise<Response> {
  const url = new URL(request.url);
  const body = await request.text();
  const { method, headers } = request;
  const around = surroundingsOf(headers.get(FILE_HEADER) ?? "");
  const own = answerTest(around, url, body);
  if (own) return own;
  const ask = () =>
    around.apiserver.fetch(new Request(request.url, { method, headers, ...(body && { body }) }));
  if (headers.get("user-agent") !== "rollcall") return ask();

  const name = nodeOf(url.pathname, body);
  const asked = askedAbout(around, name);
  const line = `${method} ${url.pathname}`;
  asked.requests.push(line);
  const askAndNote = async () => {
    const response = await ask();
    if (method !== "GET" && response.ok)
      asked.writes.push({ request: line, object: (await response.clone().json()) as Write["object"] });
    return response;
  };
  const active = faultOf(around, name, line);
  const late = method === "GET" ? asked.late.splice(0) : [];
  if (active?.fault.kind === "effect comes late") asked.late.push(askAndNote);
  const onHang = () => void asked.hangs++;
  const answer = await (active ? faulty(active, askAndNote, onHang) : askAndNote());
  for (const effect of late) await effect();
  return url.searchParams.has("watch") ? begun(answer) : answer;
}

/**
 * Returns the answer to a watch with an empty line before it. The binding sends headers only with the first byte of
 * a body, and an empty line is no change.
 */
function begun(answer: Response): Response {
  const start = (controller: TransformStreamDefaultController<Uint8Array>) =>
    controller.enqueue(new TextEncoder().encode("\n"));
  return new Response(answer.body?.pipeThrough(new TransformStream({ start })), answer);
}

/**
 * Answers a test's request for a fault or for the recorded requests. Returns undefined for a request to the
 * apiserver.
 */
function answerTest(
  around: Surroundings,
  { pathname, searchParams }: URL,
  body: string,
): Response | undefined {
  const name = searchParams.get("name") ?? "";
  switch (pathname) {
    case FAULTS_PATH:
      return setFault(around, name, JSON.parse(body) as Fault | null);
    case REQUESTS_PATH:
      return Response.json(askedAbout(around, name).requests.splice(0));
    case HANGS_PATH:
      return Response.json(askedAbout(around, name).hangs);
    case WRITES_PATH: {
      const kind = searchParams.get("kind");
      return Response.json(
        askedAbout(around, name).writes.filter(({ object }) => kind === null || object.kind === kind),
      );
    }
    default:
      return undefined;
  }
}

function setFault({ faults }: Surroundings, name: string, fault: Fault | null): Response {
  faults.get(name)?.end();
  faults.delete(name);
  if (fault) {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    faults.set(name, { fault, met: 0, over, end });
  }
  return new Response(null, { status: 204 });
}

function faultOf({ faults }: Surroundings, name: string, line: string): ActiveFault | undefined {
  const active = faults.get(name);
  if (!active) return undefined;
  const { of = "", after = 0, times = Number.POSITIVE_INFINITY } = active.fault;
  if (!new RegExp(of).test(line)) return undefined;
  const met = active.met++;
  return met >= after && met < after + times ? active : undefined;
}

async function faulty(
  { fault, over }: ActiveFault,
  ask: () => Promise<Response>,
  onHang: () => void,
): Promise<Response> {
  switch (fault.kind) {
    case "hangs":
      onHang();
      await over;
      return gatewayTimeout();
    case "hangs after its effect":
      await ask();
      onHang();
      await over;
      return gatewayTimeout();
    case "answers late": {
      const answer = await ask();
      onHang();
      await over;
      return answer;
    }
    case "answer lost":
      await ask();
      return gatewayTimeout();
    case "effect comes late":
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
