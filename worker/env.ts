// Defines and reads the Worker's environment, with the optional bindings that wrangler's generated type lacks.
import { type Check, entriesOf, textOf } from "../shared/deployment/check-result.ts";
import { BOUND_DEFAULTS, DEFAULTS } from "../shared/deployment/defaults.ts";
import type { NumberVariable } from "../shared/deployment/numbers.ts";
import { PLACEMENTS, PRIVATE_WEBHOOKS, REGISTER_AGAIN, VARIABLES } from "../shared/deployment/variables.ts";
import type { SettingsBounds } from "../shared/from-report/within-bounds.ts";
import type { NodeMarks } from "../shared/node/own-labels.ts";
import type { Timer } from "./clock.ts";
import type { KnownCluster } from "./kube/token.ts";

type BoundVariable = keyof typeof BOUND_DEFAULTS;

/** The deleted Nodes that the Worker registers again although the machine's shim has not restarted. */
export type RegisterAgain = (typeof REGISTER_AGAIN)[number];

export interface Environment
  extends
    Omit<
      Env,
      | "DOCS_URL"
      | "FAIL_STRANDED_PODS"
      | "FAILURES"
      | "FEATURES"
      | "NODE_FEATURE_NAMESPACE"
      | "GATEWAY_SIZE"
      | "MACHINE_METRICS"
      | "MACHINE_REQUESTS"
      | "MARK_SILENT_NODES"
      | "NODE_HINTS"
      | "NODE_ROLE"
      | "NODE_TOPOLOGY_LABELS"
      | "NODE_UNSCHEDULABLE"
      | "NODE_WATCH"
      | "PLACEMENT"
      | "REGISTER_AGAIN"
      | "PRIVATE_WEBHOOKS"
      | "REMOVE_SILENT_NODES_DAYS"
      | "SHARED_LIMITS_FACTOR"
      | "USAGE_OTLP_LABELS"
      | "USAGE_OTLP_URL"
      | BoundVariable
    >,
    Partial<Record<BoundVariable, number | string>> {
  /** The address of the documentation, to which the page links. Absent or empty: no links. */
  DOCS_URL?: string;
  /** Whether the Worker fails pods that are bound to Nodes without pods: `on` or `off`, by default `off`. */
  FAIL_STRANDED_PODS?: string;
  /** What machines' features become: labels of their Nodes, NodeFeature objects, or by default (`off`) nothing. */
  FEATURES?: string;
  /** The namespace of NodeFeature objects. */
  NODE_FEATURE_NAMESPACE?: string;
  /** The number of machines whose sockets one gateway holds. 0: no machine has a socket. Absent or empty: 500. */
  GATEWAY_SIZE?: number | string;
  /** Whether GET /metrics has lines for each machine: one of MACHINE_METRICS, by default `on`. */
  MACHINE_METRICS?: string;
  /** The number of apiserver requests that one machine may cause at once, and per minute. Absent or empty: 20. */
  MACHINE_REQUESTS?: number | string;
  /** Whether the Worker sets Ready to Unknown on silent machines' Nodes without pods: `on` or `off`, by default `on`. */
  MARK_SILENT_NODES?: string;
  /** Whether topology hints of Services skip Nodes without pods: one of NODE_HINTS, by default `count`. */
  NODE_HINTS?: string;
  /** The roles of Nodes whose join token names no role, separated by spaces. Absent or empty: no role. */
  NODE_ROLE?: string;
  /** Whether Nodes without pods keep a kubelet's topology labels: one of NODE_TOPOLOGY_LABELS, by default `move`. */
  NODE_TOPOLOGY_LABELS?: string;
  /** Whether Nodes without pods are created unschedulable: `on` or `off`, by default `off`. */
  NODE_UNSCHEDULABLE?: string;
  /** Whether the Worker watches other writers' changes of Nodes: one of NODE_WATCH, by default `on`. */
  NODE_WATCH?: string;
  /** The region of new Durable Objects: one of PLACEMENTS. Absent or empty: near the request that creates the object. */
  PLACEMENT?: string;
  /** Whether notifications may go to private addresses: one of PRIVATE_WEBHOOKS, by default `off`. */
  PRIVATE_WEBHOOKS?: string;
  /** Which deleted Nodes are registered again: one of REGISTER_AGAIN, by default `when-silent`. */
  REGISTER_AGAIN?: string;
  /** The number of days of silence after which the Worker removes a machine's Node. Absent or empty: never. */
  REMOVE_SILENT_NODES_DAYS?: number | string;
  /** The factor of the limits that the machines of one join token, or of the deployment, share. Absent or empty: 1. */
  SHARED_LIMITS_FACTOR?: number | string;
  /** The URL to which gateways send the machines' usage, as OTLP. Absent or empty: it is sent nowhere. */
  USAGE_OTLP_URL?: string;
  /** The keys of the machines' labels that are sent with the usage, separated by spaces. Absent or empty: none. */
  USAGE_OTLP_LABELS?: string;
  /** A header of the requests to USAGE_OTLP_URL: `Authorization: Bearer SECRET`. */
  USAGE_OTLP_HEADER?: string;
  /** Counts failed attempts by address. Cloudflare provides this binding; workerd alone does not. */
  FAILURES?: RateLimit;
  /** The SHA-256 of the secret for the role `view`, in the form of ADMIN_SECRET_SHA256. */
  VIEW_SECRET_SHA256?: string;
  /** The SHA-256 of a separate secret for GET /metrics, in the form of ADMIN_SECRET_SHA256. */
  METRICS_SECRET_SHA256?: string;
  /** The ID of Access's service token for the apiserver. A deployment sets the ID and the secret, or neither. */
  KUBE_ACCESS_CLIENT_ID?: string;
  KUBE_ACCESS_CLIENT_SECRET?: string;
  /** A Workers VPC service, or another service binding, that reaches the apiserver at KUBE_URL. */
  KUBE?: Fetcher;
  /** The timer of an object's deadlines. Absent in the stateless Worker, whose timers end with their request. */
  timer?: Timer;
  /** Returns the isolate's knowledge of the cluster for this KUBE_TOKEN. Absent in the stateless Worker. */
  knownCluster?: (token: string) => KnownCluster;
}

