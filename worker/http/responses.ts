// What the Worker's routes share: the application's type, refusals, bodies and bearer tokens. Decides nothing.
import type { Context } from "hono";
import { firstFault } from "../../shared/protocol/schema.ts";
import type { Environment } from "../env.ts";
import type { Isolate } from "../isolate.ts";
import { FORGOTTEN, type MachineAnswer } from "../machine/answers.ts";
import type { NodeObject } from "../machine/node-object.ts";
import type { Operator } from "../identity/operator.ts";
import { problem, problemOf, problemResponse } from "./problems.ts";

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

/** Puts what a machine's object answers on this wire. */
export function answered(c: Context, answer: MachineAnswer): Response {
  return answer.ok ? c.json(answer.value) : problemResponse(problemOf(answer.error));
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
