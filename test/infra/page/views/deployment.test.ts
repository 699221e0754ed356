import { expect, it } from "vitest";
import { browserText, shownChecks, withAges } from "../../../../infra/page/views/deployment.tsx";

const check = (name: string, state: string) => ({
  check: name,
  state,
  message: "",
  checkedAt: "2026-01-01T00:00:00Z",
  since: "2026-01-01T00:00:00Z",
});

it("checks of parts and wrong settings are shown, urgent ones first; settings that are well are in their table", () => {
  const checks = [
    check("ORIGINS", "ok"),
    check("token", "ok"),
    check("K8S_1", "warning"),
    check("clock", "failed"),
  ];
  expect(shownChecks(checks).map(({ check }) => check)).toEqual(["clock", "K8S_1", "token"]);
});

it.each([
  [
    "KUBE_TOKEN, which ends 2026-02-05T00:00:00.000Z, of a",
    "KUBE_TOKEN, which ends 2026-02-05 00:00:00 (in 35d), of a",
  ],
  ["no time", "no time"],
])("%s → %s", (text, shown) => {
  expect(withAges(text, Date.parse("2026-01-01T00:00:00Z"), () => 0)).toBe(shown);
});

const KHTML = "AppleWebKit/537.36 (KHTML, like Gecko)";

it.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${KHTML} HeadlessChrome/156.0.0.0 Safari/537.36`, "Chrome 156, Linux"],
  [
    `Mozilla/5.0 (Windows NT 10.0) ${KHTML} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
    "Edge 140, Windows",
  ],
  [`Mozilla/5.0 (Linux; Android 16) ${KHTML} Chrome/140.0.0.0 Mobile Safari/537.36`, "Chrome 140, Android"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Safari/604.1", "Safari 26, iPhone"],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "Firefox 144, Linux"],
  ["curl/8.14.1", "curl/8.14.1"],
])("the browser %j → %j", (userAgent, text) => {
  expect(browserText(userAgent)).toBe(text);
});
