// Signs a browser in without the page's form.
import type { Page } from "playwright-core";

/** Sends the form's request; the page's later requests have the session's cookie. */
export async function signIn(page: Page, secret: string): Promise<void> {
  const response = await page.context().request.post("/v1/session", { data: { secret } });
  if (response.status() !== 201)
    throw new Error(`POST /v1/session → ${response.status()}: ${await response.text()}`);
}
