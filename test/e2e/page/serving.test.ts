// How the page is served, and what it may do: by the Worker in workerd, to a real browser.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { FIRST_LOAD_BYTES } from "../../../infra/page/build.ts";
import { HEADER_RULES } from "../../../infra/page/headers.ts";
import { ROOT } from "../local-cluster.ts";
import { pagesOfFile } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";

const STATIC = join(ROOT, "worker/static");
const built = readdirSync(join(STATIC, "page"));
const fileLike = (pattern: RegExp) => `/page/${built.find((name) => pattern.test(name))}`;

let worker: PageWorker;
beforeAll(async () => {
  worker = await startPageWorker({ withCluster: false });
});
afterAll(() => worker.stop());

const ask = (path: string, init?: RequestInit) => fetch(worker.url + path, { redirect: "manual", ...init });

const FOR_A_YEAR = "public, max-age=31536000, immutable";
const ASKED_EACH_TIME = "public, max-age=0, must-revalidate";

describe("static files", () => {
  test.each([
    ["/", "text/html; charset=utf-8", "no-cache"],
    ["/?machine=edge-1&range=7d", "text/html; charset=utf-8", "no-cache"],
    [fileLike(/^main-.*\.js$/), "text/javascript; charset=utf-8", FOR_A_YEAR],
    [fileLike(/^page-.*\.css$/), "text/css; charset=utf-8", FOR_A_YEAR],
    [fileLike(/^icon-.*\.svg$/), "image/svg+xml", FOR_A_YEAR],
    ["/openapi.json", "application/json", ASKED_EACH_TIME],
  ])("%s → its type, its time in caches, and what a browser may do with it", async (path, type, cache) => {
    const response = await ask(path);
    const { headers } = response;
    expect([response.status, headers.get("content-type"), headers.get("cache-control")]).toEqual([
      200,
      type,
      cache,
    ]);
    for (const [name, value] of Object.entries(HEADER_RULES[0]!.headers))
      expect(headers.get(name)).toBe(value);
    const again = await ask(path, { headers: { "if-none-match": `W/${headers.get("etag")}` } });
    expect([again.status, await again.text()]).toEqual([304, ""]);
    const head = await ask(path, { method: "HEAD" });
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([
      200,
      headers.get("etag"),
      "",
    ]);
    expect((await ask(path, { method: "POST" })).status).toBe(405);
  });

  test.each(["/index.html", "/index"])("%s → /", async (path) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("location")]).toEqual([307, "/"]);
  });

  test.each([
    "/nothing",
    "/page",
    "/page/",
    "/page/main.js",
    "/_headers",
    "/%2e%2e/wrangler.toml",
    "/page/..%2findex.html",
  ])("%s, which is none → the Worker's problem document", async (path) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      "application/problem+json",
    ]);
  });

  test.each([
    ["/livez", 200, "text/plain;charset=UTF-8"],
    ["/v1/machines", 403, "application/problem+json"],
    ["/v1/index.html", 404, "application/problem+json"],
    ["/metrics", 403, "application/problem+json"],
  ])("%s → the Worker's own", async (path, status, type) => {
    const response = await ask(path);
    expect([response.status, response.headers.get("content-type")]).toEqual([status, type]);
    expect(response.headers.get("content-security-policy")).toBeNull();
  });
});

it("the policy allows nothing unsafe, and nothing of others", () => {
  const policy = HEADER_RULES[0]!.headers["Content-Security-Policy"]!;
  expect(policy).toMatch(/^default-src 'none'; /);
  expect(policy).not.toMatch(/unsafe|data:|https?:|\*/);
});

describe.skipIf(!hasChromium)("in a browser", () => {
  const open = pagesOfFile();

  it.each(["/", "/?machine=edge-1", "/?view=approvals"])(
    "%s → the page, out of this origin alone, within what was promised",
    (path) =>
      open({ url: worker.url }, async ({ page, expectFault, accessibilityFaults }) => {
        const loaded: string[] = [];
        page.on("response", (response) => {
          const { pathname } = new URL(response.url());
          if (!pathname.startsWith("/v1/")) loaded.push(pathname === "/" ? "index.html" : pathname);
        });
        // Nobody is signed in.
        expectFault(/^GET \/v1\/session → /);
        await page.goto(path);
        await page.getByRole("main").waitFor();
        const bytes = loaded.map((file) => gzipSync(readFileSync(join(STATIC, file)), { level: 9 }).length);
        expect(bytes.length).toBeGreaterThan(3);
        expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(FIRST_LOAD_BYTES);
        expect(await accessibilityFaults()).toEqual([]);
      }),
  );
});
