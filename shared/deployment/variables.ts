// Checks the Worker's variables. Each variable that can be invalid has a line in VARIABLES.
import { parseAccessOperators } from "../protocol/access-operators.ts";
import { NAME_LIMITS, TOKEN_LIMITS } from "../protocol/limits.ts";
import { roleFault } from "../kubernetes/roles.ts";
import { dnsSubdomainErrors, labelKeyErrors } from "../kubernetes/validation.ts";
import {
  type Check,
  type Configured,
  entriesOf,
  failed,
  type DeploymentFault,
  isEmpty,
  stopping,
  textOf,
  warning,
} from "./check-result.ts";
import { type NumberVariable, numberCure } from "./numbers.ts";

/** The values of REGISTER_AGAIN, which decides whether the Worker registers a deleted Node again. */
export const REGISTER_AGAIN = ["when-silent", "always", "never"] as const;

/** The values of variables that turn a feature on or off, such as NODE_WATCH. */
const SWITCH = ["on", "off"];

/** The private addresses that may receive notifications; `loopback` is the Worker's own computer. */
export const PRIVATE_WEBHOOKS = ["off", "loopback", "on"] as const;

/** The values of PLACEMENT: Cloudflare's location hints of Durable Objects. */
export const PLACEMENTS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;

/** The values of NODE_TOPOLOGY_LABELS. With `keep`, bystanders keep a kubelet's labels of topology and platform. */
const NODE_TOPOLOGY_LABELS = ["move", "keep"];

/** The values of NODE_HINTS. With `pass-over`, bystanders have the role that the topology hints of Services ignore. */
const NODE_HINTS = ["count", "pass-over"];

/**
 * The values of FEATURES. With `labels`, Nodes get the labels of their machines' features; with `NodeFeature`, nfd-master
 * labels them by NodeFeature objects.
 */
const FEATURES = ["off", "labels", "NodeFeature"];

/** The check of each variable. Lists of settings show the variables in this order. */
export const VARIABLES = {
  DEPLOYMENT: checkDeployment,
  NODE_ROLE: checkRoles,
  NODE_TOPOLOGY_LABELS: oneOf(NODE_TOPOLOGY_LABELS),
  NODE_HINTS: oneOf(NODE_HINTS),
  NODE_UNSCHEDULABLE: oneOf(SWITCH),
  FEATURES: oneOf(FEATURES),
  NODE_FEATURE_NAMESPACE: checkNamespace,
  ORIGINS: checkOrigins,
  KUBE_URL: checkKubeUrl,
  MIN_REPORT_INTERVAL_SECONDS: (text) => checkNumber("MIN_REPORT_INTERVAL_SECONDS", text),
  MIN_STATUS_PERIOD_SECONDS: (text) => checkNumber("MIN_STATUS_PERIOD_SECONDS", text),
  MIN_LEASE_SECONDS: (text) => checkNumber("MIN_LEASE_SECONDS", text),
  MAX_IMAGES: (text) => checkNumber("MAX_IMAGES", text),
  MACHINE_REQUESTS: (text) => checkNumber("MACHINE_REQUESTS", text),
  PLACEMENT: oneOf(PLACEMENTS),
  GATEWAY_SIZE: (text) => checkNumber("GATEWAY_SIZE", text),
  SHARED_LIMITS_FACTOR: (text) => checkNumber("SHARED_LIMITS_FACTOR", text),
  REGISTER_AGAIN: oneOf(REGISTER_AGAIN),
  MARK_SILENT_NODES: checkSwitch("on"),
  REMOVE_SILENT_NODES_DAYS: (text) => checkNumber("REMOVE_SILENT_NODES_DAYS", text),
  NODE_WATCH: checkSwitch("on"),
  FAIL_STRANDED_PODS: checkSwitch("off"),
  MACHINE_METRICS: checkSwitch("on"),
  PRIVATE_WEBHOOKS: (text) =>
    text === "" || PRIVATE_WEBHOOKS.some((each) => each === text)
      ? null
      : failed(
          `it is ${JSON.stringify(text)}, and counts as off`,
          `set it to ${PRIVATE_WEBHOOKS.join(", ")}`,
        ),
  DOCS_URL: checkDocsUrl,
  USAGE_OTLP_URL: checkUsageUrl,
  USAGE_OTLP_LABELS: (keys) =>
    entriesOf(keys).every((key) => labelKeyErrors(key).length === 0)
      ? null
      : failed("it has an entry that is no key of a label", "set it to keys of labels, separated by spaces"),
  ACCESS_TEAM: checkAccessTeam,
  ACCESS_AUD: (audience, configured) =>
    isEmpty(audience) && !isEmpty(textOf(configured, "ACCESS_TEAM"))
      ? failed("it is empty, although ACCESS_TEAM is set: no operator can sign in through Access", AUD_CURE)
      : null,
  ACCESS_ADMINS: checkAccessPeople,
  ACCESS_OPERATORS: (operators, configured) => {
    const parsed = parseAccessOperators(operators);
    return parsed.ok
      ? checkAccessPeople(operators, configured)
      : failed(`${parsed.error}: of Access, only ACCESS_ADMINS can sign in`, OPERATORS_CURE);
  },
} as const satisfies Record<string, Check>;

