// Tests the configuration for wrangler: the tracked file with the settings in it, and its path.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { experimental_readRawConfig as readRawConfig, unstable_readConfig as readConfig } from "wrangler";
import { expect, it, test } from "vitest";
import { readSettings } from "../../../infra/deploy/settings-file.ts";
import { wranglerConfiguration, writeConfiguration } from "../../../infra/deploy/wrangler-configuration.ts";

const ROOT = resolve(import.meta.dirname, "../../..");
const { rawConfig: tracked } = readRawConfig({ config: join(ROOT, "wrangler.toml") });

function settingsOf(text: string) {
  const read = readSettings(`apiserver: https://kube.test\n${text}`, "/rollcall.yaml", null);
  if (!read.ok) throw new Error(read.error.join("\n"));
  return read.value;
}

test.each<[situation: string, text: string, expected: object]>([
  [
    "an origin of a domain",
    "origin: https://a.test",
    { routes: [{ pattern: "a.test", custom_domain: true }], workers_dev: false, preview_urls: false },
  ],
  [
    "several, one with a port",
    "origin: [https://a.test, 'https://b.test:8443']",
    {
      routes: [{ pattern: "a.test" }, { pattern: "b.test" }],
      vars: { ORIGINS: "https://a.test https://b.test:8443" },
    },
  ],
  ["one under workers.dev", "origin: https://rollcall.me.workers.dev", { routes: [], workers_dev: true }],
  ["one on loopback", "origin: http://127.0.0.1:8787", { routes: [], workers_dev: false }],
  [
    "no more than that",
    "origin: https://a.test",
    { name: "rollcall", vars: tracked.vars && { MAX_IMAGES: 50, NODE_ROLE: "" } },
  ],
  [
    "variables",
    "origin: https://a.test\nvariables: { NODE_ROLE: edge, MAX_IMAGES: 10 }\ndeployment: west",
    { vars: { NODE_ROLE: "edge", MAX_IMAGES: 10, DEPLOYMENT: "west", KUBE_URL: "https://kube.test" } },
  ],
  ["a placement by itself", "origin: https://a.test\nplacement: smart", { placement: { mode: "smart" } }],
  [
    "a placement in a region",
    "origin: https://a.test\nplacement: { region: aws:eu-central-1 }",
    { placement: { region: "aws:eu-central-1" } },
  ],
  [
    "IDs",
    `origin: https://a.test\naccount: "${"a".repeat(32)}"\nvpcService: v\nfailureCounter: "7"\nname: shops`,
    {
      name: "shops",
      account_id: "a".repeat(32),
      vpc_services: [{ binding: "KUBE", service_id: "v" }],
      ratelimits: [{ name: "FAILURES", namespace_id: "7", simple: { limit: 100, period: 60 } }],
    },
  ],
])("%s", (_, text, expected) => {
  expect(wranglerConfiguration(tracked, settingsOf(text), ".")).toMatchObject(expected);
});

it("written → wrangler reads it without a complaint, and it names what is in the project", () => {
  const root = mkdtempSync(join(tmpdir(), "rollcall-deploy-"));
  try {
    const file = writeConfiguration(root, tracked, settingsOf("origin: https://a.test"));
    expect(file).toBe(join(root, ".rollcall/deploy/default/wrangler.json"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const read = readConfig({ config: file });
    expect(read).toMatchObject({
      main: join(dirname(file), "bundle/index.js"),
      assets: { directory: join("../../..", "worker/static") },
      migrations: tracked.migrations,
      secrets: tracked.secrets,
    });
    expect(JSON.parse(readFileSync(file, "utf8"))).not.toHaveProperty("env");
  } finally {
    rmSync(root, { recursive: true });
  }
});