/** Returns the origins for which a machine may sign a request; an empty list if ORIGINS is absent. */
export function origins({ ORIGINS }: { ORIGINS?: string }): string[] {
  return entriesOf(ORIGINS ?? "");
}

type MarkVariable = "DEPLOYMENT" | "NODE_HINTS" | "NODE_ROLE" | "NODE_TOPOLOGY_LABELS" | "NODE_UNSCHEDULABLE";

/** Returns the settings that change the form of Nodes. Throws if a variable is invalid, before any Node changes. */
export function nodeMarks(env: Pick<Environment, MarkVariable>): NodeMarks {
  return {
    deployment: checkedText("DEPLOYMENT", env.DEPLOYMENT),
    roles: entriesOf(checkedText("NODE_ROLE", env.NODE_ROLE)),
    keepsTopologyLabels: checkedText("NODE_TOPOLOGY_LABELS", env.NODE_TOPOLOGY_LABELS) === "keep",
    isPassedOver: checkedText("NODE_HINTS", env.NODE_HINTS) === "pass-over",
    isUnschedulable: checkedText("NODE_UNSCHEDULABLE", env.NODE_UNSCHEDULABLE) === "on",
  };
}

/** Returns true if machines' features become labels of their Nodes. Throws if the variable is invalid. */
export function hasFeatureLabels({ FEATURES }: Pick<Environment, "FEATURES">): boolean {
  return checkedText("FEATURES", FEATURES) === "labels";
}

/** Returns the namespace of machines' NodeFeature objects; null if there are no such objects. Throws if invalid. */
export function nodeFeatureNamespace(
  env: Pick<Environment, "FEATURES" | "NODE_FEATURE_NAMESPACE">,
): string | null {
  if (checkedText("FEATURES", env.FEATURES) !== "NodeFeature") return null;
  const namespace = checkedText("NODE_FEATURE_NAMESPACE", env.NODE_FEATURE_NAMESPACE);
  return namespace || DEFAULTS.NODE_FEATURE_NAMESPACE;
}

/** Returns how many apiserver requests one machine may cause at once, and in a minute. Throws if invalid. */
export function machineRequests({ MACHINE_REQUESTS }: Pick<Environment, "MACHINE_REQUESTS">): number {
  return wholeNumber("MACHINE_REQUESTS", MACHINE_REQUESTS, DEFAULTS.MACHINE_REQUESTS);
}

/** Returns the factor of the limits that machines of a token, and of the deployment, share. Throws if invalid. */
export function sharedLimitsFactor({
  SHARED_LIMITS_FACTOR,
}: Pick<Environment, "SHARED_LIMITS_FACTOR">): number {
  return wholeNumber("SHARED_LIMITS_FACTOR", SHARED_LIMITS_FACTOR, DEFAULTS.SHARED_LIMITS_FACTOR);
}

/** Returns the number of machines whose sockets one gateway holds; 0 if no machine has a socket. Throws if invalid. */
export function gatewaySize({ GATEWAY_SIZE }: Pick<Environment, "GATEWAY_SIZE">): number {
  return wholeNumber("GATEWAY_SIZE", GATEWAY_SIZE, DEFAULTS.GATEWAY_SIZE);
}

