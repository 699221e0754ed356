// Tests the check of a deployment's variables and secrets: the reported faults, and whether machines can be served
// with them.
import { describe, expect, it, test } from "vitest";
import { checkConfiguration, checkDeployment } from "../../../shared/deployment/configuration.ts";

const HASH = "A".repeat(43);
const KEY = "B".repeat(43);
const WELL = {
  DEPLOYMENT: "rollcall",
  NODE_ROLE: "",
  NODE_TOPOLOGY_LABELS: "move",
  NODE_HINTS: "count",
  NODE_UNSCHEDULABLE: "off",
  FEATURES: "off",
  NODE_FEATURE_NAMESPACE: "node-feature-discovery",
  ORIGINS: "https://rollcall.test",
  KUBE_URL: "https://kube.test:6443",
  MACHINE_REQUESTS: 20,
  MARK_SILENT_NODES: "on",
  REMOVE_SILENT_NODES_DAYS: "",
  MIN_REPORT_INTERVAL_SECONDS: 5,
  MIN_STATUS_PERIOD_SECONDS: 60,
  MIN_LEASE_SECONDS: 20,
  MAX_IMAGES: 50,
  PLACEMENT: "weur",
  GATEWAY_SIZE: 500,
  SHARED_LIMITS_FACTOR: 1,
  REGISTER_AGAIN: "never",
  NODE_WATCH: "on",
  FAIL_STRANDED_PODS: "off",
  MACHINE_METRICS: "off",
  PRIVATE_WEBHOOKS: "off",
  DOCS_URL: "",
  USAGE_OTLP_URL: "",
  USAGE_OTLP_LABELS: "",
  ACCESS_TEAM: "",
  ACCESS_AUD: "",
  ACCESS_ADMINS: "",
  ACCESS_OPERATORS: "",
  KID_MAC_KEYS: `1:${KEY}`,
  ADMIN_SECRET_SHA256: HASH,
  KUBE_TOKEN: "a.b.c",
};
const ACCESS = { ACCESS_TEAM: "team", ACCESS_AUD: "aud", ACCESS_ADMINS: "alice@example.com" };

const SERVICE_TOKEN = { KUBE_ACCESS_CLIENT_ID: "1.access", KUBE_ACCESS_CLIENT_SECRET: "cfast_1" };

const ROLES = Array.from({ length: 9 }, (_, i) => `role-${i}`);

/** Returns the failed checks and the warnings, each as `failed ORIGINS`. */
function faults(more: Record<string, unknown>): { faults: string[]; stopsMachines: boolean } {
  const { findings, stopsMachines } = checkConfiguration({ ...WELL, ...more });
  const faulty = findings.filter(({ state }) => state !== "ok");
  expect(faulty.filter(({ cure }) => cure === undefined)).toEqual([]);
  return { faults: faulty.map(({ state, check }) => `${state} ${check}`), stopsMachines };
}

it("all correct → ok, with the variables' values, and of each secret only whether it is set", () => {
  const { findings, stopsMachines } = checkConfiguration(WELL);
  expect(stopsMachines).toBe(false);
  expect(new Set(findings.map(({ state }) => state))).toEqual(new Set(["ok"]));
  expect(Object.fromEntries(findings.map(({ check, message }) => [check, message]))).toEqual({
    ...Object.fromEntries(Object.entries(WELL).map(([name, value]) => [name, String(value) || "not set"])),
    KID_MAC_KEYS: "set",
    ADMIN_SECRET_SHA256: "set",
    VIEW_SECRET_SHA256: "not set",
    METRICS_SECRET_SHA256: "not set",
    KUBE_TOKEN: "set",
    KUBE_ACCESS_CLIENT_ID: "not set",
    KUBE_ACCESS_CLIENT_SECRET: "not set",
    USAGE_OTLP_HEADER: "not set",
  });
});

