// Tests the Terraform files of the Cloudflare account: their form, their references, and the users whom Access
// allows.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const require = createRequire(import.meta.url);
/** `require` loads no types: the package has types for browsers, which conflict with Node.js's types. */
const hcl = require("@cdktn/hcl2json") as { parse: (file: string, text: string) => Promise<Parsed> };

const FOLDER = resolve(import.meta.dirname, "../../../infra/cloudflare/terraform");
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith(".tf"));

interface Parsed {
  variable?: Record<string, [{ description?: string; default?: unknown }]>;
  output?: Record<string, [{ description?: string; sensitive?: boolean; value: string }]>;
  locals?: Record<string, unknown>[];
  resource?: Record<string, Record<string, [Record<string, unknown>]>>;
}

const parsed = new Map<string, Parsed>();
beforeAll(async () => {
  for (const file of FILES) parsed.set(file, await hcl.parse(file, readFileSync(join(FOLDER, file), "utf8")));
});
const all = () => [...parsed.values()];
const resources = () =>
  all().flatMap(({ resource = {} }) =>
    Object.entries(resource).flatMap(([type, named]) =>
      Object.entries(named).map(([name, [body]]) => ({ address: `${type}.${name}`, body })),
    ),
  );
const resource = (address: string) => resources().find((each) => each.address === address)?.body ?? {};

describe("its form", () => {
  it("each file is HCL; one that is not is told with its place", async () => {
    expect([...parsed.keys()]).toEqual(FILES);
    await expect(hcl.parse("wrong.tf", "resource {\n a = \n}")).rejects.toThrow("wrong.tf:2");
  });

  it("names no variable, local or resource that is not there", () => {
    const known = [
      ...all().flatMap(({ variable = {} }) => Object.keys(variable).map((name) => `var.${name}`)),
      ...all().flatMap(({ locals = [] }) =>
        locals.flatMap((each) => Object.keys(each).map((name) => `local.${name}`)),
      ),
      ...resources().map(({ address }) => address),
    ];
    const text = JSON.stringify(all());
    const named = [...text.matchAll(/\b(?:(?:var|local)|(?:cloudflare|random)_\w+)\.\w+/g)].map(
      ([each]) => each,
    );
    expect(named.length).toBeGreaterThan(20);
    expect([...new Set(named)].filter((each) => !known.includes(each))).toEqual([]);
    const used = (address: string) => new RegExp(`\\b${address.replaceAll(".", "\\.")}\\b`).test(text);
    expect(known.filter((each) => each.startsWith("var.") && !used(each))).toEqual([]);
  });

  it("says what each variable and output is", () => {
    const described = all().flatMap(({ variable = {}, output = {} }) =>
      Object.entries({ ...variable, ...output }),
    );
    expect(described.length).toBeGreaterThan(10);
    expect(described.filter(([, [{ description }]]) => !description)).toEqual([]);
  });

  it("an output that has a secret is sensitive, and no other is", () => {
    const outputs = all().flatMap(({ output = {} }) => Object.entries(output));
    for (const [name, [{ value, sensitive = false }]] of outputs)
      expect([name, sensitive]).toEqual([name, /secret/.test(JSON.stringify(value))]);
  });
});

describe("whom Access lets in", () => {
  it.each([
    ["the apiserver: the Worker's service token", "worker", "non_identity"],
    ["the Worker, a machine's paths: everybody, since machines sign", "machines", "bypass"],
    ["the Worker, all else: operators by a login", "operators", "allow"],
    ["the Worker, all else: their programs by service tokens", "programs", "non_identity"],
  ])("%s", (_, policy, decision) => {
    expect(resource(`cloudflare_zero_trust_access_policy.${policy}`)).toMatchObject({ decision });
  });

  it.each([
    ["apiserver", ["worker"]],
    ["machines", ["machines"]],
    ["operators", ["operators", "programs"]],
  ])("the application %s has these policies and no others: %s", (application, expected) => {
    const { policies } = resource(`cloudflare_zero_trust_access_application.${application}`);
    const named = JSON.stringify(policies).matchAll(/access_policy\.(\w+)/g);
    expect(new Set([...named].map(([, policy]) => policy))).toEqual(new Set(expected));
  });
});
