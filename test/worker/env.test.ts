// Tests how variables and bindings of the Worker are read.
import { env } from "cloudflare:workers";
import { describe, expect, it, test } from "vitest";
import {
  docsUrl,
  type Environment,
  gateway,
  gatewaySize,
  hasFeatureLabels,
  isMachineMetricsOn,
  isNodeWatchOn,
  privateWebhooks,
  machineRequests,
  placed,
  nodeFeatureNamespace,
  nodeMarks,
  origins,
  registerAgain,
  registry,
  removeSilentNodesDays,
  settingsBounds,
} from "../../worker/env.ts";

describe("PLACEMENT", () => {
  /** Returns the environment, and the calls of its namespaces. */
  function environment(placement: string | undefined) {
    const asked: unknown[] = [];
    const of = (kind: string) => ({ getByName: (...args: unknown[]) => asked.push([kind, ...args]) });
    const kinds = ["NODES", "REGISTRY", "CLUSTER", "INDEX", "GATEWAYS"] as const;
    const namespaces = Object.fromEntries(kinds.map((kind) => [kind, of(kind)]));
    const made = { DEPLOYMENT: "rollcall", ...(placement !== undefined && { PLACEMENT: placement }) };
    return { asked, kinds, own: { ...made, ...namespaces } as unknown as Environment };
  }

  it("a region → the hint of each object; the other variables stay", () => {
    const { asked, kinds, own } = environment("weur");
    const env = placed(own);
    for (const kind of kinds) env[kind].getByName("a");
    expect(asked).toEqual(kinds.map((kind) => [kind, "a", { locationHint: "weur" }]));
    expect(env.DEPLOYMENT).toBe("rollcall");
  });

  it.each([undefined, "", "europe"])("%j → no hint", (placement) => {
    const { own } = environment(placement);
    expect(placed(own)).toBe(own);
  });
});

it.each([
  [undefined, false],
  ["", false],
  ["off", false],
  ["labels", true],
  ["NodeFeature", false],
])("FEATURES %j → labels of features: %j", (configured, expected) => {
  expect(hasFeatureLabels(configured === undefined ? {} : { FEATURES: configured })).toBe(expected);
});

it.each([
  ["labels", "nfd", null],
  ["NodeFeature", "nfd", "nfd"],
  ["NodeFeature", "", "node-feature-discovery"],
])("FEATURES %j, NODE_FEATURE_NAMESPACE %j → objects in %j", (FEATURES, NODE_FEATURE_NAMESPACE, expected) => {
  expect(nodeFeatureNamespace({ FEATURES, NODE_FEATURE_NAMESPACE })).toBe(expected);
});

it("FEATURES with another value → says what it has to be", () => {
  expect(() => hasFeatureLabels({ FEATURES: "on" })).toThrow(
    'FEATURES: it is "on"; set it to off, labels, NodeFeature',
  );
});

it("the registry is always the object of one name: another name would be an empty registry", () => {
  expect(registry(env).id.equals(env.REGISTRY.idFromName("fleet"))).toBe(true);
});

it.each([
  ["none", "", []],
  ["one", "https://a.test", ["https://a.test"]],
  [
    "several, however they are spaced",
    " https://a.test\n  https://b.test ",
    ["https://a.test", "https://b.test"],
  ],
])("ORIGINS with %s → %j", (_, configured, expected) => {
  expect(origins({ ...env, ORIGINS: configured })).toEqual(expected);
});

it.each<[string | number | undefined, number]>([
  [undefined, 20],
  ["", 20],
  [20, 20],
  ["21", 21],
  ["1000000000", 1e9],
])("MACHINE_REQUESTS %j → %d", (configured, expected) => {
  expect(machineRequests(configured === undefined ? {} : { MACHINE_REQUESTS: configured })).toBe(expected);
});

it.each(["19", "1000000001", "-20", "20.5", "many", " 20"])(
  "MACHINE_REQUESTS %j → says what it has to be",
  (text) => {
    expect(() => machineRequests({ MACHINE_REQUESTS: text })).toThrow(
      `MACHINE_REQUESTS: it is "${text}"; set it to a whole number from 20 to 1000000000`,
    );
  },
);

