// What the Worker's routes share: the application's type, refusals, bodies and bearer tokens. Decides nothing.
import type { Context } from "hono";
import { firstFault, type Problem } from "../../shared/protocol/report.ts";
import type { Environment } from "../env.ts";
import type { Isolate } from "../isolate.ts";
import { type Answer, FORGOTTEN } from "../machine/answer.ts";
import type { NodeObject } from "../machine/node-object.ts";
import type { Operator } from "../identity/operator.ts";
import { problem, problemResponse } from "./problems.ts";

export interface App {
  Bindings: Environment;
  /** `operator` is there behind the middleware of that name, `isolate` everywhere. */
  Variables: { isolate: Isolate; operator: Operator };
}

export const refuse = (...args: Parameters<typeof problem>) => problemResponse(problem(...args));

/** `allowed`: what the path takes instead. */
export function refuseMethod(allowed: readonly string[]): Response {
  const response = refuse("method-not-allowed");
  response.headers.set("allow", allowed.join(", "));
  return response;
}

export function answered(c: Context, answer: Answer): Response {
  return answer.status === 200 ? c.json(answer.body) : problemResponse(answer.body as Problem);
}

export function bearer(header: string | undefined): string | null {
  return /^Bearer +([\w.~+/=-]+)$/i.exec(header ?? "")?.[1] ?? null;
}

/** The parsed body, or undefined where it is not JSON (no schema accepts that). */
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

/** An object that forgets ends itself, and the call with it. */
export async function forget(node: DurableObjectStub<NodeObject>): Promise<void> {
  try {
    await node.forget();
  } catch (error) {
    if (!(error instanceof Error && error.message.includes(FORGOTTEN))) throw error;
  }
}