describe("machines cannot be served with", () => {
  test.each<[situation: string, more: Record<string, unknown>, check: string]>([
    ["no deployment", { DEPLOYMENT: "" }, "DEPLOYMENT"],
    ["a deployment name that no account can have", { DEPLOYMENT: "Roll Call" }, "DEPLOYMENT"],
    ["a deployment too long for a label's value", { DEPLOYMENT: "d".repeat(64) }, "DEPLOYMENT"],
    ["a role of the control plane", { NODE_ROLE: "edge control-plane" }, "NODE_ROLE"],
    ["nine roles", { NODE_ROLE: ROLES.join(" ") }, "NODE_ROLE"],
    ["roles that are a list of JSON", { NODE_ROLE: ["edge"] }, "NODE_ROLE"],
    ["a value for deleted Nodes that is no text", { REGISTER_AGAIN: true }, "REGISTER_AGAIN"],
    ["an unknown value for deleted Nodes", { REGISTER_AGAIN: "sometimes" }, "REGISTER_AGAIN"],
    ["an unknown value for labels", { NODE_TOPOLOGY_LABELS: "Keep" }, "NODE_TOPOLOGY_LABELS"],
    ["an unknown value for hints", { NODE_HINTS: "on" }, "NODE_HINTS"],
    ["an unknown region", { PLACEMENT: "europe" }, "PLACEMENT"],
    ["an unknown value for a cordon", { NODE_UNSCHEDULABLE: "true" }, "NODE_UNSCHEDULABLE"],
    ["an unknown value for features", { FEATURES: "on" }, "FEATURES"],
    ["no origin", { ORIGINS: " " }, "ORIGINS"],
    ["a missing variable", { ORIGINS: undefined }, "ORIGINS"],
    ["an origin with a slash", { ORIGINS: "https://rollcall.test/" }, "ORIGINS"],
    ["no keys of kids", { KID_MAC_KEYS: "" }, "KID_MAC_KEYS"],
    ["a missing secret", { KID_MAC_KEYS: undefined }, "KID_MAC_KEYS"],
    ["a key without its ID", { KID_MAC_KEYS: KEY }, "KID_MAC_KEYS"],
    ["a key that is not base64url", { KID_MAC_KEYS: "1:+/+/" }, "KID_MAC_KEYS"],
    ["a key whose last character is missing", { KID_MAC_KEYS: `1:${KEY}BB` }, "KID_MAC_KEYS"],
    ["an ID with a dot, which a kid cannot contain", { KID_MAC_KEYS: `1.1:${KEY}` }, "KID_MAC_KEYS"],
    ["a second key that cannot be read", { KID_MAC_KEYS: `2:${KEY} 1` }, "KID_MAC_KEYS"],
    ["two keys of one ID", { KID_MAC_KEYS: `1:${KEY} 1:${HASH}` }, "KID_MAC_KEYS"],
    ["a bound that is no number", { MIN_LEASE_SECONDS: "20s" }, "MIN_LEASE_SECONDS"],
    ["too few requests", { MACHINE_REQUESTS: "19" }, "MACHINE_REQUESTS"],
    ["silent Nodes that are removed at once", { REMOVE_SILENT_NODES_DAYS: 0 }, "REMOVE_SILENT_NODES_DAYS"],
    [
      "silent Nodes that are removed after more than ten years",
      { REMOVE_SILENT_NODES_DAYS: "3651" },
      "REMOVE_SILENT_NODES_DAYS",
    ],
    ["too many images", { MAX_IMAGES: 1001 }, "MAX_IMAGES"],
    ["too large gateways", { GATEWAY_SIZE: 1001 }, "GATEWAY_SIZE"],
    ["gateways of a negative size", { GATEWAY_SIZE: "-1" }, "GATEWAY_SIZE"],
    ["gateways of a size that is a word", { GATEWAY_SIZE: "off" }, "GATEWAY_SIZE"],
    ["no shared limits", { SHARED_LIMITS_FACTOR: 0 }, "SHARED_LIMITS_FACTOR"],
    ["too large shared limits", { SHARED_LIMITS_FACTOR: 1001 }, "SHARED_LIMITS_FACTOR"],
  ])("%s", (_, more, check) => {
    expect(faults(more)).toEqual({ faults: [`failed ${check}`], stopsMachines: true });
  });
});

