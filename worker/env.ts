// The Worker's environment: the optional bindings, which wrangler's generated type lacks, and how variables and
// bindings are read. Reads no request.

export interface Environment extends Omit<Env, "FAILURES"> {
  /** Counts failed attempts by address. Cloudflare provides it, workerd by itself does not. */
  FAILURES?: RateLimit;
  /** SHA-256 of the secret for the role view, in the form of ADMIN_SECRET_SHA256. */
  VIEW_SECRET_SHA256?: string;
  /** Workers VPC service (or any service binding) that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
}

/** The origins that a request may be signed for. */
export function origins(env: Environment): string[] {
  return env.ORIGINS.split(/\s+/).filter((origin) => origin !== "");
}

/** The registry is one object. It keeps its former name, `fleet`, by which its stored state is found. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");
