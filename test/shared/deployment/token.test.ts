// Tests the check of the token for the apiserver: its expiry, its margin, its account, and its renewal.
import { expect, it, test } from "vitest";
import { checkToken, knownToken, type KnownToken } from "../../../shared/deployment/token.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ACCOUNT = "system:serviceaccount:rollcall-system:rollcall";
const check = (status: Omit<KnownToken, "source">) =>
  checkToken({ source: "KUBE_TOKEN", ...status }, "rollcall", NOW);

/** Returns the times of a token that is valid for a year (`year`), or for an hour. */
const year = (leftMs: number) => ({ issuedAtMs: NOW + leftMs - 365 * DAY_MS, expiresAtMs: NOW + leftMs });
const hour = (leftMs: number) => ({ issuedAtMs: NOW + leftMs - HOUR_MS, expiresAtMs: NOW + leftMs });

test.each<[situation: string, status: Omit<KnownToken, "source">, state: string]>([
  ["no JWT", {}, "ok"],
  ["of another month", year(60 * DAY_MS), "ok"],
  ["14 days left", year(14 * DAY_MS), "ok"],
  ["less than 14 days left", year(14 * DAY_MS - 1), "warning"],
  ["no issue time, 14 days left", { expiresAtMs: NOW + 14 * DAY_MS }, "ok"],
  ["no issue time, less than 14 days left", { expiresAtMs: NOW + 14 * DAY_MS - 1 }, "warning"],
  ["of an hour, of which a fifth is left", hour(HOUR_MS / 5), "ok"],
  ["of an hour, of which less than a fifth is left", hour(HOUR_MS / 5 - 1), "warning"],
  ["a millisecond left", hour(1), "warning"],
  ["ended", hour(0), "failed"],
  ["issued a minute in the future", { issuedAtMs: NOW + 60_000 }, "ok"],
  ["issued more than a minute in the future", { issuedAtMs: NOW + 60_001 }, "warning"],
  ["renewed, and due", { ...hour(1), renewFromMs: NOW - 1 }, "ok"],
  ["renewed, which failed", { ...hour(1), renewFromMs: NOW - 1, lastFailure: "403" }, "warning"],
  ["renewed, which failed until it ended", { ...hour(0), renewFromMs: NOW, lastFailure: "403" }, "failed"],
  ["without an end, which could not be renewed", { lastFailure: "403" }, "warning"],
  ["of the deployment's account", { account: ACCOUNT }, "ok"],
  ["of another account", { account: "system:serviceaccount:rollcall-system:east" }, "warning"],
  ["of a user", { account: "alice" }, "ok"],
])("a token, %s → %s", (_, status, state) => {
  const finding = check(status);
  expect(finding.state).toBe(state);
  expect(finding.cure === undefined).toBe(state === "ok");
});

it("the message names the end and the account", () => {
  const { message } = check({ ...year(60 * DAY_MS), account: ACCOUNT });
  expect(message).toBe(`KUBE_TOKEN, which ends 2026-04-30T00:00:00.000Z, of ${ACCOUNT}`);
});

test.each([
  [
    "of a ServiceAccount",
    { exp: NOW / 1000, iat: NOW / 1000 - 60, sub: ACCOUNT },
    { expiresAtMs: NOW, issuedAtMs: NOW - 60_000, account: ACCOUNT },
  ],
  ["of no JWT", {}, {}],
  ["of other types", { exp: "soon", iat: null, sub: 7 }, {}],
])("claims %s", (_, claims, expected) => {
  expect(knownToken("KUBE_TOKEN", claims)).toEqual({ source: "KUBE_TOKEN", ...expected });
});