/** Returns which deleted Nodes are registered again. Throws if invalid. */
export function registerAgain(env: Pick<Environment, "REGISTER_AGAIN">): RegisterAgain {
  const text = checkedText("REGISTER_AGAIN", env.REGISTER_AGAIN);
  return REGISTER_AGAIN.find((each) => each === text) ?? DEFAULTS.REGISTER_AGAIN;
}

/** Returns the number of days of silence after which a machine's Node is removed; null for never. Throws if invalid. */
export function removeSilentNodesDays(env: Pick<Environment, "REMOVE_SILENT_NODES_DAYS">): number | null {
  return wholeNumber("REMOVE_SILENT_NODES_DAYS", env.REMOVE_SILENT_NODES_DAYS, 0) || null;
}

/** Returns the address of the documentation, without a slash at its end; "" if there is none, or it is invalid. */
export function docsUrl({ DOCS_URL = "" }: Pick<Environment, "DOCS_URL">): string {
  return VARIABLES.DOCS_URL(DOCS_URL) === null ? DOCS_URL.replace(/\/+$/, "") : "";
}

/** Reports whether the Worker marks silent machines' Nodes. Any value but `off` means yes. */
export function isMarkingOn({ MARK_SILENT_NODES }: Pick<Environment, "MARK_SILENT_NODES">): boolean {
  return MARK_SILENT_NODES !== "off";
}

/** Reports whether the Worker watches the Nodes. Any value but `off` means yes; GET /readyz reports an invalid value. */
export function isNodeWatchOn({ NODE_WATCH }: Pick<Environment, "NODE_WATCH">): boolean {
  return NODE_WATCH !== "off";
}

/** Reports whether the Worker fails stranded pods. Any value but `on` means no; GET /readyz reports an invalid value. */
export function failsStrandedPods({ FAIL_STRANDED_PODS }: Pick<Environment, "FAIL_STRANDED_PODS">): boolean {
  return FAIL_STRANDED_PODS === "on";
}

/** Reports whether GET /metrics has lines for each machine. Any value but `off` means yes. */
export function isMachineMetricsOn({ MACHINE_METRICS }: Pick<Environment, "MACHINE_METRICS">): boolean {
  return MACHINE_METRICS !== "off";
}

export type PrivateWebhooks = (typeof PRIVATE_WEBHOOKS)[number];

/** Returns the private addresses that webhooks may have. An invalid value allows none; GET /readyz reports it. */
export function privateWebhooks(env: Pick<Environment, "PRIVATE_WEBHOOKS">): PrivateWebhooks {
  return PRIVATE_WEBHOOKS.find((each) => each === env.PRIVATE_WEBHOOKS) ?? DEFAULTS.PRIVATE_WEBHOOKS;
}

/** Returns the deployment's bounds for the machines' settings. Throws if a variable is invalid. */
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
 * Returns the variable's text, or "" if the variable is absent. Throws the message of GET /readyz if the text is
 * invalid. For a machine's request, the configuration is checked before: the Worker then answers `not-configured`.
 */
function checkedText(name: keyof typeof VARIABLES, configured: unknown): string {
  const text = textOf({ [name]: configured }, name);
  const check: Check = VARIABLES[name];
  const fault = check(text, {});
  if (fault) throw new Error(`${name}: ${fault.message}; ${fault.cure}`);
  return text;
}

/** Returns the deployment's registry. The registry's ID comes from the name `fleet`, for historical reasons. */
export const registry = (env: Environment) => env.REGISTRY.getByName("fleet");

/** Returns the deployment's fleet index. */
export const fleetIndex = (env: Environment) => env.INDEX.getByName("index");

/** Returns the deployment's cluster object. */
export const clusterObject = (env: Environment) => env.CLUSTER.getByName("cluster");

/** Returns the gateway with this number. The registry assigns gateways to machines. */
export const gateway = (env: Environment, number: number) => env.GATEWAYS.getByName(String(number));

/** Returns an environment whose objects are created in the region PLACEMENT; `env` itself without a valid PLACEMENT. */
export function placed(env: Environment): Environment {
  const locationHint = PLACEMENTS.find((each) => each === env.PLACEMENT);
  if (!locationHint) return env;
  const own: Record<string, object> = {};
  for (const each of ["NODES", "REGISTRY", "CLUSTER", "INDEX", "GATEWAYS"] as const)
    own[each] = { getByName: (name: string) => env[each].getByName(name, { locationHint }) };
  return { ...env, ...own };
}
