import { expect, it } from "vitest";
import { shownChecks, withAges } from "../../../../infra/page/views/deployment.tsx";

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
