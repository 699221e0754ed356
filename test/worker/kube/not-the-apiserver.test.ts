// Tests the answers of another server in the apiserver's place, and how long a retry then waits.
import { describe, expect, it, test } from "vitest";
import { notTheApiservers, retryAfterMsOf } from "../../../worker/kube/not-the-apiserver.ts";

const PAGE = { "content-type": "text/html; charset=UTF-8" };
const to = (location: string) => ({ location });
const response = (status: number, headers: HeadersInit = {}) => new Response(null, { status, headers });

const LOGIN =
  "https://team.cloudflareaccess.com/cdn-cgi/access/login/kube.example.com?kid=1&redirect_url=%2F";

describe("another server answers", () => {
  test.each<[situation: string, answer: Response, text: string, says: RegExp, cure: RegExp | undefined]>([
    ["Access's login", response(302, to(LOGIN)), "", /302 .*: Cloudflare Access asks/, /Service Auth/],
    ["Access's own path", response(302, to("/cdn-cgi/access/login")), "", /Access asks/, /CLIENT_ID/],
    ["a redirect elsewhere", response(301, to("https://x.test")), "", /301 .*redirect/, /set KUBE_URL/],
    [
      "a host that ends like Access's",
      response(302, to("https://cloudflareaccess.com.x.test")),
      "",
      /redirect/,
      /URL/,
    ],
    ["a redirect to nowhere", response(302, to("https://[")), "", /302 .*redirect/, /set KUBE_URL/],
    ["Access: a wrong service token", response(401), "", /401 .*does not accept/, /has ended.*rotated/],
    ["Access: one that may not", response(403, PAGE), "<html>", /403 .*let the request/, /Service Auth/],
    ["an unknown hostname", response(404), "404 page not found", /404 .*paths/, /hostname/],
    ["cloudflared without the apiserver", response(502), "error code: 502", /502 .*does not reach/, /caPool/],
    ["a page of the same", response(502, PAGE), "<title>x | 502: Bad gateway</title>", /reach it/, /caPool/],
    ["no answer within 100 s", response(524, PAGE), "<html>", /524 .*in time/, /readyz\?verbose/],
    [
      "a Tunnel without cloudflared",
      response(530),
      "error code: 1033",
      /530 .*, error 1033: no cloudflared/,
      /kubectl logs/,
    ],
    [
      "a page of the same",
      response(530, PAGE),
      "<title>Error 1033</title>",
      /error 1033: no cloudflared/,
      /runs/,
    ],
    ["530 without a code", response(530), "", /530 .*: no cloudflared/, /runs/],
    ["a DNS record to nowhere", response(530), "error code: 1016", /error 1016: .*hostname/, /CNAME/],
    ["a code in JSON", response(530), '{"status":530,"error_code": 1033}', /error 1033: no/, /runs/],
    [
      "a code that says nothing here",
      response(520),
      "error code: 1000",
      /520 .*, error 1000: .*reach/,
      /log/,
    ],
    ["a rate limit", response(429), "error code: 1015", /429 .*, error 1015: a rate limit/, /rate limits/],
    ["a certificate of the cluster's own", response(526), "", /526 .*certificate/, /apiserver\.md/],
    ["another site", response(200, PAGE), "<!doctype html>", /200 .*: a page/, /set KUBE_URL/],
    ["a teapot's page", response(418, PAGE), "<html>", /418 .*: a page/, /set KUBE_URL/],
    ["the apiserver itself, overloaded", response(429), "Too many requests", /^HTTP 429 [^:]*$/, undefined],
    ["the apiserver itself, shut down", response(503), "shutting down", /^HTTP 503 [^:]*$/, undefined],
    ["a page that is in its place", response(503, PAGE), "<html>", /503 .*does not reach/, /log/],
    ["an object that is none", response(200), "{}", /^HTTP 200 [^:]*$/, undefined],
    [
      "a code far down in a page",
      response(200),
      `${" ".repeat(4096)}error code: 1033`,
      /^HTTP 200 [^:]*$/,
      undefined,
    ],
  ])("%s", (_, answer, text, says, cure) => {
    const error = notTheApiservers(answer, text);
    expect(error).toMatchObject({ kind: "unanswered", message: expect.stringMatching(says) as string });
    if (cure) expect(error.cure).toMatch(cure);
    else expect(error).not.toHaveProperty("cure");
  });

  it("the location of a redirect is not reported: it may contain secrets", () => {
    const error = notTheApiservers(response(302, to("https://x.test/?token=s3cret")), "s3cret");
    expect(JSON.stringify(error)).not.toMatch(/s3cret|x\.test/);
  });
});

describe("the answer asks for a wait", () => {
  test.each<[situation: string, answer: Response, waitMs: number | undefined]>([
    ["an apiserver that is overloaded", response(429, { "retry-after": "7" }), 7000],
    ["one that asks for less than a second", response(503, { "retry-after": "0" }), 1000],
    ["one that asks for a minute", response(503, { "retry-after": "60" }), 60_000],
    ["a page that asks for as long as it may", response(503, { ...PAGE, "retry-after": "10" }), 10_000],
    ["a page that asks for a minute", response(429, { ...PAGE, "retry-after": "60" }), 10_000],
    ["a Tunnel that cannot reach it", response(502, { "retry-after": "60" }), undefined],
    ["just below Cloudflare's own", response(519, { "retry-after": "60" }), 60_000],
    ["the first of Cloudflare's own", response(520, { "retry-after": "60" }), undefined],
    ["the last of them", response(530, { "retry-after": "60" }), undefined],
    ["just above them", response(531, { "retry-after": "60" }), 60_000],
    ["an answer that is no overload", response(404, { "retry-after": "1" }), undefined],
    ["by a date", response(503, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }), undefined],
    ["before now", response(503, { "retry-after": "-1" }), undefined],
    ["not at all", response(503), undefined],
  ])("%s", (_, answer, waitMs) => {
    expect(retryAfterMsOf(answer)).toBe(waitMs);
  });
});
