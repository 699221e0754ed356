// Checks that the apiserver answers, accepts the Worker's token, and lets its account read Nodes. One request
// checks all three. With FEATURES = "NodeFeature" a second one checks the account's right to those objects. The results
// are cached for some seconds, so that frequent checks cost the apiserver little.
import {
  type ApiError,
  type ApiResult,
  apiErrorText,
  isForbidden,
} from "../../shared/kubernetes/api-error.ts";
import {
  failed,
  type DeploymentFault,
  type CheckResult,
  warning,
} from "../../shared/deployment/check-result.ts";
import { NEW_TOKEN } from "../../shared/deployment/token.ts";
import type { Node } from "../../shared/kubernetes/types.ts";
import { type Environment, nodeFeatureNamespace } from "../env.ts";
import { heldToken, kubeConnector } from "./connect.ts";
import type { KubeClient } from "./kube-client.ts";
import { isWithoutPath } from "./not-the-apiserver.ts";
import { currentMs } from "../clock.ts";

/** The time for which a result is cached. */
export const PROBED_EVERY_MS = 10_000;
export const PROBE_WITHIN_MS = 3000;
/** The name of the Node that the probe reads. The Node need not exist: a 404 proves as much as a Node. */
export const PROBED_NODE = "rollcall-readyz";

export interface Probed {
  finding: CheckResult;
  /** The result for NodeFeature objects; absent if the Worker writes none. */
  features?: CheckResult;
  /** When the probe sent its request, in milliseconds since 1970. */
  atMs: number;
}

export class ApiserverProbe {
  readonly #ask: () => Promise<ApiResult<Node>>;
  readonly #nowMs: () => number;
  readonly #askForFeatures: () => Promise<ApiResult<unknown>> | null;
  #latest: Probed | undefined;
  #underWay: Promise<Probed> | undefined;

  constructor(
    ask: () => Promise<ApiResult<Node>>, // typically askForNode
    nowMs: () => number, // typically currentMs
    askForFeatures: () => Promise<ApiResult<unknown>> | null = () => null, // typically askForNodeFeature
  ) {
    this.#ask = ask;
    this.#nowMs = nowMs;
    this.#askForFeatures = askForFeatures;
  }

  /** Returns the cached result, or asks the apiserver. Callers at the same time share one request. */
  async probe(): Promise<Probed> {
    const sinceMs = this.#nowMs() - (this.#latest?.atMs ?? 0);
    if (this.#latest && sinceMs >= 0 && sinceMs < PROBED_EVERY_MS) return this.#latest;
    this.#underWay ??= this.#probeNow().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  async #probeNow(): Promise<Probed> {
    const [answer, ofFeatures] = await Promise.all([this.#ask(), this.#askForFeatures()]);
    const fault = faultOf(answer);
    const finding: CheckResult = fault
      ? { check: "apiserver", ...fault }
      : { check: "apiserver", state: "ok", message: "it accepts the token, and lets its account read Nodes" };
    // A fault of the apiserver itself explains that of the second request.
    const features = ofFeatures && !fault && { features: featuresFinding(ofFeatures) };
    return (this.#latest = { finding, ...features, atMs: this.#nowMs() });
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

/** Reads a NodeFeature that need not exist. Returns null if the Worker writes none. */
export function askForNodeFeature(env: Environment): () => Promise<ApiResult<unknown>> | null {
  const connect = kubeConnector(env, heldToken(env), currentMs);
  return () => {
    const namespace = env.KUBE_URL ? nodeFeatureNamespace(env) : null;
    return namespace === null ? null : connect(PROBE_WITHIN_MS).getNodeFeature(namespace, PROBED_NODE);
  };
}

function featuresFinding(answer: ApiResult<unknown>): CheckResult {
  const check = "features";
  if (answer.ok || isMissing(answer.error, "nodefeatures"))
    return { check, state: "ok", message: "it lets the account read NodeFeatures" };
  const { error } = answer;
  if (isWithoutPath(error))
    return {
      check,
      ...warning(
        "the cluster has no NodeFeature objects: features are not published",
        "install node-feature-discovery, have a proxy in front of the apiserver pass their path, or set FEATURES to labels",
      ),
    };
  const text = `NodeFeatures cannot be read, and features are not published: ${apiErrorText(error)}`;
  return { check, ...warning(text, "kubectl apply -f infra/rbac/node-features.yaml") };
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
function isMissing(error: ApiError, kind = "nodes"): boolean {
  return error.kind === "status" && error.status.code === 404 && error.status.details?.kind === kind;
}