describe("machines are served with", () => {
  test.each<[situation: string, more: Record<string, unknown>, faulty: string[]]>([
    ["a deployment as long as a label's value", { DEPLOYMENT: "d".repeat(63) }, []],
    ["no value for deleted Nodes", { REGISTER_AGAIN: "" }, []],
    [
      "no values for Nodes that run no pods",
      { NODE_TOPOLOGY_LABELS: "", NODE_HINTS: "", NODE_UNSCHEDULABLE: "" },
      [],
    ],
    [
      "the other values for them",
      { NODE_TOPOLOGY_LABELS: "keep", NODE_HINTS: "pass-over", NODE_UNSCHEDULABLE: "on" },
      [],
    ],
    ["no value for the watch", { NODE_WATCH: "" }, []],
    ["a watch that is off", { NODE_WATCH: "off" }, []],
    ["an unknown value for the watch", { NODE_WATCH: "Off" }, ["failed NODE_WATCH"]],
    ["an unknown value for stranded pods", { FAIL_STRANDED_PODS: "yes" }, ["failed FAIL_STRANDED_PODS"]],
    ["no word for machines' metrics", { MACHINE_METRICS: "" }, []],
    ["another word for machines' metrics", { MACHINE_METRICS: "no" }, ["failed MACHINE_METRICS"]],
    ["receivers on this computer", { PRIVATE_WEBHOOKS: "loopback" }, []],
    ["an unknown value for private receivers", { PRIVATE_WEBHOOKS: "yes" }, ["failed PRIVATE_WEBHOOKS"]],
    ["a watch that is off by JSON", { NODE_WATCH: false }, ["failed NODE_WATCH"]],
    ["the address of the documentation", { DOCS_URL: "https://docs.example.com/rollcall/" }, []],
    ["a script in its place", { DOCS_URL: "javascript:alert(1)" }, ["failed DOCS_URL"]],
    ["a receiver of usage", { USAGE_OTLP_URL: "https://otel.example.com:4318/v1/metrics" }, []],
    ["one on this computer", { USAGE_OTLP_URL: "http://127.0.0.1:4318/v1/metrics" }, []],
    ["one without encryption", { USAGE_OTLP_URL: "http://otel.test/v1/metrics" }, ["warning USAGE_OTLP_URL"]],
    [
      "one with a password",
      { USAGE_OTLP_URL: "https://a:b@otel.test/v1/metrics" },
      ["failed USAGE_OTLP_URL"],
    ],
    ["one with a query", { USAGE_OTLP_URL: "https://otel.test/v1?key=a" }, ["failed USAGE_OTLP_URL"]],
    ["one without a path", { USAGE_OTLP_URL: "https://otel.test" }, ["failed USAGE_OTLP_URL"]],
    ["labels that are sent", { USAGE_OTLP_LABELS: "site topology.kubernetes.io/zone" }, []],
    ["an entry that is no key", { USAGE_OTLP_LABELS: "site=oslo" }, ["failed USAGE_OTLP_LABELS"]],
    ["the receiver's header", { USAGE_OTLP_HEADER: "Authorization: Bearer abc" }, []],
    ["a secret without a header", { USAGE_OTLP_HEADER: "abc" }, ["failed USAGE_OTLP_HEADER"]],
    ["a second header in it", { USAGE_OTLP_HEADER: "a: b\nc: d" }, ["failed USAGE_OTLP_HEADER"]],
    ["eight roles", { NODE_ROLE: ROLES.slice(1).join(" ") }, []],
    ["several origins, one of them invalid", { ORIGINS: "https://a.test b.test" }, ["failed ORIGINS"]],
    ["bounds that are absent or empty", { MIN_LEASE_SECONDS: undefined, MAX_IMAGES: "" }, []],
    ["bounds at their limits", { MIN_LEASE_SECONDS: 3600, MAX_IMAGES: "0", MACHINE_REQUESTS: 1e9 }, []],
    ["silent Nodes that are removed after a day", { REMOVE_SILENT_NODES_DAYS: 1 }, []],
    ["silent Nodes that are removed after ten years", { REMOVE_SILENT_NODES_DAYS: "3650" }, []],
    ["no gateways", { GATEWAY_SIZE: 0 }, []],
    ["gateways as large as they may be", { GATEWAY_SIZE: "1000" }, []],
    ["gateways of no size", { GATEWAY_SIZE: "" }, []],
    ["shared limits as large as they may be", { SHARED_LIMITS_FACTOR: "1000" }, []],
    ["no apiserver", { KUBE_URL: "" }, ["failed KUBE_URL"]],
    ["an apiserver that is no URL", { KUBE_URL: "kube.test" }, ["failed KUBE_URL"]],
    ["an apiserver with a slash at its end", { KUBE_URL: "https://kube.test/" }, ["failed KUBE_URL"]],
    ["a password in the URL", { KUBE_URL: "https://me:secret@kube.test" }, ["failed KUBE_URL"]],
    ["an apiserver behind a path", { KUBE_URL: "https://rancher.test/k8s/clusters/c-1" }, []],
    ["an apiserver on loopback, in plain text", { KUBE_URL: "http://127.0.0.1:8080" }, []],
    ["one elsewhere, in plain text", { KUBE_URL: "http://kube.test" }, ["warning KUBE_URL"]],
    ["a short key of kids", { KID_MAC_KEYS: "1:AAAA" }, ["warning KID_MAC_KEYS"]],
    ["a key of 31 bytes", { KID_MAC_KEYS: `1:${"A".repeat(42)}` }, ["warning KID_MAC_KEYS"]],
    ["a padded key", { KID_MAC_KEYS: `1:${KEY}=` }, []],
    ["no admin secret", { ADMIN_SECRET_SHA256: undefined }, ["failed ADMIN_SECRET_SHA256"]],
    ["no admin secret, and Access has admins", { ...ACCESS, ADMIN_SECRET_SHA256: "" }, []],
    ["a hash in hex", { ADMIN_SECRET_SHA256: "a".repeat(64) }, ["failed ADMIN_SECRET_SHA256"]],
    ["two hashes, while it changes", { ADMIN_SECRET_SHA256: `${HASH} ${KEY}` }, []],
    ["a metrics secret that is no hash", { METRICS_SECRET_SHA256: "x" }, ["failed METRICS_SECRET_SHA256"]],
    ["a view secret that is no hash", { VIEW_SECRET_SHA256: "secret" }, ["failed VIEW_SECRET_SHA256"]],
    ["no token", { KUBE_TOKEN: "" }, ["failed KUBE_TOKEN"]],
    ["a token with the line's end", { KUBE_TOKEN: "a.b.c\n" }, ["failed KUBE_TOKEN"]],
    ["a service token", SERVICE_TOKEN, []],
    ["half of one", { KUBE_ACCESS_CLIENT_ID: "1.access" }, ["failed KUBE_ACCESS_CLIENT_SECRET"]],
    ["the other half of one", { KUBE_ACCESS_CLIENT_SECRET: "cfast_1" }, ["failed KUBE_ACCESS_CLIENT_ID"]],
    [
      "a service token's ID with the header's name",
      { ...SERVICE_TOKEN, KUBE_ACCESS_CLIENT_ID: "CF-Access-Client-Id: 1.access" },
      ["failed KUBE_ACCESS_CLIENT_ID"],
    ],
    [
      "a service token's secret with the line's end",
      { ...SERVICE_TOKEN, KUBE_ACCESS_CLIENT_SECRET: "cfast_1\n" },
      ["failed KUBE_ACCESS_CLIENT_SECRET"],
    ],
    ["a team without an application", { ACCESS_TEAM: "team" }, ["failed ACCESS_AUD"]],
    ["an application without a team", { ACCESS_AUD: "aud" }, ["failed ACCESS_TEAM"]],
    ["a team's domain", { ...ACCESS, ACCESS_TEAM: "team.cloudflareaccess.com" }, ["failed ACCESS_TEAM"]],
    ["admins without a team", { ACCESS_ADMINS: "alice@example.com" }, ["warning ACCESS_ADMINS"]],
    ["all of Access", ACCESS, []],
    ["operators of Access", { ...ACCESS, ACCESS_OPERATORS: "a@b.c operator; *\tview site in (a, b);" }, []],
    ["operators without a team", { ACCESS_OPERATORS: "a@b.c view" }, ["warning ACCESS_OPERATORS"]],
    ["an operator without a role", { ...ACCESS, ACCESS_OPERATORS: "a@b.c" }, ["failed ACCESS_OPERATORS"]],
    ["an operator with a comma", { ...ACCESS, ACCESS_OPERATORS: "a@b.c, view" }, ["failed ACCESS_OPERATORS"]],
    [
      "an operator with no such role",
      { ...ACCESS, ACCESS_OPERATORS: "a@b.c metrics" },
      ["failed ACCESS_OPERATORS"],
    ],
    [
      "an operator twice",
      { ...ACCESS, ACCESS_OPERATORS: "a@b.c view; A@b.c admin" },
      ["failed ACCESS_OPERATORS"],
    ],
    [
      "a selector with what machines report",
      { ...ACCESS, ACCESS_OPERATORS: "a@b.c view kubernetes.io/arch=arm" },
      ["failed ACCESS_OPERATORS"],
    ],
  ])("%s", (_, more, faulty) => {
    expect(faults(more)).toEqual({ faults: faulty, stopsMachines: false });
  });
});

