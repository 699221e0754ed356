// Tests who can sign in to the page, with which credential, and what remains in the browser.
import { beforeAll, describe, expect, it } from "vitest";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

describe.skipIf(!hasChromium)("signing in", () => {
  const open = pagesOfFile();
  let worker: PageWorker;
  beforeAll(async () => {
    worker = await sharedWorker();
  });

  it("the admin secret in the form → the fleet; no script can read the cookie, nothing is stored", () =>
    open({ url: worker.url }, async ({ page, accessibilityFaults }) => {
      await page.goto("/");
      await page.getByLabel("Secret or one-time code").fill(worker.adminSecret);
      expect(await accessibilityFaults()).toEqual([]);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      const kept = await page.evaluate(
        "document.cookie + JSON.stringify({...localStorage}) + JSON.stringify({...sessionStorage})",
      );
      expect(kept).not.toContain(worker.adminSecret);
      expect(await page.evaluate("document.cookie")).toBe("");
      const [cookie] = await page.context().cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
      await page.reload();
      await page.getByRole("navigation", { name: "Views" }).waitFor();
    }));

  it("another secret → refused, and said; the field is empty", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/^POST \/v1\/session → 403/);
      await page.goto("/");
      await page.getByLabel("Secret or one-time code").fill("guessed");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("alert").getByText("not valid").waitFor();
      await expect.poll(() => page.getByLabel("Secret or one-time code").inputValue()).toBe("");
    }));

  it("a link with a code → signed in at the place it names, once; the code is out of the URL at once", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/^POST \/v1\/session → 403/);
      const { stdout } = await worker.rollcall(["page"]);
      const code = /#code=(\S+)/.exec(stdout)?.[1] ?? "none";
      await page.goto(`/?view=tokens#code=${code}`);
      await page.getByRole("heading", { name: "Join tokens" }).waitFor();
      expect(page.url()).toBe(`${worker.url}/?view=tokens`);
      await page.context().clearCookies();
      await page.goto("about:blank");
      await page.goto(`/#code=${code}`);
      await page.getByRole("alert").getByText("not valid").waitFor();
    }));

  it("a code that is typed in → signed in", () =>
    open({ url: worker.url }, async ({ page }) => {
      const { stdout } = await worker.rollcall(["page"]);
      await page.goto("/");
      await page.getByLabel("Secret or one-time code").fill(/#code=(\S+)/.exec(stdout)?.[1] ?? "none");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("navigation", { name: "Views" }).waitFor();
    }));

  it("a link with a code, for who is signed in → the code is out of the URL, and does not come back", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/^POST \/v1\/feed\/tickets → 403/);
      await signIn(page, worker.adminSecret);
      const { stdout } = await worker.rollcall(["page"]);
      const code = /#code=(\S+)/.exec(stdout)?.[1] ?? "none";
      await page.goto(`/?view=tokens#code=${code}`);
      await page.getByRole("heading", { name: "Join tokens" }).waitFor();
      expect(page.url()).toBe(`${worker.url}/?view=tokens`);
      await page.evaluate(`location.hash = "code=${code}"`);
      await expect.poll(() => page.url()).toBe(`${worker.url}/?view=tokens`);
      // The page must not keep the code: it would sign the operator in again after a sign-out and a reload.
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.reload();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
    }));

  it("signing out → the form, and the cookie opens nothing any more", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/^(POST \/v1\/feed\/tickets|GET \/v1\/bulk\S*) → 403/);
      await signIn(page, worker.adminSecret);
      const cookies = await page.context().cookies();
      await page.goto("/");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.context().addCookies(cookies);
      await page.goto("/");
      await page.getByRole("button", { name: "Sign in" }).waitFor();
    }));

  it("a session that an admin ends → the form in its page, without a reload", () =>
    open({ url: worker.url }, async ({ page, expectFault }) => {
      expectFault(/→ 403/);
      const { stdout: added } = await worker.rollcall(["operators", "add", "ann", "--role", "view"]);
      await signIn(page, added.trim());
      await page.goto("/");
      await page.getByRole("navigation", { name: "Views" }).waitFor();
      const { stdout } = await worker.rollcall(["sessions", "list", "-o", "json"]);
      const { sessions } = JSON.parse(stdout) as { sessions: { id: string; who: string }[] };
      for (const { id } of sessions.filter(({ who }) => who.includes("ann")))
        expect(await worker.rollcall(["sessions", "revoke", id])).toMatchObject({ code: 0 });
      // The page checks its session each minute, and when it becomes visible again.
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await page.getByRole("button", { name: "Sign in" }).waitFor();
    }));
});
