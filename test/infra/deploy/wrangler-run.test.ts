// Tests the report of wrangler's errors: wrangler's own words, and advice.
import { expect, test } from "vitest";
import { wranglerFault } from "../../../infra/deploy/wrangler-run.ts";

/** Returns wrangler's output when Cloudflare's API refuses a request. */
const refused = (message: string, code: number) =>
  `\n✘ [ERROR] A request to the Cloudflare API (/accounts/a/workers/scripts/rollcall) failed.\n\n  ${message} [code: ${code}]\n  \n` +
  "  If you think this is a bug, please open an issue at: https://github.com/cloudflare/workers-sdk/issues/new/choose\n";

test.each<[situation: string, stderr: string, reason: string, words: RegExp, cure: RegExp]>([
  [
    "a bad token",
    refused("Authentication error", 10000),
    "refused",
    /Authentication error \[code: 10000\]/,
    /wrangler login/,
  ],
  [
    "another's account",
    refused("Could not route to /accounts/a/workers", 7003),
    "refused",
    /Could not route/,
    /wrangler whoami/,
  ],
  [
    "a bundle for another plan",
    refused("Your Worker exceeded the size limit of 3 MiB.", 10027),
    "failed",
    /3 MiB/,
    /paid plan/,
  ],
  [
    "nobody who is logged in",
    "✘ [ERROR] In a non-interactive environment, it's necessary to set a CLOUDFLARE_API_TOKEN environment variable",
    "refused",
    /is not logged in/,
    /CLOUDFLARE_API_TOKEN/,
  ],
  [
    "a gateway of Cloudflare that fails",
    "✘ [ERROR] Received a malformed response from the API\n\n  <html>\n\n  GET /accounts/a -> 502 Bad Gateway\n",
    "failed",
    /malformed response/,
    /the fault is Cloudflare's/,
  ],
  [
    "no network, and a log whose name has the millisecond 503",
    '✘ [ERROR] fetch failed\n\n🪵  Logs were written to "/root/wrangler-2026-11-27_15-02-15_503.log"',
    "unreachable",
    /doing: fetch failed\n/,
    /the network or the proxy/,
  ],
  [
    "no network",
    "✘ [ERROR] fetch failed\n\n🪵  Logs were written to x",
    "unreachable",
    /doing: fetch failed\n/,
    /network/,
  ],
  [
    "a fault of Cloudflare's",
    refused("workers.api.error.unknown", 10013),
    "failed",
    /10013/,
    /cloudflarestatus/,
  ],
])("%s", (_, stderr, reason, words, cure) => {
  const found = wranglerFault("doing", { code: 1, stdout: "", stderr });
  expect(found.reason).toBe(reason);
  const [said, advice] = found.message.split("\n  → ");
  expect(`${said}\n`).toMatch(words);
  expect(said).not.toMatch(/issues\/new|Logs were written/);
  expect(advice).toMatch(cure);
});

test("one that nobody knows → its own words alone", () => {
  const found = wranglerFault("deploying", { code: 1, stdout: "", stderr: refused("Something new", 12345) });
  expect(found.message).toBe(
    "deploying: A request to the Cloudflare API (/accounts/a/workers/scripts/rollcall) failed. Something new [code: 12345]",
  );
});

test("a second error, of wrangler's look at the token → the first one's words alone", () => {
  const request = (path: string) => `✘ [ERROR] A request to the Cloudflare API (${path}) failed.\n\n`;
  const words = "  Authentication error [code: 10000]\n\n\n";
  const stderr = `${request("/accounts/a")}${words}${request("/user/tokens/verify")}${words}APIError: at throwFetchError\n`;
  const [said] = wranglerFault("asking", { code: 1, stdout: "", stderr }).message.split("\n  → ");
  expect(said).toBe(
    "asking: A request to the Cloudflare API (/accounts/a) failed. Authentication error [code: 10000]",
  );
});