test.each([
  ["https://rollcall.example.com", true],
  ["https://rollcall.example.com:8443", true],
  ["https://[2001:db8::1]", true],
  ["http://127.0.0.1:8787", true],
  ["http://localhost:8787", true],
  ["http://[::1]:8787", true],
  ["http://rollcall.example.com", false],
  ["https://rollcall.example.com/", false],
  ["https://rollcall.example.com/v1", false],
  ["https://Rollcall.example.com", false],
  ["https://rollcall.example.com:443", false],
  ["http://localhost:80", false],
  ["rollcall.example.com", false],
  ["https://me@rollcall.example.com", false],
])("machines can sign for the origin %s: %s, as URL.origin writes it", (origin, expected) => {
  expect(faults({ ORIGINS: origin }).faults).toEqual(expected ? [] : ["failed ORIGINS"]);
});

it("no part of a secret is shown, whatever its fault is", () => {
  const secret = "s3cret";
  const names = [
    "KID_MAC_KEYS",
    "ADMIN_SECRET_SHA256",
    "VIEW_SECRET_SHA256",
    "METRICS_SECRET_SHA256",
    "KUBE_TOKEN",
    "KUBE_ACCESS_CLIENT_ID",
    "KUBE_ACCESS_CLIENT_SECRET",
    "USAGE_OTLP_HEADER",
  ];
  const shown = [secret, `${secret} ${secret}`, `${secret}\n`, `1:${secret}`].map((value) =>
    checkConfiguration({ ...WELL, ...Object.fromEntries(names.map((name) => [name, value])) }),
  );
  const url = checkConfiguration({ ...WELL, KUBE_URL: `https://me:${secret}@kube.test` });
  expect(JSON.stringify([...shown, url])).not.toContain(secret);
});

