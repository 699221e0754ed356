// Tests the plan of a deployment: new secrets, changes, and whether a rollback is possible.
import { expect, it, test } from "vitest";
import type { RunningVersion } from "../../../infra/deploy/wrangler-run.ts";
import { type BeforePlan, planDeployment, planText, secretsToPut } from "../../../infra/deploy/plan.ts";
import { type DeploySettings, readSettings } from "../../../infra/deploy/settings-file.ts";

const tracked = {
  vars: { NODE_ROLE: "", MAX_IMAGES: 50 },
  migrations: [
    { tag: "v1", new_sqlite_classes: ["NodeObject", "FleetObject"] },
    { tag: "v2", renamed_classes: [{ from: "FleetObject", to: "RegistryObject" }] },
    { tag: "v3", new_sqlite_classes: ["GatewayObject"] },
  ],
};

const running: RunningVersion = {
  id: "11111111-0000-4000-8000-000000000000",
  createdAt: "2026-01-01T00:00:00Z",
  message: "rollcall 0.1.0",
  contents: "0123",
  migrationTag: "v3",
  classes: ["NodeObject", "RegistryObject", "GatewayObject"],
  variables: {
    DEPLOYMENT: "rollcall",
    ORIGINS: "https://a.test",
    KUBE_URL: "https://kube.test",
    NODE_ROLE: "",
    MAX_IMAGES: "50",
  },
  secrets: ["KID_MAC_KEYS", "ADMIN_SECRET_SHA256", "KUBE_TOKEN"],
};

function settingsOf(more = "") {
  const text = `origin: https://a.test\napiserver: https://kube.test\n${more}`;
  const read = readSettings(text, "/rollcall.yaml", null);
  if (!read.ok) throw new Error(read.error.join("\n"));
  return read.value;
}

const plan = (more: Partial<BeforePlan> = {}) =>
  planDeployment({
    tracked,
    settings: settingsOf(),
    deployed: running,
    contents: "0123",
    put: [],
    isThere: () => false,
    ...more,
  });

const told = (settings: DeploySettings) => ({
  settings,
  deployed: running,
  configuration: "/p/.rollcall/deploy/default/wrangler.json",
  bundle: "/p/.rollcall/deploy/default/bundle",
  from: "/p",
  waitSeconds: 180,
  hasAdminSecret: true,
});

it("nothing is there → all migrations, all secrets, nothing to roll back to", () => {
  expect(plan({ deployed: null })).toMatchObject({
    migrations: ["v1", "v2", "v3"],
    missing: [
      { secret: "KID_MAC_KEYS", from: "made", file: "/rollcall.kid-mac-keys" },
      { secret: "ADMIN_SECRET_SHA256", from: "made" },
      { secret: "KUBE_TOKEN", from: "cluster" },
    ],
    back: null,
    changes: [],
  });
});

it("the same is there → no change, no secret, and a way back", () => {
  expect(plan({ isThere: () => true })).toEqual({
    migrations: [],
    missing: [],
    again: [],
    keptSecrets: running.secrets,
    back: running.id,
    migratesFirst: false,
    changes: [],
    keysNotIn: null,
  });
});

test.each<[situation: string, more: Partial<BeforePlan>, changes: string[]]>([
  [
    "other code",
    { contents: "4567" },
    ["~ the Worker's code, the page or its configuration (rollcall 0.1.0 runs)"],
  ],
  ["a variable", { settings: settingsOf("variables: { NODE_ROLE: edge }") }, ['~ NODE_ROLE "" → "edge"']],
  ["a number", { settings: settingsOf("variables: { MAX_IMAGES: 7 }") }, ['~ MAX_IMAGES "50" → "7"']],
  ["one that is new", { tracked: { ...tracked, vars: { ...tracked.vars, NEW: "x" } } }, ['+ NEW "x"']],
  ["one that is gone", { tracked: { ...tracked, vars: { MAX_IMAGES: 50 } } }, ['- NODE_ROLE ""']],
])("a change of %s is shown", (_, more, changes) => {
  expect(plan(more).changes).toEqual(changes);
});