it("a gateway is the object of its number", () => {
  expect(gateway(env, 7).id.equals(env.GATEWAYS.idFromName("7"))).toBe(true);
});

it.each<[string | number | undefined, number]>([
  [undefined, 500],
  ["", 500],
  [env.GATEWAY_SIZE, 500],
  [0, 0],
  ["1000", 1000],
])("GATEWAY_SIZE %j → %d", (configured, expected) => {
  expect(gatewaySize(configured === undefined ? {} : { GATEWAY_SIZE: configured })).toBe(expected);
});

it.each(["-1", "1001", "0.5", "off"])("GATEWAY_SIZE %j → says what it has to be", (text) => {
  expect(() => gatewaySize({ GATEWAY_SIZE: text })).toThrow(
    `GATEWAY_SIZE: it is "${text}"; set it to a whole number from 0 to 1000`,
  );
});

it.each<[string | number | undefined, number | null]>([
  [undefined, null],
  ["", null],
  [1, 1],
  ["3650", 3650],
])("REMOVE_SILENT_NODES_DAYS %j → %j", (configured, expected) => {
  const variables = configured === undefined ? {} : { REMOVE_SILENT_NODES_DAYS: configured };
  expect(removeSilentNodesDays(variables)).toBe(expected);
});

describe("the limits of machines' settings", () => {
  const safe = { minReportIntervalMs: 5000, minStatusPeriodMs: 60_000, minLeaseSeconds: 20, maxImages: 50 };
  test.each([
    ["absent", {}],
    [
      "empty",
      {
        MIN_REPORT_INTERVAL_SECONDS: "",
        MIN_STATUS_PERIOD_SECONDS: "",
        MIN_LEASE_SECONDS: "",
        MAX_IMAGES: "",
      },
    ],
    ["as wrangler.toml has them", env],
  ])("%s → the safe ones", (_, configured) => {
    expect(settingsBounds(configured)).toEqual(safe);
  });

  test.each<[variable: string, least: number, most: number, bound: keyof typeof safe, unit: number]>([
    ["MIN_REPORT_INTERVAL_SECONDS", 1, 900, "minReportIntervalMs", 1000],
    ["MIN_STATUS_PERIOD_SECONDS", 1, 86_400, "minStatusPeriodMs", 1000],
    ["MIN_LEASE_SECONDS", 1, 3600, "minLeaseSeconds", 1],
    ["MAX_IMAGES", 0, 1000, "maxImages", 1],
  ])(
    "%s: from %i to %i, a number or its text; else an error that says so",
    (variable, least, most, bound, unit) => {
      for (const value of [least, most, String(most)])
        expect(settingsBounds({ [variable]: value })).toEqual({ ...safe, [bound]: Number(value) * unit });
      for (const value of [least - 1, most + 1, 1.5, "5s", " 5", "0x10", "1e2"])
        expect(() => settingsBounds({ [variable]: value })).toThrow(
          `${variable}: it is ${JSON.stringify(String(value))}; set it to a whole number from ${least} to ${most}`,
        );
    },
  );
});

