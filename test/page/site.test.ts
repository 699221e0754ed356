// Tests the documentation's site as `npm run site` builds it: its links, its search and its looks.
import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../e2e/local-cluster.ts";
import { pagesOfFile } from "./browser.ts";
import { DESKTOP, hasChromium, PHONE } from "./chromium.ts";
import { tooWide } from "./page-looks.ts";

const site = mkdtempSync(join(tmpdir(), "rollcall-site-"));
afterAll(() => rmSync(site, { recursive: true }));

/**
 * The time limit of the build, which renders all pages twice, for a browser and as HTML. A busy computer is slow at
 * that.
 */
const BUILT_WITHIN_MS = 600_000;
beforeAll(() => {
  const built = spawnSync("npm", ["run", "site", "--", "--outDir", site], { cwd: ROOT, encoding: "utf8" });
  expect(built.status, built.stdout + built.stderr).toBe(0);
}, BUILT_WITHIN_MS);

describe("links", () => {
  const html = () => new Map(globSync("**/*.html", { cwd: site }).map((path) => [path, read(path)]));
  const read = (path: string) => readFileSync(join(site, path), "utf8");

  it("each leads to a file of the site, and to what it names there", () => {
    const pages = html();
    expect(pages.size).toBeGreaterThan(20);
    const faults = [...pages].flatMap(([from, text]) =>
      [...text.matchAll(/<a [^>]*href="([^"]+)"/g)].flatMap(([, href = ""]) => {
        const url = new URL(href, `http://site/${from}`);
        if (url.host !== "site") return [];
        const path = decodeURIComponent(url.pathname === "/" ? "/index.html" : url.pathname).slice(1);
        if (!existsSync(join(site, path))) return [`${from}: ${href}: no such file`];
        const id = decodeURIComponent(url.hash.slice(1));
        return id === "" || pages.get(path)?.includes(`id="${id}"`)
          ? []
          : [`${from}: ${href}: no such heading`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it("nothing is loaded from elsewhere", () => {
    const foreign = [...html()].flatMap(([path, text]) =>
      [...text.matchAll(/<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/g)].map(
        ([tag]) => `${path}: ${tag}`,
      ),
    );
    expect(foreign).toEqual([]);
  });
});

describe.skipIf(!hasChromium)("in a browser", () => {
  const onPage = pagesOfFile();
  const server = serve(site);
  afterAll(() => server.close());
  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  it("the search leads to the page that answers", async () => {
    await onPage({ url: address() }, async ({ page }) => {
      await page.goto("/");
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByRole("searchbox").fill("reserved cpus");
      await page.getByRole("option").first().click();
      // The address changes before the new page is loaded, so the test also waits for its text.
      await page.waitForURL("**/*.html#*");
      await page
        .getByRole("main")
        .getByText(/reserved/i)
        .first()
        .waitFor();
    });
  });

  it("no page is wider than a desktop's window or a phone", () =>
    onPage({ url: address() }, async ({ page }) => {
      for (const path of ["/", "/cluster.html", "/shim.html"]) {
        await page.goto(path);
        await page.getByRole("heading", { level: 1 }).waitFor();
        for (const size of [DESKTOP, PHONE]) {
          await page.setViewportSize(size);
          expect(await tooWide(page), path).toEqual([]);
        }
      }
    }));
});

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** Serves a folder on loopback, as a plain web server does. */
function serve(folder: string): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://site");
    const file = join(folder, pathname === "/" ? "index.html" : pathname);
    const type = TYPES[extname(file)];
    if (existsSync(file)) response.setHeader("content-type", type ?? "text/plain");
    else response.statusCode = pathname === "/favicon.ico" ? 204 : 404;
    response.end(existsSync(file) ? readFileSync(file) : "");
  }).listen(0, "127.0.0.1");
}
