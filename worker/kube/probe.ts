// Whether the apiserver answers, accepts the Worker's token, and lets its account read Nodes: one request, with a
// deadline, and its outcome is good for some seconds, so that whoever asks all the time costs the apiserver little.
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

/** How long an outcome is good. */
export const PROBED_EVERY_MS = 10_000;
export const PROBE_WITHIN_MS = 3000;
/** Nobody needs to have a Node of this name: that there is none is an answer as well. */
export const PROBED_NODE = "rollcall-readyz";

export interface Probed {
  finding: CheckResult;
  /** When the apiserver was asked, in milliseconds since 1970. */
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

  /** The latest outcome while it is good; else the apiserver is asked, once for all who want to know. */
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

/** `resourceVersion=0`: it is read from the apiserver's memory, not from etcd. */
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
  const said = apiErrorText(error);
  if (error.kind === "unanswered")
    return failed(
      `it does not answer: ${said}`,
      error.cure ??
        "see that KUBE_URL (or the binding KUBE) reaches it, and that Cloudflare trusts its certificate: docs/apiserver.md",
    );
  if (error.status.code === 401) return failed(`it does not accept the token: ${said}`, NEW_TOKEN);
  if (isForbidden(error))
    return failed(
      `it does not let the token's account read Nodes: ${said}`,
      "kubectl apply -f infra/rbac/rollcall.yaml, and use a token of an account in its namespace",
    );
  return failed(
    `it answers ${error.status.code}: ${said}`,
    "see the apiserver's own /readyz?verbose and its log",
  );
}

/** A 404 alone proves nothing: a path that is not the apiserver's causes one as well. */
function isMissing(error: ApiError): boolean {
  return error.kind === "status" && error.status.code === 404 && error.status.details?.kind === "nodes";
}
