// What wrangler cannot know of this Worker's environment: bindings that a deployment may or may not have.

export interface Environment extends Env {
  /** Workers VPC service (or any service binding) that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
}

/** The origins that a request may be signed for. */
export function origins(env: Environment): string[] {
  return env.ORIGINS.split(/\s+/).filter((origin) => origin !== "");
}