const AUD_CURE =
  "set ACCESS_TEAM and ACCESS_AUD, or empty all of ACCESS_TEAM, ACCESS_AUD, ACCESS_ADMINS, ACCESS_OPERATORS";
const OPERATORS_CURE = 'set it to entries, separated by semicolons: "ann@example.com operator site=berlin"';

function checkAccessPeople(people: string, configured: Configured): DeploymentFault | null {
  return !isEmpty(people) && isEmpty(textOf(configured, "ACCESS_TEAM"))
    ? warning(
        "it names people, although ACCESS_TEAM is empty: no person can sign in through Access",
        AUD_CURE,
      )
    : null;
}

function checkDeployment(deployment: string): DeploymentFault | null {
  const isLabelValue = deployment.length <= NAME_LIMITS.labelValueLength;
  if (isLabelValue && dnsSubdomainErrors(deployment).length === 0) return null;
  return stopping(
    `it is ${JSON.stringify(deployment)}, which is no name of a ServiceAccount: no account could write the Nodes`,
    'set it to the name of the Worker\'s ServiceAccount: "rollcall"',
  );
}

function checkNamespace(namespace: string): DeploymentFault | null {
  if (namespace === "" || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(namespace)) return null;
  return stopping(
    `it is ${JSON.stringify(namespace)}, which is no name of a namespace`,
    'set it to a namespace: "node-feature-discovery"',
  );
}

function checkRoles(roles: string): DeploymentFault | null {
  const entries = entriesOf(roles);
  const bad = entries.find((role) => roleFault(role) !== null);
  const cure = `set it to roles such as "edge", at most ${TOKEN_LIMITS.roles} of them, separated by spaces`;
  if (bad !== undefined) return stopping(`it has ${JSON.stringify(bad)}: ${roleFault(bad)}`, cure);
  return entries.length > TOKEN_LIMITS.roles ? stopping(`it has ${entries.length} roles`, cure) : null;
}

/** Checks that each entry is an origin: machines sign requests for origins alone. */
function checkOrigins(origins: string): DeploymentFault | null {
  const entries = entriesOf(origins);
  const wrong = entries.filter((entry) => !isOrigin(entry));
  if (entries.length === 0)
    return stopping("it is empty: no machine's request can be accepted", ORIGINS_CURE);
  if (wrong.length === 0) return null;
  const message = `${wrong.map((entry) => JSON.stringify(entry)).join(", ")}: no request is signed for that`;
  return wrong.length === entries.length ? stopping(message, ORIGINS_CURE) : failed(message, ORIGINS_CURE);
}

const ORIGINS_CURE =
  "set it to the origin by which machines reach this Worker, without a path or a slash at its end: " +
  '"https://rollcall.example.com"; several are separated by spaces';

