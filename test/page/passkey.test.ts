// Tests passkeys with a real browser, its virtual authenticator and a real shim: made on the page, pinned by the machine's
// owner, and necessary for an answer.
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryFolder } from "../e2e/local-cluster.ts";
import { type AskedMachine, askedMachine } from "./asked-machine.ts";
import { pagesOfFile, sharedWorker } from "./browser.ts";
import { hasChromium } from "./chromium.ts";
import { faultsOfLooks } from "./page-looks.ts";
import type { PageWorker } from "./page-worker.ts";
import { signIn } from "./sign-in.ts";

/** Gives the browser an authenticator, which is always touched. Returns a function that sets whether it knows its user. */
async function authenticator(page: Page): Promise<(isVerified: boolean) => Promise<void>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  return async (isUserVerified) =>
    void (await devtools.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }));
}

describe.skipIf(!hasChromium)("a machine that pins keys", () => {
  const open = pagesOfFile();
  const folder = temporaryFolder();
  const keys = join(folder.path, "keys");
  let worker: PageWorker;
  let machine: AskedMachine;
  beforeAll(async () => {
    worker = await sharedWorker();
    writeFileSync(keys, `rollcall-ed25519 ${"A".repeat(43)} another\n`);
    machine = await askedMachine(worker, "pins-1", ["--questions", "disks", `--questions-from=${keys}`]);
  });
  afterAll(async () => {
    await machine.stop();
    await worker.stop();
    folder.remove();
  });

  it("a passkey that the page has made → no answer, until the machine's owner has pinned it", () => {
    // Browsers have no passkeys for an address.
    const url = worker.url.replace("127.0.0.1", "localhost");
    return open({ url }, async (opened) => {
      const { page } = opened;
      const verified = await authenticator(page);
      await signIn(page, worker.adminSecret);
      await page.goto("/?machine=pins-1&tab=ask&question=disks");
      await page.getByRole("button", { name: "Ask pins-1", exact: true }).click();
      await page.getByText("I have no passkey for questions").click();
      await page.getByRole("button", { name: "Make a passkey" }).click();
      const line = (await page.getByText(/^rollcall-webauthn-es256 /).textContent()) ?? "";
      expect(line).toMatch(/^rollcall-webauthn-es256 B[\w-]{86} http:\/\/localhost:\d+ rollcall$/);
      expect(await faultsOfLooks(opened)).toEqual([]);
      const sign = page.getByRole("button", { name: "Sign with a passkey" });
      await sign.click();
      await page.getByText(/has pinned no passkey of this page/).waitFor();
      appendFileSync(keys, `${line}\n`);
      await page.getByRole("button", { name: "Ask again" }).click();
      await sign.click();
      await page.getByRole("status").getByText("Complete:").waitFor();
      await page.getByText(/^\/ /m).first().waitFor();
      await page.getByRole("button", { name: "Ask again" }).click();
      await verified(false);
      await sign.click();
      await page.getByText(/^No passkey has signed: /).waitFor();
    });
  });
});
