// Defines what all routes share: the application's type, refusals, bodies, bearer tokens and MAC keys.
import type { Context, HonoRequest } from "hono";
import type { Problem } from "../../shared/protocol/answers.ts";
import { firstFault } from "../../shared/protocol/schema.ts";
import type { Environment } from "../env.ts";
import type { Operator } from "../identity/operator.ts";
import type { Isolate } from "../isolate.ts";
import { busySeconds, FORGOTTEN, type MachineAnswer } from "../machine/answers.ts";
import type { NodeObject } from "../machine/node-object.ts";
import { problem, problemOf } from "../problems.ts";

export interface App {
  Bindings: Environment;
  /** `isolate` is always present; `operator` is present only after the middleware that checks the operator. */
  Variables: { isolate: Isolate; operator: Operator };
}

export const refuse = (...args: Parameters<typeof problem>) => problemResponse(problem(...args));

function problemResponse(body: Problem): Response {
  const headers: Record<string, string> = {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
  };
  if (body.status === 401) headers["www-authenticate"] = "Bearer";
  if (body.retryAfterSeconds) headers["retry-after"] = String(body.retryAfterSeconds);
  return new Response(JSON.stringify(body), { status: body.status, headers });
}

/** Reports whether a browser opens the address, and no script asks for it. */
export const isNavigation = (request: HonoRequest) =>
  request.method === "GET" && request.header("sec-fetch-mode") === "navigate";

const NO_SUCH_PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found · rollcall</title>
<p>There is nothing at this address. <a href="/">The fleet</a> is at the beginning of the path.</p></html>`;

/** Refuses a browser's navigation to an unknown path, in words. */
export const noSuchPage = () =>
  new Response(NO_SUCH_PAGE, {
    status: 404,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "x-content-type-options": "nosniff",
    },
  });

/** Answers a change: 204, or 404 if the thing to change does not exist. */
export const done = (c: Context, isFound: boolean) => (isFound ? c.body(null, 204) : refuse("not-found"));

export const refuseParameter = (parameter: string, detail: string) =>
  refuse("invalid-query", { parameter, detail });

export const refuseForNow = (detail: string, retryAfterSeconds: number) =>
  refuse("rate-limited", { detail, retryAfterSeconds });

/** Refuses a request whose machine would not wait for the answer. */
export const refuseLate = (random: () => number) =>
  refuse("busy", { retryAfterSeconds: busySeconds(random) });

/** Refuses a request with another method. `allowed`: the methods of the path. */
export function refuseMethod(allowed: readonly string[]): Response {
  const response = refuse("method-not-allowed");
  response.headers.set("allow", allowed.join(", "));
  return response;
}

/** Returns the HTTP response for an answer of a machine's object. */
export function answered(c: Context, answer: MachineAnswer): Response {
  return answer.ok ? c.json(answer.value) : problemResponse(problemOf(answer.error));
}

export const macKeysOf = (c: Context<App>) => c.get("isolate").macKeys(c.env.KID_MAC_KEYS);

/** Returns the client's address; "" if the platform does not provide the address. */
export const clientAddress = (c: Context<App>) => c.req.header("cf-connecting-ip") ?? "";

export const isUpgrade = (c: Context<App>) =>
  c.req.raw.method === "GET" && c.req.header("upgrade")?.toLowerCase() === "websocket";

export function bearer(header: string | undefined): string | null {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(header ?? "")?.[1] ?? null;
}

/** Returns the parsed body. A body that is not JSON becomes undefined, which no schema accepts. */
export async function json(request: Request): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    return undefined;
  }
}

export function invalidBody(error: Parameters<typeof firstFault>[0]): Response {
  const { path, message } = firstFault(error);
  return refuse("invalid-body", { detail: message, pointer: path });
}

/** Deletes the object of a machine. The object aborts itself at the end, so the call fails with FORGOTTEN. */
export async function forget(node: DurableObjectStub<NodeObject>): Promise<void> {
  await unlessForgotten(() => node.forget());
}

/** Returns the answer of a machine's object; null if the object has deleted itself meanwhile, as its alarm may do. */
export async function unlessForgotten<Answer>(call: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof Error && error.message.includes(FORGOTTEN)) return null;
    throw error;
  }
}

/** Refuses a machine's request if the configuration is invalid; null otherwise. */
export function refuseUnconfigured(c: Context<App>): Response | null {
  const { stopsMachines } = c.get("isolate").configuration(c.env);
  return stopsMachines ? refuse("not-configured") : null;
}
