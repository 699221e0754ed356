// Checks that the apiserver answers, accepts the Worker's token, and lets its account read Nodes. One request
// checks all three. The result is cached for some seconds, so that frequent checks cost the apiserver little.
import {
  type ApiError,
  type ApiResult,
  apiErrorText,
  isForbidden,
} from "../../shared/kubernetes/api-error.ts";
import { failed, type DeploymentFault, type CheckResult } from "../../shared/deployment/check-result.ts";
import { NEW_TOKEN } from "../../shared/deployment/token.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import type { Environment } from "../env.ts";
import { heldToken, kubeConnector } from "./connect.ts";
import type { KubeClient } from "./kube-client.ts";
import { currentMs } from "../clock.ts";

/** The time for which a result is cached. */
export const PROBED_EVERY_MS = 10_000;
export const PROBE_WITHIN_MS = 3000;
/** The name of the Node that the probe reads. The Node need not exist: a 404 proves as much as a Node. */
export const PROBED_NODE = "rollcall-readyz";

export interface Probed {
  finding: CheckResult;
  /** When the probe sent its request, in milliseconds since 1970. */
  atMs: number;
}

export class ApiserverProbe {
  readonly #ask: () => Promise<ApiResult<Node>>;
  readonly #nowMs: () => number;
  #latest: Probed | undefined;
  #underWay: Promise<Probed> | undefined;

  constructor(
    ask: () => Promise<ApiResult<Node>>, // typically askForNode
    nowMs: () => number, // typically currentMs
  ) {
    this.#ask = ask;
    this.#nowMs = nowMs;
  }

  /** Returns the cached result, or asks the apiserver. Callers at the same time share one request. */
  async probe(): Promise<Probed> {
    const sinceMs = this.#nowMs() - (this.#latest?.atMs ?? 0);
    if (this.#latest && sinceMs >= 0 && sinceMs < PROBED_EVERY_MS) return this.#latest;
    this.#underWay ??= this.#probeNow().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  async #probeNow(): Promise<Probed> {
    const fault = faultOf(await this.#ask());
    const finding: CheckResult = fault
      ? { check: "apiserver", ...fault }
      : { check: "apiserver", state: "ok", message: "it accepts the token, and lets its account read Nodes" };
    return (this.#latest = { finding, atMs: this.#nowMs() });
  }
}

/** Reads the probed Node. With `resourceVersion=0` the apiserver answers from its cache, not from etcd. */
export function askForNode(
  env: Environment,
  connect: (withinMs: number) => KubeClient | Promise<KubeClient> = kubeConnector(env, heldToken(env), () =>
    currentMs(),
  ),
): () => Promise<ApiResult<Node>> {
  return async () =>
    env.KUBE_URL
      ? (await connect(PROBE_WITHIN_MS)).getNode(PROBED_NODE, true)
      : { ok: false, error: { kind: "unanswered", message: "KUBE_URL is empty" } };
}

function faultOf(answer: ApiResult<Node>): Pick<DeploymentFault, "state" | "message" | "cure"> | null {
  if (answer.ok || isMissing(answer.error)) return null;
  const { error } = answer;
  const text = apiErrorText(error);
  if (error.kind === "unanswered")
    return failed(
      `it does not answer: ${text}`,
      error.cure ??
        "see that KUBE_URL (or the binding KUBE) reaches it, and that Cloudflare trusts its certificate: docs/apiserver.md",
    );
  if (error.status.code === 401) return failed(`it does not accept the token: ${text}`, NEW_TOKEN);
  if (isForbidden(error))
    return failed(
      `it does not let the token's account read Nodes: ${text}`,
      "kubectl apply -f infra/rbac/rollcall.yaml, and use a token of an account in its namespace",
    );
  return failed(
    `it answers ${error.status.code}: ${text}`,
    "see the apiserver's own /readyz?verbose and its log",
  );
}

/** Reports whether the apiserver itself answered that the Node is missing. Another server's 404 proves nothing. */
function isMissing(error: ApiError): boolean {
  return error.kind === "status" && error.status.code === 404 && error.status.details?.kind === "nodes";
}