describe("what a deployment writes on its Nodes", () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `r${at}`);
  test.each<[configured: object, expected: object]>([
    [{}, { deployment: "rollcall", roles: [] }],
    [{ NODE_ROLE: " \n" }, { deployment: "rollcall", roles: [] }],
    [{ NODE_ROLE: "edge" }, { deployment: "rollcall", roles: ["edge"] }],
    [{ NODE_ROLE: many(8).join("  ") }, { deployment: "rollcall", roles: many(8) }],
    [{ NODE_ROLE: "x".repeat(63) }, { deployment: "rollcall", roles: ["x".repeat(63)] }],
    [{ NODE_ROLE: 7 }, { deployment: "rollcall", roles: ["7"] }],
    [{ DEPLOYMENT: "east.7-a" }, { deployment: "east.7-a", roles: [] }],
    [{ DEPLOYMENT: "x".repeat(63) }, { deployment: "x".repeat(63), roles: [] }],
    [{ NODE_TOPOLOGY_LABELS: "keep" }, { deployment: "rollcall", roles: [], keepsTopologyLabels: true }],
    [{ NODE_HINTS: "pass-over" }, { deployment: "rollcall", roles: [], isPassedOver: true }],
    [{ NODE_UNSCHEDULABLE: "on" }, { deployment: "rollcall", roles: [], isUnschedulable: true }],
  ])("%j → %j", (configured, expected) => {
    const plain = { keepsTopologyLabels: false, isPassedOver: false, isUnschedulable: false };
    expect(nodeMarks({ DEPLOYMENT: "rollcall", ...configured })).toEqual({ ...plain, ...expected });
  });

  const isNoAccount = (text: string) =>
    `DEPLOYMENT: it is "${text}", which is no name of a ServiceAccount: no account could write the Nodes; ` +
    'set it to the name of the Worker\'s ServiceAccount: "rollcall"';
  const ROLES = 'set it to roles such as "edge", at most 8 of them, separated by spaces';
  test.each<[configured: object, error: string]>([
    [{ DEPLOYMENT: "" }, isNoAccount("")],
    [{ DEPLOYMENT: "East" }, isNoAccount("East")],
    [{ DEPLOYMENT: "x".repeat(64) }, isNoAccount("x".repeat(64))],
    [
      { NODE_ROLE: "edge control-plane" },
      `NODE_ROLE: it has "control-plane": a role of the control plane; ${ROLES}`,
    ],
    [{ NODE_ROLE: "edge,shop" }, `NODE_ROLE: it has "edge,shop": not a role's name; ${ROLES}`],
    [{ NODE_ROLE: "x".repeat(64) }, "not a role's name"],
    [{ NODE_ROLE: many(9).join(" ") }, `NODE_ROLE: it has 9 roles; ${ROLES}`],
    [{ NODE_TOPOLOGY_LABELS: "no" }, 'NODE_TOPOLOGY_LABELS: it is "no"; set it to move or keep'],
  ])("%j → says what it has to be", (configured, error) => {
    expect(() => nodeMarks({ DEPLOYMENT: "rollcall", ...configured })).toThrow(error);
  });
});

describe("REGISTER_AGAIN", () => {
  it.each([
    [undefined, "when-silent"],
    ["", "when-silent"],
    [env.REGISTER_AGAIN, "when-silent"],
    ["always", "always"],
    ["never", "never"],
  ])("%j → %s", (configured, expected) => {
    expect(registerAgain(configured === undefined ? {} : { REGISTER_AGAIN: configured })).toBe(expected);
  });

  it.each(["Always", " never", "true", "when-silent,always"])("%j → says what it has to be", (text) => {
    expect(() => registerAgain({ REGISTER_AGAIN: text })).toThrow(
      `REGISTER_AGAIN: it is ${JSON.stringify(text)}; set it to when-silent, always, never`,
    );
  });
});

describe("NODE_WATCH and MACHINE_METRICS", () => {
  it.each([
    [undefined, true],
    ["", true],
    ["on", true],
    ["off", false],
    ["Off", true],
  ])("%j → on: %s; what is wrong with it, the check of the configuration says", (configured, expected) => {
    expect(isNodeWatchOn(configured === undefined ? {} : { NODE_WATCH: configured })).toBe(expected);
    const metrics = configured === undefined ? {} : { MACHINE_METRICS: configured };
    expect(isMachineMetricsOn(metrics)).toBe(expected);
  });
});

test.each([
  [undefined, ""],
  ["https://docs.example.com/rollcall/", "https://docs.example.com/rollcall"],
  ["javascript:alert(1)", ""],
])("DOCS_URL %j → the page links to %j", (configured, expected) => {
  expect(docsUrl(configured === undefined ? {} : { DOCS_URL: configured })).toBe(expected);
});

describe("PRIVATE_WEBHOOKS", () => {
  it.each([
    [undefined, "off"],
    ["", "off"],
    ["loopback", "loopback"],
    ["on", "on"],
    ["On", "off"],
    ["true", "off"],
  ])("%j → %s; what is wrong with it, the check of the configuration says", (configured, expected) => {
    expect(privateWebhooks(configured === undefined ? {} : { PRIVATE_WEBHOOKS: configured })).toBe(expected);
  });
});
