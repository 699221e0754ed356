// The Worker's environment: the optional bindings, which wrangler's generated type lacks, and functions that read variables
// and bindings.
import { type Check, entriesOf, textOf } from "../shared/deployment/check-result.ts";
import { BOUND_DEFAULTS, DEFAULTS } from "../shared/deployment/defaults.ts";
import type { NumberVariable } from "../shared/deployment/numbers.ts";
import { PRIVATE_WEBHOOKS, REGISTER_AGAIN, VARIABLES } from "../shared/deployment/variables.ts";
import type { SettingsBounds } from "../shared/from-report/within-bounds.ts";
import type { NodeMarks } from "../shared/node/own-labels.ts";

type BoundVariable = keyof typeof BOUND_DEFAULTS;

/** When a deleted Node is registered again by the same process of the shim. */
export type RegisterAgain = (typeof REGISTER_AGAIN)[number];

export interface Environment
  extends
    Omit<
      Env,
      | "FAILURES"
      | "GATEWAY_SIZE"
      | "MACHINE_METRICS"
      | "MACHINE_REQUESTS"
      | "NODE_HINTS"
      | "NODE_ROLE"
      | "NODE_TOPOLOGY_LABELS"
      | "NODE_UNSCHEDULABLE"
      | "NODE_WATCH"
      | "REGISTER_AGAIN"
      | "PRIVATE_WEBHOOKS"
      | "REMOVE_SILENT_NODES_DAYS"
      | BoundVariable
    >,
    Partial<Record<BoundVariable, number | string>> {
  /** Number of machines whose sockets a gateway holds; 0: no machine has a socket. Absent or empty: 500. */
  GATEWAY_SIZE?: number | string;
  /** One of MACHINE_METRICS. Absent or empty: `on`. */
  MACHINE_METRICS?: string;
  /** Requests to the apiserver that one machine may cause at once, and in a minute. Absent or empty: 20. */
  MACHINE_REQUESTS?: number | string;
  /** One of NODE_HINTS. Absent or empty: `count`. */
  NODE_HINTS?: string;
  /** The roles of all Nodes whose join token names none, separated by spaces. Absent or empty: none. */
  NODE_ROLE?: string;
  /** One of NODE_TOPOLOGY_LABELS. Absent or empty: `move`. */
  NODE_TOPOLOGY_LABELS?: string;
  /** `on` or `off`. Absent or empty: `off`. */
  NODE_UNSCHEDULABLE?: string;
  /** One of NODE_WATCH. Absent or empty: `on`. */
  NODE_WATCH?: string;
  /** One of PRIVATE_WEBHOOKS. Absent or empty: `off`. */
  PRIVATE_WEBHOOKS?: string;
  /** One of REGISTER_AGAIN. Absent or empty: `when-silent`. */
  REGISTER_AGAIN?: string;
  /** Days of silence after which a machine's Node is removed. Absent or empty: never. */
  REMOVE_SILENT_NODES_DAYS?: number | string;
  /** Counts failed attempts by address. Cloudflare provides it; workerd alone does not. */
  FAILURES?: RateLimit;
  /** SHA-256 of the secret for the role `view`, in the form of ADMIN_SECRET_SHA256. */
  VIEW_SECRET_SHA256?: string;
  /** SHA-256 of another secret for GET /metrics, in the form of ADMIN_SECRET_SHA256. */
  METRICS_SECRET_SHA256?: string;
  /** Cloudflare Access's service token for requests to the apiserver. Both, or none. */
  KUBE_ACCESS_CLIENT_ID?: string;
  KUBE_ACCESS_CLIENT_SECRET?: string;
  /** Workers VPC service (or any service binding) that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
}

/** Returns the origins that a request may be signed for; none if the variable is absent. */
export function origins({ ORIGINS }: { ORIGINS?: string }): string[] {
  return entriesOf(ORIGINS ?? "");
}

type MarkVariable = "DEPLOYMENT" | "NODE_HINTS" | "NODE_ROLE" | "NODE_TOPOLOGY_LABELS" | "NODE_UNSCHEDULABLE";

/** Throws if a variable is invalid: a misspelt word must not change the Nodes' form. */
export function nodeMarks(env: Pick<Environment, MarkVariable>): NodeMarks {
  return {
    deployment: checkedText("DEPLOYMENT", env.DEPLOYMENT),
    roles: entriesOf(checkedText("NODE_ROLE", env.NODE_ROLE)),
    keepsTopologyLabels: checkedText("NODE_TOPOLOGY_LABELS", env.NODE_TOPOLOGY_LABELS) === "keep",
    isPassedOver: checkedText("NODE_HINTS", env.NODE_HINTS) === "pass-over",
    isUnschedulable: checkedText("NODE_UNSCHEDULABLE", env.NODE_UNSCHEDULABLE) === "on",
  };
}

/** Returns how many requests to the apiserver one machine may cause at once, and in a minute. Throws if invalid. */
export function machineRequests({ MACHINE_REQUESTS }: Pick<Environment, "MACHINE_REQUESTS">): number {
  return wholeNumber("MACHINE_REQUESTS", MACHINE_REQUESTS, DEFAULTS.MACHINE_REQUESTS);
}

/** Returns how many machines' sockets a gateway holds; 0 if there are no sockets. Throws if invalid. */
export function gatewaySize({ GATEWAY_SIZE }: Pick<Environment, "GATEWAY_SIZE">): number {
  return wholeNumber("GATEWAY_SIZE", GATEWAY_SIZE, DEFAULTS.GATEWAY_SIZE);
}

/** Returns which deleted Nodes are registered again. Throws if invalid. */
export function registerAgain(env: Pick<Environment, "REGISTER_AGAIN">): RegisterAgain {
  const text = checkedText("REGISTER_AGAIN", env.REGISTER_AGAIN);
  return REGISTER_AGAIN.find((each) => each === text) ?? DEFAULTS.REGISTER_AGAIN;
}

/** Returns the days of silence after which a machine's Node is removed; null: never. Throws if invalid. */
export function removeSilentNodesDays(env: Pick<Environment, "REMOVE_SILENT_NODES_DAYS">): number | null {
  return wholeNumber("REMOVE_SILENT_NODES_DAYS", env.REMOVE_SILENT_NODES_DAYS, 0) || null;
}

/** Returns whether the Nodes are watched. Any value but `off` means yes; GET /readyz reports an invalid one. */
export function isNodeWatchOn({ NODE_WATCH }: Pick<Environment, "NODE_WATCH">): boolean {
  return NODE_WATCH !== "off";
}

/** Returns whether GET /metrics has lines for each machine. Any value but `off` means yes. */
export function isMachineMetricsOn({ MACHINE_METRICS }: Pick<Environment, "MACHINE_METRICS">): boolean {
  return MACHINE_METRICS !== "off";
}

export type PrivateWebhooks = (typeof PRIVATE_WEBHOOKS)[number];

/** Returns which private addresses receivers may have. An invalid value allows none; GET /readyz reports it. */
export function privateWebhooks(env: Pick<Environment, "PRIVATE_WEBHOOKS">): PrivateWebhooks {
  return PRIVATE_WEBHOOKS.find((each) => each === env.PRIVATE_WEBHOOKS) ?? DEFAULTS.PRIVATE_WEBHOOKS;
}

/** Returns the bounds of machines' settings. Throws if a variable is invalid. */
export function settingsBounds(env: Pick<Environment, BoundVariable>): SettingsBounds {
  return {
    minReportIntervalMs: 1000 * boundOf(env, "MIN_REPORT_INTERVAL_SECONDS"),
    minStatusPeriodMs: 1000 * boundOf(env, "MIN_STATUS_PERIOD_SECONDS"),
    minLeaseSeconds: boundOf(env, "MIN_LEASE_SECONDS"),
    maxImages: boundOf(env, "MAX_IMAGES"),
  };
}

function boundOf(env: Pick<Environment, BoundVariable>, name: BoundVariable): number {
  return wholeNumber(name, env[name], BOUND_DEFAULTS[name]);
}

function wholeNumber(name: NumberVariable, configured: unknown, byDefault: number): number {
  const text = checkedText(name, configured);
  return text === "" ? byDefault : Number(text);
}

/**
 * Returns the variable's text, or "" if it is absent. Throws GET /readyz's message if it is invalid. A machine's request is
 * answered `not-configured` before this function can throw.
 */
function checkedText(name: keyof typeof VARIABLES, configured: unknown): string {
  const text = textOf({ [name]: configured }, name);
  const check: Check = VARIABLES[name];
  const fault = check(text, {});
  if (fault) throw new Error(`${name}: ${fault.message}; ${fault.cure}`);
  return text;
}

/** The deployment's registry. Its stored state has the name `fleet`, for historical reasons. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");

/** The deployment's fleet index. */
export const fleetIndex = (env: Environment) => env.INDEX.getByName("index");

/** The deployment's cluster object. */
export const clusterObject = (env: Environment) => env.CLUSTER.getByName("cluster");

/** The gateway with this number. The registry assigns gateways to machines. */
export const gateway = (env: Environment, number: number) => env.GATEWAYS.getByName(String(number));
