// Tests the answers with static files, for the local Worker and for wrangler.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HEADER_RULES } from "../../infra/page/build/headers.ts";
import { ROOT } from "../e2e/local-cluster.ts";

export const STATIC = join(ROOT, "worker/static");

const FOR_A_YEAR = "public, max-age=31536000, immutable";
const ASKED_EACH_TIME = "public, max-age=0, must-revalidate";

/** Returns the path of a built file, such as `/page/main-ABCDEFGH.js` for `main.js`. */
function hashed(name: string): string {
  const [stem, end] = name.split(".");
  const found = readdirSync(join(STATIC, "page")).find((file) =>
    new RegExp(`^${stem}-\\w+\\.${end}$`).test(file),
  );
  return `/page/${found}`;
}

/** Adds the tests. `origin` is a function because the origin is known only once the tests run. */
export function testServedFiles(origin: () => string): void {
  const ask = (path: string, init?: RequestInit) => fetch(origin() + path, { redirect: "manual", ...init });

  test.each([
    ["/", "text/html; charset=utf-8", "no-cache"],
    ["/?machine=edge-1&range=7d", "text/html; charset=utf-8", "no-cache"],
    [hashed("main.js"), "text/javascript; charset=utf-8", FOR_A_YEAR],
    [hashed("page.css"), "text/css; charset=utf-8", FOR_A_YEAR],
    [hashed("icon.svg"), "image/svg+xml", FOR_A_YEAR],
    ["/openapi.json", "application/json", ASKED_EACH_TIME],
  ])("%s → its type, its time in caches, and what a browser may do with it", async (path, type, cache) => {
    const response = await ask(path);
    const { headers } = response;
    const etag = headers.get("etag");
    await response.arrayBuffer();
    expect([response.status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      type,
      cache,
    ]);
    for (const [name, value] of Object.entries(HEADER_RULES[0]!.headers))
      expect(headers.get(name)).toBe(value);
    const again = await ask(path, { headers: { "if-none-match": etag ?? "" } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await ask(path, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
    expect((await ask(path, { method: "POST" })).status).toBe(405);
  });

  test.each(["/index.html", "/index"])("%s → /", async (path) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("location")]).toEqual([307, "/"]);
  });

  test.each(["/nothing", "/page", "/page/", "/page/main.js", "/_headers", "/page/..%2findex.html"])(
    "%s, which is none → the Worker's problem document",
    async (path) => {
      const response = await ask(path);
      expect([response.status, response.headers.get("content-type")]).toEqual([
        404,
        "application/problem+json",
      ]);
    },
  );

  test.each([
    ["/livez", 200],
    ["/readyz", 403],
    ["/metrics", 403],
    ["/v1/machines", 403],
    ["/v1/index.html", 404],
  ])("%s → the Worker's own", async (path, status) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("content-security-policy")]).toEqual([status, null]);
  });
}
