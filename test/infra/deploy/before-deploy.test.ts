// Tests the faults that stop a deployment before wrangler uploads it. The faults concern variables in a file or a flag,
// and new secrets.
import { SignJWT } from "jose";
import { describe, expect, it, test } from "vitest";
import { checkBeforeDeploy, faultLines } from "../../../infra/deploy/before-deploy.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const WELL = { DEPLOYMENT: "rollcall", ORIGINS: "https://rollcall.test", KUBE_URL: "https://kube.test" };
const tokenUntil = (exp: number) =>
  new SignJWT({ exp: exp / 1000 }).setProtectedHeader({ alg: "HS256" }).sign(new Uint8Array(32));
const [GOOD, ENDED] = await Promise.all([tokenUntil(NOW + 365 * 86_400_000), tokenUntil(NOW)]);
const SECRETS = {
  KID_MAC_KEYS: `1:${"A".repeat(43)}`,
  ADMIN_SECRET_SHA256: "B".repeat(43),
  KUBE_TOKEN: GOOD,
};

/** Returns the faults that stop a deployment, each by the name of its variable or secret, such as `ORIGINS`. */
function faults(args: string[], more: { variables?: object; secrets?: string } = {}): string[] {
  const files: Record<string, object> = { "wrangler.toml": WELL, "other.toml": { ...WELL, ORIGINS: "" } };
  const checks = checkBeforeDeploy(args, {
    readVariables: ({ config = "wrangler.toml", env = "" }) => ({
      ...(more.variables ?? files[config]),
      ...(env === "empty" && { KUBE_URL: "" }),
    }),
    readText: (file) => {
      if (file !== "secrets.json") throw new Error(`no ${file}`);
      return more.secrets ?? JSON.stringify(SECRETS);
    },
    nowMs: NOW,
  });
  return checks.flatMap(({ check, state }) => (state === "failed" ? [check] : []));
}

test.each<[situation: string, args: string[], expected: string[]]>([
  ["variables that are there", [], []],
  ["those of another file", ["--config", "other.toml"], ["ORIGINS"]],
  ["those of another file, in short", ["-c", "other.toml", "--dry-run"], ["ORIGINS"]],
  ["those of an environment", ["--env=empty"], ["KUBE_URL"]],
  ["one that a flag sets", ["-c", "other.toml", "--var", "ORIGINS:https://a.test:8443"], []],
  ["one that a flag spoils", ["--var", "ORIGINS:", "--var", "MAX_IMAGES:all"], ["ORIGINS", "MAX_IMAGES"]],
  ["secrets that are brought", ["--domain", "a.test", "--secrets-file", "secrets.json"], []],
])("%s: %j → stopped by %j", (_, args, expected) => {
  expect(faults(args)).toEqual(expected);
});

it("the variables as the project has them → stopped: whose origin and which cluster, nobody else can know", () => {
  const variables = { DEPLOYMENT: "rollcall", ORIGINS: "", KUBE_URL: "" };
  expect(faults([], { variables })).toEqual(["ORIGINS", "KUBE_URL"]);
});

describe("a secrets' file", () => {
  const brought = (secrets: string) => faults(["--secrets-file", "secrets.json"], { secrets });

  it.each<[situation: string, secrets: string, expected: string[]]>([
    ["in lines", `KUBE_TOKEN=${GOOD}\nADMIN_SECRET_SHA256=${"B".repeat(43)}\n`, []],
    ["with a secret that is empty", JSON.stringify({ ...SECRETS, KUBE_TOKEN: "" }), ["KUBE_TOKEN"]],
    ["with the secret instead of its hash", '{"ADMIN_SECRET_SHA256":"admin"}', ["ADMIN_SECRET_SHA256"]],
    ["with a token that has ended", JSON.stringify({ ...SECRETS, KUBE_TOKEN: ENDED }), ["token"]],
    ["with one secret, since the others are there", '{"KUBE_TOKEN":"a.b.c"}', []],
  ])("%s", (_, secrets, expected) => {
    expect(brought(secrets)).toEqual(expected);
  });

  it("that is not there → an error that names it", () => {
    expect(() => faults(["--secrets-file", "nowhere.json"])).toThrow("nowhere.json cannot be read");
  });
});

it("what is printed → only what is not as it should be, and what to do", () => {
  const fault = { check: "ORIGINS", state: "failed" as const, message: "it is empty", cure: "set it" };
  expect(faultLines([{ check: "KUBE_URL", state: "ok", message: "set" }, fault])).toBe(
    "failed: ORIGINS: it is empty\n  → set it\n",
  );
});
