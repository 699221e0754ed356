// Tests a settings file: the resulting settings of each environment, and the errors for an unusable file.
import { describe, expect, it, test } from "vitest";
import { readSettings, SETTINGS_KEYS, settingsWithoutFaults } from "../../../infra/deploy/settings-file.ts";
import { pages } from "../../house/markdown.ts";

const read = (text: string, environment: string | null = null) =>
  readSettings(text, "/etc/rollcall/rollcall.yaml", environment);
const faultsOf = (text: string, environment: string | null = null) => {
  const settings = read(text, environment);
  return settings.ok ? [] : settings.error.map((line) => line.replace("/etc/rollcall/rollcall.yaml: ", ""));
};

const LEAST = "origin: https://rollcall.test\napiserver: https://kube.test\n";
const TWO = `${LEAST}name: shops
adminSecretFile: admin-secret
variables: { NODE_ROLE: edge, MAX_IMAGES: 10 }
environments:
  staging:
    origin: [https://a.test, https://b.test]
    deployment: staging
    variables: { NODE_ROLE: edge staging }
    secretFiles: { KUBE_TOKEN: ../kube-token }
`;

it("two lines → the rest has its default", () => {
  expect(read(LEAST)).toEqual({
    ok: true,
    value: {
      environment: null,
      worker: "rollcall",
      deployment: "rollcall",
      origins: ["https://rollcall.test"],
      apiserver: "https://kube.test",
      secretFiles: { KID_MAC_KEYS: "/etc/rollcall/rollcall.kid-mac-keys" },
      variables: {},
    },
  });
});

describe("an environment", () => {
  it("says what is other than above it; name, origin and secrets are its own", () => {
    expect(read(TWO, "staging")).toMatchObject({
      value: {
        environment: "staging",
        worker: "shops-staging",
        deployment: "staging",
        origins: ["https://a.test", "https://b.test"],
        apiserver: "https://kube.test",
        adminSecretFile: undefined,
        secretFiles: {
          KID_MAC_KEYS: "/etc/rollcall/rollcall.staging.kid-mac-keys",
          KUBE_TOKEN: "/etc/kube-token",
        },
        variables: { NODE_ROLE: "edge staging", MAX_IMAGES: 10 },
      },
    });
  });

  it("that is not named → what stands above them, with paths from where the file is", () => {
    expect(read(TWO)).toMatchObject({
      value: {
        worker: "shops",
        adminSecretFile: "/etc/rollcall/admin-secret",
        secretFiles: { KID_MAC_KEYS: "/etc/rollcall/rollcall.kid-mac-keys" },
      },
    });
  });
});

test.each<[situation: string, text: string, environment: string | null, faults: string[]]>([
  [
    "a key that is unknown",
    `${LEAST}orign: x\n`,
    null,
    [`orign: not known; the keys are ${SETTINGS_KEYS.join(", ")}`],
  ],
  [
    "all that is wrong, at once",
    "origin: 7\nname: Shops!\n",
    null,
    [
      "origin: write the origin by which machines reach the Worker: https://rollcall.example.com; several as a list",
      "name: write the Worker's name at Cloudflare, of a to z, digits and hyphens: rollcall",
    ],
  ],
  [
    "an account's ID without quotes",
    `${LEAST}account: 12345678901234567890123456789012\n`,
    null,
    ["account: write the Cloudflare account's ID, 32 hexadecimal digits in quotes"],
  ],
  [
    "a placement that there is not",
    `${LEAST}placement: near\n`,
    null,
    ["placement: write smart, or region: aws:eu-central-1, or host: kube.example.com:6443"],
  ],
  [
    "within an environment",
    "environments: { staging: { apiserver: [] } }\n",
    "staging",
    [
      "environments.staging.apiserver: write the apiserver's URL, as the Worker reaches it: https://kube.example.com:6443",
    ],
  ],
  [
    "an environment that there is not",
    TWO,
    "production",
    ["there is no environment production; it has staging"],
  ],
  [
    "one where there are none",
    LEAST,
    "staging",
    ["there is no environment staging: leave --env out, or write it below environments:"],
  ],
  [
    "none that is named, and nothing for itself",
    "environments: { staging: { origin: https://a.test } }\n",
    null,
    ["it has the environments staging: say which with --env"],
  ],
  [
    "two of one origin, in one cluster, as one deployment",
    `${LEAST}environments: { staging: { origin: https://rollcall.test, name: rollcall } }\n`,
    null,
    [
      "the file's own environment and environment staging have the same name rollcall: give each its own",
      "the file's own environment and environment staging have the same origin https://rollcall.test: give each its own",
      "the file's own environment and environment staging are the deployment rollcall in one cluster: give each a ServiceAccount, and name it in deployment",
    ],
  ],
])("%s → %j", (_, text, environment, faults) => {
  expect(faultsOf(text, environment)).toEqual(faults);
});

test.each([
  [
    "a variable",
    "variables: { NODE_ROL: edge }",
    "variables: NODE_ROL: not known; the variables are NODE_ROLE",
  ],
  ["a variable with a key of its own", "variables: { ORIGINS: x }", "variables: ORIGINS: not known"],
  ["a secret", "secretFiles: { TOKEN: x }", "secretFiles: TOKEN: not known; the keys are KID_MAC_KEYS"],
])("%s that is not known → a fault that says which there are", (_, line, says) => {
  expect(faultsOf(`${LEAST}${line}\n`)).toEqual([expect.stringContaining(says)]);
});

it("faulty keys → the settings without them, for other checks", () => {
  const faulty = `${TWO}placment: smart\naccount: "1"\nsecretFiles: { TOKEN: x }\nvariables: { NODE_ROL: x, MAX_IMAGES: x }\n`;
  const text = faulty.replace("variables: { NODE_ROLE: edge, MAX_IMAGES: 10 }\n", "");
  expect(faultsOf(text)).toHaveLength(4);
  const rest = settingsWithoutFaults(text, "/etc/rollcall/rollcall.yaml", null);
  expect(rest).toMatchObject({ worker: "shops", variables: { MAX_IMAGES: "x" } });
  expect(settingsWithoutFaults("origin: [\n", "rollcall.yaml", null)).toBeNull();
});

it("several documents → one line that an operator can act on", () => {
  expect(readSettings("a: 1\n---\nb: 2\n", "rollcall.yaml", null)).toEqual({
    ok: false,
    error: ["rollcall.yaml has several documents: keep one, without --- at the end"],
  });
});

it("what is no YAML → where it is not", () => {
  expect(read("origin: [\n")).toEqual({
    ok: false,
    error: [expect.stringMatching(/is no YAML: .+ at line \d/)],
  });
});

it("docs/deploy.md has a row for each key", () => {
  const page = pages().find(({ path }) => path === "docs/deploy.md")?.text ?? "";
  expect(SETTINGS_KEYS.filter((key) => !page.includes(`\n| \`${key}\` `))).toEqual([]);
});
