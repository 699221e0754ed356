// The Worker's environment: what wrangler cannot know of it (bindings that a deployment may or may not have), and how
// its variables and bindings are read. Reads no request.

export interface Environment extends Omit<Env, "FAILURES"> {
  /** Counts failed attempts by address; the platform has it, workerd by itself does not. */
  FAILURES?: RateLimit;
  /** A secret's SHA-256, as in ADMIN_SECRET_SHA256: who has it may look, and change nothing. */
  VIEW_SECRET_SHA256?: string;
  /** Workers VPC service (or any service binding) that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
}

/** The origins that a request may be signed for. */
export function origins(env: Environment): string[] {
  return env.ORIGINS.split(/\s+/).filter((origin) => origin !== "");
}

/** The registry is one object. Its name is from when it was called the fleet: stored state is found by it. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");