/** Returns true if `text` is an origin as URL.origin writes it, which the shim signs: https, or http on loopback. */
function isOrigin(text: string): boolean {
  const [, scheme, host = "", port] =
    /^(https?):\/\/([a-z\d.-]+|\[[\da-f:.]+\])(?::([1-9]\d{0,4}))?$/.exec(text) ?? [];
  if (scheme === undefined || port === (scheme === "https" ? "443" : "80")) return false;
  return scheme === "https" || isLoopback(host);
}

const isLoopback = (host: string) => ["127.0.0.1", "[::1]", "localhost"].includes(host);

/** Returns a check that accepts `words` and the empty text. With any other value the Worker serves no machine. */
function oneOf(words: readonly string[]): (text: string) => DeploymentFault | null {
  const cure = `set it to ${words.join(words.length > 2 ? ", " : " or ")}`;
  return (text) =>
    text === "" || words.includes(text) ? null : stopping(`it is ${JSON.stringify(text)}`, cure);
}

/** Checks the apiserver's URL. The result does not show an invalid URL, which may contain a password. */
function checkKubeUrl(url: string): DeploymentFault | null {
  if (isEmpty(url))
    return failed(
      "it is empty: machines enrol and report, and no Node is written",
      "set it to the apiserver's URL, as this Worker reaches it",
    );
  const [, scheme, host = ""] =
    /^(https?):\/\/([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?(?:\/[^\s?#@]*)?$/i.exec(url) ?? [];
  if (scheme === undefined || url.endsWith("/"))
    return failed(
      "it is not the URL of an apiserver",
      'set it without a password, a query or a slash at its end: "https://kube.example.com:6443"',
    );
  return scheme.toLowerCase() === "https" || isLoopback(host)
    ? null
    : warning("the token travels in plain text", "set it to the apiserver's https:// URL");
}

/** Checks the address of the documentation: the page links to it, so that no other scheme is accepted. */
function checkDocsUrl(url: string): DeploymentFault | null {
  return url === "" || /^https?:\/\/[^\s?#]+$/.test(url)
    ? null
    : failed(
        "it is no address of a web site: the page has no links to the documentation",
        'set it to the address of the documentation: "https://docs.example.com"',
      );
}

/** Checks the receiver of usage. A URL with a query is invalid, since the settings show the URL and not its secrets. */
function checkUsageUrl(url: string): DeploymentFault | null {
  const [, scheme, host = ""] =
    /^(https?):\/\/([\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?\/[^\s?#@]+$/.exec(url) ?? [];
  if (url !== "" && scheme === undefined)
    return failed(
      "it is not the URL of a receiver: usage is sent nowhere",
      'set it to a URL without a query: "https://otel.example.com/v1/metrics"',
    );
  return scheme !== "http" || isLoopback(host)
    ? null
    : warning("usage and the secret header travel in plain text", "set it to the receiver's https:// URL");
}

/** Returns the check of a variable that is on or off. The Worker takes every other value for `otherwise`. */
function checkSwitch(otherwise: "on" | "off"): (text: string) => DeploymentFault | null {
  return (text) =>
    text === "" || SWITCH.includes(text)
      ? null
      : failed(
          `it is ${JSON.stringify(text)}, and counts as ${otherwise}`,
          `set it to ${SWITCH.join(" or ")}`,
        );
}

function checkNumber(name: NumberVariable, text: string): DeploymentFault | null {
  const cure = numberCure(name, text);
  return cure === null ? null : stopping(`it is ${JSON.stringify(text)}`, cure);
}

function checkAccessTeam(team: string, configured: Configured): DeploymentFault | null {
  if (isEmpty(team))
    return isEmpty(textOf(configured, "ACCESS_AUD"))
      ? null
      : failed("it is empty, although ACCESS_AUD is set: no operator can sign in through Access", AUD_CURE);
  return /^[a-z\d-]+$/.test(team)
    ? null
    : failed(
        `it is ${JSON.stringify(team)}, which is no team's name`,
        "set it to the part before .cloudflareaccess.com",
      );
}
