// PUTs a lease once, and says what came of it. Never reads one, never creates one, and repeats nothing but a request that
// was answered 401, with another token.
import { type ApiResult, isConflict, isNotFound } from "../../shared/kubernetes/api-error.ts";
import type { Lease } from "../../shared/kubernetes/types.ts";
import type { Environment } from "../env.ts";
import type { Timer } from "../clock.ts";
import { kubeConnector, pathTo } from "../kube/connect.ts";
import type { HeldToken } from "../kube/held-token.ts";
import { retryAfterMsOf } from "../kube/not-the-apiserver.ts";
import type { Durations } from "../metrics/durations.ts";
import { currentMs } from "../clock.ts";

/** A machine waits for the answer to its heartbeat meanwhile. */
export const PUT_WITHIN_MS = 3000;

export type LeasePut =
  | { kind: "renewed"; lease: Lease }
  /** Somebody else has written it, or it is gone. */
  | { kind: "lost" }
  /** `isAnswered`: by the apiserver, so that nothing was written. */
  | { kind: "failed"; isAnswered: boolean; retryAfterMs: number };

/** `onRequest`: before each request. Never rejects. */
export type PutLease = (lease: Lease, onRequest: () => void) => Promise<LeasePut>;

export function leasePutter(
  env: Environment,
  token: HeldToken,
  durations: Durations,
  timer: Timer,
): PutLease {
  let isStart = true;
  const { url, fetch } = pathTo(env);
  return async (lease, onRequest) => {
    let retryAfterMs = 0;
    // The client would wait and repeat. That is for one machine at a time, and not for each of them.
    const once = async (to: string, init: RequestInit) => {
      const startedMs = currentMs();
      const response = await fetch(to, init).catch((error: unknown) => {
        durations.note("PUT", "none", startedMs);
        throw error;
      });
      durations.note("PUT", String(response.status), startedMs);
      retryAfterMs = retryAfterMsOf(response) ?? 0;
      if (!response.headers.has("retry-after")) return response;
      const headers = new Headers(response.headers);
      headers.delete("retry-after");
      return new Response(response.body, { status: response.status, headers });
    };
    const mayAsk = () => {
      onRequest();
      return true;
    };
    const connect = kubeConnector(env, token, currentMs, mayAsk, {
      url,
      fetch: once,
      timer,
    });
    // The token at hand serves meanwhile.
    const refreshed = token.refresh(isStart);
    isStart = false;
    const result = await connect(PUT_WITHIN_MS).updateLease(lease);
    await refreshed;
    return outcomeOf(result, retryAfterMs);
  };
}

function outcomeOf(result: ApiResult<Lease>, retryAfterMs: number): LeasePut {
  if (result.ok) return { kind: "renewed", lease: result.value };
  const { error } = result;
  if (isNotFound(error) || isConflict(error)) return { kind: "lost" };
  return { kind: "failed", isAnswered: error.kind === "status", retryAfterMs };
}
