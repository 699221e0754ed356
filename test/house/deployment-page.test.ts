// Compares docs/deploy.md with the keys of the settings file and the Worker's variables, their values and defaults.
// wrangler.toml must have the same defaults.
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { experimental_readRawConfig as readRawConfig } from "wrangler";
import { keyOf, SETTINGS_KEYS } from "../../infra/deploy/settings-file.ts";
import type { Check } from "../../shared/deployment/check-result.ts";
import { BOUND_DEFAULTS, DEFAULTS } from "../../shared/deployment/defaults.ts";
import { SECRETS } from "../../shared/deployment/secrets.ts";
import { VARIABLES } from "../../shared/deployment/variables.ts";
import { pages, root, tableRows } from "./markdown.ts";

const page = pages().find(({ path }) => path === "docs/deploy.md")!;
const inCode = (cell: string) => /^`(.*)`$/.exec(cell)?.[1] ?? cell;
const firstCells = (heading: string) => tableRows(page, heading).map(([cell = ""]) => inCode(cell));

it("each key of the settings file has its row, and each row its key", () => {
  expect(firstCells("key").sort()).toEqual([...SETTINGS_KEYS].sort());
});

/** The variables that have no key of their own in the settings file. */
const variables = Object.entries<Check>(VARIABLES).filter(([name]) => keyOf(name) === `variables.${name}`);
const rows = new Map(
  tableRows(page, "variable").map(([name = "", , ...cells]) => [inCode(name), cells] as const),
);

describe("the Worker's variables", () => {
  it("each has its row, in the order of /readyz, and each row its variable", () => {
    expect([...rows.keys()]).toEqual(variables.map(([name]) => name));
  });

  test.each(variables)("%s → its values are those in the message of /readyz", (name, check) => {
    const [mayBe = ""] = rows.get(name) ?? [];
    const cure = check("?", {})?.cure ?? "";
    // If the remedy does not name the allowed values, the page may allow any text.
    const words = cure.startsWith("set it to ") ? cure.slice("set it to ".length) : "any text";
    expect(mayBe.replaceAll("`", "")).toBe(words);
  });

  test.each(variables)("%s → its default is that of the code and of wrangler.toml", (name) => {
    const [, preset = ""] = rows.get(name) ?? [];
    const { vars = {} } = readRawConfig({ config: join(root, "wrangler.toml") }).rawConfig;
    const byDefault = (DEFAULTS as Record<string, number | string>)[name] ?? "";
    expect(inCode(preset).replace(/^empty: .*/, "")).toBe(String(byDefault));
    expect(vars[name]).toBe(byDefault);
  });

  it("what bounds machines' settings has a second table", () => {
    expect(firstCells("bound")).toEqual(Object.keys(BOUND_DEFAULTS));
  });
});

it("each secret is named", () => {
  expect(Object.keys(SECRETS).filter((name) => !page.text.includes(name))).toEqual([]);
});
