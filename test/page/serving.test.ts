// How the page is served, and what it may do: by the Worker in workerd, to a real browser.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FIRST_LOAD_BYTES } from "../../infra/page/build.ts";
import { HEADER_RULES } from "../../infra/page/headers.ts";
import { pagesOfFile } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { type PageWorker, startPageWorker } from "./page-worker.ts";
import { STATIC, testServedFiles } from "./served-files.ts";

let worker: PageWorker;
beforeAll(async () => {
  worker = await startPageWorker({ withCluster: false });
});
afterAll(() => worker.stop());

describe("static files", () => testServedFiles(() => worker.url));

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