describe("before a deployment", () => {
  const { KID_MAC_KEYS, ADMIN_SECRET_SHA256, KUBE_TOKEN, ...variables } = WELL;
  const faulty = (...args: Parameters<typeof checkDeployment>) =>
    checkDeployment(...args).flatMap(({ check, state }) => (state === "ok" ? [] : [check]));

  test.each<[situation: string, secrets: Record<string, string>, expected: string[]]>([
    ["secrets that cannot be read back → are not checked", {}, []],
    ["new secrets, all valid", { KID_MAC_KEYS, ADMIN_SECRET_SHA256, KUBE_TOKEN }, []],
    ["a new secret that is empty", { KUBE_TOKEN: "" }, ["KUBE_TOKEN"]],
    ["half of a service token", { KUBE_ACCESS_CLIENT_ID: "1.access" }, []],
    ["a new secret that is wrong", { ADMIN_SECRET_SHA256: "admin" }, ["ADMIN_SECRET_SHA256"]],
  ])("%s", (_, secrets, expected) => {
    expect(faulty(variables, secrets)).toEqual(expected);
  });

  it("variables → all of them", () => {
    expect(faulty({ ...variables, ORIGINS: "", MAX_IMAGES: "all" }, {})).toEqual(["ORIGINS", "MAX_IMAGES"]);
  });
});
