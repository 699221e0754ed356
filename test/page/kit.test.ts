// Compares the page's parts with pictures of them. After an intended change, ROLLCALL_PICTURES=write writes the
// pictures again; look at them before a commit.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pagesOfFile } from "./browser.ts";
import { hasChromium, TEST_OUTPUT } from "./chromium.ts";
import { kitDocument } from "./kit.ts";
import { moving, tooWide } from "./page-looks.ts";
import { comparePictures } from "./pixels.ts";

const URL = "http://kit.invalid";
const PICTURES = join(import.meta.dirname, "kit");
const isWriting = process.env["ROLLCALL_PICTURES"] === "write";
/** The part of the cells that may differ: signs such as ✓ come from the computer's own fonts. */
const MAY_DIFFER = 0.002;

describe.skipIf(!hasChromium)("the kit", () => {
  const open = pagesOfFile();

  it.each<[name: string, width: number, colorScheme: "light" | "dark"]>([
    ["kit-360", 360, "light"],
    ["kit-1280", 1280, "light"],
    ["kit-1280-dark", 1280, "dark"],
  ])("%s: looks as in its picture, without faults", (name, width, colorScheme) =>
    open(
      { url: URL, viewport: { width, height: 800 }, colorScheme, timezoneId: "UTC" },
      async ({ page, accessibilityFaults }) => {
        const body = await kitDocument();
        mkdirSync(TEST_OUTPUT, { recursive: true });
        writeFileSync(join(TEST_OUTPUT, "kit.html"), body);
        await page.route(`${URL}/**`, (route) => route.fulfill({ contentType: "text/html", body }));
        await page.goto("/");
        await page.evaluate("document.fonts.ready");
        await page.locator(".timeline-row rect.band").first().waitFor();
        expect([...(await tooWide(page)), ...(await moving(page)), ...(await accessibilityFaults())]).toEqual(
          [],
        );
        const file = join(PICTURES, `${name}.png`);
        const picture = await page.screenshot({ fullPage: true, caret: "initial", animations: "allow" });
        if (isWriting) writeFileSync(file, picture);
        writeFileSync(join(TEST_OUTPUT, `${name}.png`), picture);
        const { sizes, cells, different } = await comparePictures(page, readFileSync(file), picture);
        expect(sizes[1]).toBe(sizes[0]);
        expect(different.length, JSON.stringify(different.slice(0, 20))).toBeLessThan(MAY_DIFFER * cells);
      },
    ),
  );
});