test.each<[situation: string, version: Partial<RunningVersion>, migrations: string[]]>([
  ["the last migration but one", { migrationTag: "v2" }, ["v3"]],
  ["one that nobody knows", { migrationTag: "v9" }, ["v1", "v2", "v3"]],
  ["none that is said, with all classes", { migrationTag: undefined }, []],
  [
    "none that is said, with the first classes",
    { migrationTag: undefined, classes: ["NodeObject", "FleetObject"] },
    ["v2", "v3"],
  ],
])("deployed with %s → %j is to come, and with it there is no way back", (_, version, migrations) => {
  expect(plan({ deployed: { ...running, ...version } })).toMatchObject({
    migrations,
    back: migrations.length === 0 ? running.id : null,
  });
});

test.each<[situation: string, more: string, version: Partial<RunningVersion>, migratesFirst: boolean]>([
  ["classes and a variable", "variables: { NODE_ROLE: edge }", { migrationTag: "v2" }, true],
  ["classes alone", "", { migrationTag: "v2" }, false],
  ["a variable alone", "variables: { NODE_ROLE: edge }", {}, false],
])(
  "a change of %s → what may be rolled back comes after what may not: %j",
  (_, more, version, migratesFirst) => {
    const settings = settingsOf(more);
    const deployed = { ...running, ...version };
    const found = plan({ settings, deployed });
    expect(found.migratesFirst).toBe(migratesFirst);
    const text = planText({ ...told(settings), plan: found, deployed });
    expect(/migrations v3 .*, and the variables as they are/.test(text)).toBe(migratesFirst);
    expect(text.includes("roll back to the version with the migrations v3")).toBe(migratesFirst);
  },
);

it("classes, a variable, and a secret that is put → what is said of the way back names it", () => {
  const settings = settingsOf("variables: { NODE_ROLE: edge }");
  const deployed = { ...running, migrationTag: "v2" };
  const found = plan({ settings, deployed, put: ["KUBE_TOKEN"] });
  const text = planText({ ...told(settings), plan: found, deployed });
  expect(text).toMatch(/roll back to the version with the migrations v3.*; of KUBE_TOKEN what was put stays/);
});

test.each<[situation: string, secretFiles: string, secrets: string[], missing: object[]]>([
  [
    "a file for the token",
    "{ KUBE_TOKEN: t }",
    ["KID_MAC_KEYS", "ADMIN_SECRET_SHA256"],
    [{ secret: "KUBE_TOKEN", from: "file", file: "/t" }],
  ],
  [
    "a file for the keys, which is not there",
    "{ KID_MAC_KEYS: k }",
    ["KUBE_TOKEN", "ADMIN_SECRET_SHA256"],
    [{ secret: "KID_MAC_KEYS", from: "made", file: "/k" }],
  ],
  [
    "optional ones, of which one is set",
    "{ KUBE_ACCESS_CLIENT_ID: i, KUBE_ACCESS_CLIENT_SECRET: s }",
    [...running.secrets, "KUBE_ACCESS_CLIENT_ID"],
    [{ secret: "KUBE_ACCESS_CLIENT_SECRET", from: "file", file: "/s" }],
  ],
])("secrets: %s", (_, secretFiles, secrets, missing) => {
  const settings = settingsOf(`secretFiles: ${secretFiles}`);
  expect(plan({ settings, deployed: { ...running, secrets } }).missing).toEqual(missing);
});

test.each([
  ["that is named", "secretFiles: { KID_MAC_KEYS: k }", "/k"],
  ["beside the settings", "", "/rollcall.kid-mac-keys"],
])("a file for the keys %s, which is there → read, and not made again", (_, more, file) => {
  const { missing } = plan({ settings: settingsOf(more), deployed: null, isThere: () => true });
  expect(missing[0]).toEqual({ secret: "KID_MAC_KEYS", from: "file", file });
});

