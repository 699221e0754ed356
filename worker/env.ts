// The Worker's environment: the optional bindings, which wrangler's generated type lacks, and how variables and
// bindings are read. Reads no request.
import { entriesOf } from "../shared/deployment/check-result.ts";
import { NUMBER_RANGES, type NumberVariable, readNumber } from "../shared/deployment/numbers.ts";
import { REGISTER_AGAIN } from "../shared/deployment/variables.ts";
import type { SettingsBounds } from "../shared/from-report/within-bounds.ts";
import { roleFault } from "../shared/kubernetes/roles.ts";
import type { NodeMarks } from "../shared/node/own-labels.ts";
import { validateNodeName } from "../shared/node/node-name.ts";
import { NAME_LIMITS, TOKEN_LIMITS } from "../shared/protocol/limits.ts";

/** Bounds of machines' settings. Absent or empty: the default, which is safe for an apiserver that others need as well. */
const DEFAULTS = {
  /** Half of the kubelet's 10 s: each report renews the lease, which is a write of etcd. */
  MIN_REPORT_INTERVAL_SECONDS: 5,
  /** A fifth of the kubelet's 5 min: each period writes the whole Node. */
  MIN_STATUS_PERIOD_SECONDS: 60,
  /** Half of the kubelet's 40 s: four reports at their least interval. */
  MIN_LEASE_SECONDS: 20,
  /**
   * The kubelet's own default. Of MAX_IMAGE_BYTES each may take 800 bytes, some four times what an image with a tag and
   * a digest takes: so it is the number that bounds an honest machine's list, and the bytes only bound a hostile one's.
   */
  MAX_IMAGES: 50,
} as const satisfies Partial<Record<NumberVariable, number>>;
type BoundVariable = keyof typeof DEFAULTS;

/** Which Nodes that somebody deleted are registered again by the same process of the shim. */
export type RegisterAgain = (typeof REGISTER_AGAIN)[number];

export interface Environment
  extends
    Omit<Env, "FAILURES" | "MACHINE_REQUESTS" | "NODE_ROLE" | "REGISTER_AGAIN" | BoundVariable>,
    Partial<Record<BoundVariable, number | string>> {
  /** Requests to the apiserver that one machine may cause at once, and in a minute. Absent or empty: 20. */
  MACHINE_REQUESTS?: number | string;
  /** The roles of all Nodes whose join token names none, separated by spaces. Absent or empty: none. */
  NODE_ROLE?: string;
  /** One of REGISTER_AGAIN. Absent or empty: `when-silent`. */
  REGISTER_AGAIN?: string;
  /** Counts failed attempts by address. Cloudflare provides it, workerd by itself does not. */
  FAILURES?: RateLimit;
  /** SHA-256 of the secret for the role view, in the form of ADMIN_SECRET_SHA256. */
  VIEW_SECRET_SHA256?: string;
  /** Workers VPC service (or any service binding) that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
}

/** The origins that a request may be signed for; none where the variable is absent. */
export function origins({ ORIGINS }: { ORIGINS?: string }): string[] {
  return entriesOf(ORIGINS ?? "");
}

/** Throws where DEPLOYMENT cannot be an account's name and a label's value, or where NODE_ROLE cannot be roles. */
export function nodeMarks(env: Pick<Environment, "DEPLOYMENT" | "NODE_ROLE">): NodeMarks {
  const { DEPLOYMENT: deployment, NODE_ROLE = "" } = env;
  const most = NAME_LIMITS.labelValueLength;
  if (deployment.length > most || validateNodeName(deployment).length > 0) {
    throw new Error(
      `DEPLOYMENT is ${JSON.stringify(deployment)}: set it to the name of a ServiceAccount, of at most ${most} characters`,
    );
  }
  const roles = NODE_ROLE.split(/\s+/).filter((role) => role !== "");
  const bad = roles.find((role) => roleFault(role) !== null);
  if (bad !== undefined) {
    throw new Error(
      `NODE_ROLE has ${JSON.stringify(bad)}: ${roleFault(bad)}; set it to roles such as "edge"`,
    );
  }
  if (roles.length > TOKEN_LIMITS.roles) {
    throw new Error(`NODE_ROLE has ${roles.length} roles: set it to at most ${TOKEN_LIMITS.roles}`);
  }
  return { deployment, roles };
}

/** The default as well. */
export const LEAST_MACHINE_REQUESTS = NUMBER_RANGES.MACHINE_REQUESTS[0];

/** How many requests to the apiserver one machine may cause at once, and in a minute. Throws where it is no such number. */
export function machineRequests({ MACHINE_REQUESTS }: Pick<Environment, "MACHINE_REQUESTS">): number {
  return wholeNumber("MACHINE_REQUESTS", MACHINE_REQUESTS, LEAST_MACHINE_REQUESTS);
}

/** Which deleted Nodes are registered again. Throws where it is none of the three words. */
export function registerAgain({
  REGISTER_AGAIN: text = "",
}: Pick<Environment, "REGISTER_AGAIN">): RegisterAgain {
  if (text === "") return "when-silent";
  const found = REGISTER_AGAIN.find((each) => each === text);
  if (found === undefined)
    throw new Error(`REGISTER_AGAIN is ${JSON.stringify(text)}: set it to when-silent, always or never`);
  return found;
}

/** How far machines' settings may go. Throws where a variable is no number within its limits. */
export function settingsBounds(env: Pick<Environment, BoundVariable>): SettingsBounds {
  return {
    minReportIntervalMs: 1000 * boundOf(env, "MIN_REPORT_INTERVAL_SECONDS"),
    minStatusPeriodMs: 1000 * boundOf(env, "MIN_STATUS_PERIOD_SECONDS"),
    minLeaseSeconds: boundOf(env, "MIN_LEASE_SECONDS"),
    maxImages: boundOf(env, "MAX_IMAGES"),
  };
}

function boundOf(env: Pick<Environment, BoundVariable>, name: BoundVariable): number {
  return wholeNumber(name, env[name], DEFAULTS[name]);
}

/** Machines are answered that the Worker is not configured before anything is read that could throw here. */
function wholeNumber(
  name: NumberVariable,
  configured: number | string | undefined,
  byDefault: number,
): number {
  const text = String(configured ?? "");
  const read = readNumber(name, text);
  if (!read.ok) throw new Error(`${name} is ${JSON.stringify(text)}: ${read.error}`);
  return read.value ?? byDefault;
}

/** The registry is one object. It keeps its former name, `fleet`, by which its stored state is found. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");

/** The deployment's one object that keeps what is known of its cluster. */
export const clusterObject = (env: Environment) => env.CLUSTER.getByName("cluster");
