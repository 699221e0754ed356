// Tests the page with the keyboard alone. fleet.test.ts runs these tests, on its own Worker.
import { expect, it } from "vitest";
import type { OpenPages } from "./browser.ts";
import { focused } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";

/** The maximum number of Tab steps to a control. */
const MOST_STEPS = 60;

export function testKeys({ open, worker }: { open: OpenPages; worker: () => PageWorker }): void {
  it("by the keyboard alone: signed in, searched, from row to row, a machine opened, acted", async () => {
    const { url, adminSecret, machineJoins } = worker();
    for (const number of [1, 2, 3]) await machineJoins(`keys-${number}`);
    await open({ url }, async ({ page }) => {
      const { keyboard } = page;
      const at = (text: string | RegExp) => expect.poll(() => focused(page)).toMatch(text);
      const tabTo = async (text: RegExp, key = "Tab") => {
        for (let step = 0; step < MOST_STEPS && !text.test(await focused(page)); step++)
          await keyboard.press(key);
        expect(await focused(page)).toMatch(text);
      };
      await page.goto("/");
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await tabTo(/Secret or one-time code/);
      await keyboard.type(adminSecret);
      await keyboard.press("Enter");
      await page.getByRole("searchbox", { name: "Search machines" }).waitFor();
      await keyboard.press("/");
      await at("Search machines");
      await keyboard.type("keys-");
      await page.getByText(/^3 of \d+ machines$/).waitFor();
      await keyboard.press("Escape");
      await at(/^$/);
      expect(page.url()).toContain("q=keys-");
      await keyboard.press("j");
      await at(/^a keys-1$/);
      await keyboard.press("j");
      await at(/^a keys-2$/);
      await keyboard.press("k");
      await at(/^a keys-1$/);
      await keyboard.press("o");
      await page.getByRole("heading", { level: 1, name: "keys-1" }).waitFor();
      expect(page.url()).toBe(`${url}/?machine=keys-1`);
      await keyboard.press("?");
      const help = page.getByRole("dialog", { name: "Keys" });
      await help.getByText("goes up to the fleet").waitFor();
      await keyboard.press("Escape");
      await help.waitFor({ state: "detached" });
      // The key `u` leads from the machine up to the fleet, which still has its search.
      await keyboard.press("u");
      await page.getByText(/^3 of \d+ machines$/).waitFor();
      await page.getByRole("link", { name: "keys-3" }).waitFor();
      await keyboard.press("j");
      await at(/^a keys-1$/);
      await keyboard.press("x");
      await page.getByText("1 selected").waitFor();
      await at(/^a keys-1$/);
      await tabTo(/^button Act on it …$/, "Shift+Tab");
      await keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Act on 1 machine" });
      await dialog.waitFor();
      const seen = new Set<string>();
      for (let step = 0; step < 12; step++) {
        await keyboard.press("Tab");
        seen.add(
          await page.evaluate<string>(
            "document.activeElement === document.body ? 'browser' : document.activeElement.closest('dialog') ? 'dialog' : 'page'",
          ),
        );
      }
      expect(seen).toContain("dialog");
      expect(seen).not.toContain("page");
      await keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await at(/^button Act on it …$/);
    });
  });
}