test.each<[situation: string, deployed: RunningVersion | null | string, message: RegExp[]]>([
  [
    "nothing",
    null,
    [
      /^Deployed now: nothing$/m,
      /nothing to roll back to$/m,
      /make the admin secret, which is shown once/,
      /make KID_MAC_KEYS, kept in \.\.\/rollcall\.kid-mac-keys \(0600\): a backup is imported only with them$/m,
    ],
  ],
  [
    "a version",
    running,
    [/^Changes: none$/m, /roll back to version 11111111/, /KUBE_TOKEN stay as they are/],
  ],
  [
    "a version whose keys are in no file",
    running,
    [
      /^The Worker's KID_MAC_KEYS are not in \.\.\/rollcall\.kid-mac-keys: .*write them there if you have them$/m,
    ],
  ],
  ["what is not known", "no network", [/not known, and taken for nothing: no network/]],
  [
    "a version without the last classes",
    { ...running, migrationTag: "v2" },
    [
      /with the migrations v3 of its classes/,
      /no way back: Cloudflare rolls back over no migration of classes \(v3\)/,
    ],
  ],
])("the plan's words where %s is deployed", (_, deployed, says) => {
  const settings = settingsOf();
  const text = planText({ ...told(settings), plan: plan({ settings, deployed }), deployed });
  for (const each of says) expect(text).toMatch(each);
});

test.each<[situation: string, more: string, put: BeforePlan["put"], missing: object, step: RegExp]>([
  [
    "the token, of which there is a file",
    "secretFiles: { KUBE_TOKEN: kube-token }",
    ["KUBE_TOKEN"],
    { secret: "KUBE_TOKEN", from: "file", file: "/kube-token" },
    / put KUBE_TOKEN again from \.\.\/kube-token$/m,
  ],
  [
    "the token, of which there is none",
    "",
    ["KUBE_TOKEN"],
    { secret: "KUBE_TOKEN", from: "cluster" },
    / put KUBE_TOKEN again: kubectl create token rollcall /,
  ],
  [
    "the admin secret",
    "adminSecretFile: admin",
    ["ADMIN_SECRET_SHA256"],
    { secret: "ADMIN_SECRET_SHA256", from: "made" },
    / kept in \.\.\/admin \(0600\), and put ADMIN_SECRET_SHA256 again$/m,
  ],
  [
    "the keys, whose file is not there: none are made in their place",
    "",
    ["KID_MAC_KEYS"],
    { secret: "KID_MAC_KEYS", from: "file", file: "/rollcall.kid-mac-keys" },
    / put KID_MAC_KEYS again from \.\.\/rollcall\.kid-mac-keys$/m,
  ],
])("--put, %s → set again, and the others are kept", (_, more, put, missing, step) => {
  const settings = settingsOf(more);
  const found = plan({ settings, put });
  const keptSecrets = running.secrets.filter((secret) => !put.some((each) => each === secret));
  const changes = put.map((secret) => `~ ${secret}, a secret`);
  expect(found).toMatchObject({ missing: [missing], again: put, keptSecrets, changes, back: running.id });
  expect(planText({ ...told(settings), plan: found })).toMatch(step);
});

it("--put of what the Worker does not have → set, as without it", () => {
  const secrets = ["KID_MAC_KEYS", "ADMIN_SECRET_SHA256"];
  expect(plan({ deployed: { ...running, secrets }, put: ["KUBE_TOKEN"] })).toEqual(
    plan({ deployed: { ...running, secrets } }),
  );
});

test.each<[situation: string, names: string[], expected: string[] | RegExp]>([
  ["none", [], []],
  [
    "one that is made, and one of a file",
    ["VIEW_SECRET_SHA256", "KUBE_TOKEN"],
    ["KUBE_TOKEN", "VIEW_SECRET_SHA256"],
  ],
  ["one twice", ["KUBE_TOKEN", "KUBE_TOKEN"], ["KUBE_TOKEN"]],
  ["what is no secret", ["KUBE_TOKEN", "KUBE_URL"], /^--put KUBE_URL: no secret .* KID_MAC_KEYS, /],
  [
    "one that is neither made nor in a file",
    ["METRICS_SECRET_SHA256"],
    /METRICS_SECRET_SHA256: .* in secretFiles$/,
  ],
])("names for --put: %s", (_, names, expected) => {
  const read = secretsToPut(names, settingsOf("secretFiles: { VIEW_SECRET_SHA256: view }"));
  if (expected instanceof RegExp) expect(read).toEqual({ ok: false, error: expect.stringMatching(expected) });
  else expect(read).toEqual({ ok: true, value: expected });
});
