// Tests the headers of static files: as Cloudflare reads them from a _headers file, and as the local Worker sends
// them.
import { describe, expect, it, test } from "vitest";
import {
  HEADER_RULES,
  headersFile,
  headersOf,
  type HeaderRule,
} from "../../../../infra/page/build/headers.ts";

/** Cloudflare's limits for a _headers file, from its documentation. */
const LIMITS = { rules: 100, lineCharacters: 2000 };

/**
 * Parses a _headers file as Cloudflare's documentation describes: a path at the margin, with its headers indented
 * below.
 */
function parse(text: string): HeaderRule[] {
  const rules: { path: string; headers: Record<string, string> }[] = [];
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const [, indent, name, value] = /^(\s*)([^:\s]+):?\s*(.*)$/.exec(line) ?? [];
    if (indent === "") rules.push({ path: line, headers: {} });
    else rules.at(-1)!.headers[name!] = value!;
  }
  return rules;
}

describe("_headers", () => {
  const text = headersFile();

  it("is read as the table that it was made of", () => {
    expect(parse(text)).toEqual(HEADER_RULES);
  });

  it("is within Cloudflare's limits", () => {
    expect(HEADER_RULES.length).toBeLessThanOrEqual(LIMITS.rules);
    const longest = Math.max(...text.split("\n").map((line) => line.length));
    expect(longest).toBeLessThanOrEqual(LIMITS.lineCharacters);
  });

  test.each(HEADER_RULES.map(({ path }) => path))(
    "%s → begins with /, and has one * at most, at its end",
    (path) => {
      expect(path).toMatch(/^\/[^*:]*\*?$/);
    },
  );

  test.each(["/", "/page/x.js", "/openapi.json"])(
    "%s → no header twice, whose values would be joined",
    (path) => {
      const names = HEADER_RULES.filter((rule) =>
        new RegExp(`^${rule.path.replace("*", ".*")}$`).test(path),
      ).flatMap(({ headers }) => Object.keys(headers));
      expect(new Set(names).size).toBe(names.length);
    },
  );
});

test.each([
  ["/", "no-cache"],
  ["/page/main-ABCDEFGH.js", "public, max-age=31536000, immutable"],
  ["/openapi.json", "public, max-age=0, must-revalidate"],
  ["/pages", "public, max-age=0, must-revalidate"],
])("%s → cached: %s", (path, cache) => {
  expect(headersOf(path)).toMatchObject({ "Cache-Control": cache, "X-Frame-Options": "DENY" });
});

describe("the policy", () => {
  const policy = HEADER_RULES[0]!.headers["Content-Security-Policy"]!;

  it("allows nothing by default, nothing unsafe, and nothing of others", () => {
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toMatch(/unsafe|data:|blob:|https?:|\*/);
  });

  it("takes no text for HTML or a script, whoever made it", () => {
    expect(policy).toContain("; require-trusted-types-for 'script'; trusted-types 'none'");
  });

  test.each(["frame-ancestors", "base-uri", "form-action"])(
    "%s, which has no default → 'none'",
    (directive) => {
      expect(policy).toContain(`${directive} 'none'`);
    },
  );
});

test.each([
  ["X-Frame-Options", "DENY"],
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
  ["Cross-Origin-Opener-Policy", "same-origin"],
  ["Permissions-Policy", expect.stringMatching(/^(\S+=\(\)(, |$))+$/) as string],
])("every file has %s: %s", (name, value) => {
  for (const path of ["/", "/page/main-ABCDEFGH.js", "/openapi.json"])
    expect(headersOf(path)).toMatchObject({ [name]: value });
});
