// The Worker's environment: the optional bindings, which wrangler's generated type lacks, and how variables and
// bindings are read. Reads no request.

export interface Environment extends Omit<Env, "FAILURES" | "MACHINE_REQUESTS"> {
  /** Requests to the apiserver that one machine may cause at once, and in a minute. Absent or empty: 20. */
  MACHINE_REQUESTS?: number | string;
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

/** Fewer would not carry a registration and its events. */
const LEAST_MACHINE_REQUESTS = 20;

/** How many requests to the apiserver one machine may cause at once, and in a minute. Throws where it is no such number. */
export function machineRequests({ MACHINE_REQUESTS = "" }: Pick<Environment, "MACHINE_REQUESTS">): number {
  const text = String(MACHINE_REQUESTS);
  if (text === "") return LEAST_MACHINE_REQUESTS;
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (count >= LEAST_MACHINE_REQUESTS && count <= 1e9) return count;
  throw new Error(
    `MACHINE_REQUESTS is ${JSON.stringify(text)}: set it to a whole number from 20 to 1000000000`,
  );
}

/** The registry is one object. It keeps its former name, `fleet`, by which its stored state is found. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");
