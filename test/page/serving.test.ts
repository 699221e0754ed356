// Tests how the Worker in workerd serves the page to a real browser, and what the page may do.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { FIRST_LOAD_BYTES } from "../../infra/page/build/build.ts";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import type { PageWorker } from "./page-worker.ts";
import { STATIC, testServedFiles } from "./served-files.ts";

let worker: PageWorker;
beforeAll(async () => {
  worker = await sharedWorker();
});

describe("static files", () => testServedFiles(() => worker.url));

describe.skipIf(!hasChromium)("in a browser", () => {
  const open = pagesOfFile();

  it("the page → out of this origin alone, within what was promised", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      const loaded: string[] = [];
      page.on("response", (response) => {
        const { pathname } = new URL(response.url());
        if (!pathname.startsWith("/v1/")) loaded.push(pathname === "/" ? "index.html" : pathname);
      });
      // The page has no session, so this request fails.
      expectFault(/^GET \/v1\/session → /);
      await page.goto("/?machine=edge-1");
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      const bytes = loaded.map((file) => gzipSync(readFileSync(join(STATIC, file)), { level: 9 }).length);
      expect(bytes.length).toBeGreaterThan(3);
      expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(FIRST_LOAD_BYTES);
    }));
});
