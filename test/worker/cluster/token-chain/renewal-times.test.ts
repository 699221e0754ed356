// Tests which token of a chain is used, and when the next token is requested.
import { describe, expect, it, test } from "vitest";
import { newestGood, nextAttemptMs } from "../../../../worker/cluster/token-chain.ts";
import { tokenLife } from "../../../../worker/kube/token.ts";
import { tokenOf } from "../../support/account-tokens.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

describe("the newest valid token", () => {
  const chainToken = (token: string) => ({ token, life: tokenLife(token)! });
  const [secret, renewed] = [tokenOf(0, 10 * HOUR_MS, "s"), tokenOf(5 * HOUR_MS, HOUR_MS, "r")];
  const tokens = [renewed, secret].map(chainToken);

  it.each<[string, number, string | undefined, string | undefined]>([
    ["before the renewed one ends → that one", 6 * HOUR_MS - 1, undefined, renewed],
    ["when it ends → the secret, which is good for longer", 6 * HOUR_MS, undefined, secret],
    ["before the secret ends → the secret", 10 * HOUR_MS - 1, undefined, secret],
    ["when both have ended → none", 10 * HOUR_MS, undefined, undefined],
    ["the renewed one is refused → the secret", 5 * HOUR_MS, renewed, secret],
    ["the secret is refused → the renewed one", 5 * HOUR_MS, secret, renewed],
    ["the one that is left is refused → that one all the same", 7 * HOUR_MS, secret, secret],
  ])("%s", (_, nowMs, refused, token) => {
    expect(newestGood(tokens, nowMs, refused)?.token).toBe(token);
  });
});

describe("the next attempt", () => {
  const [tenMinutes, hour, day, year] = [10 * MINUTE_MS, HOUR_MS, 24 * HOUR_MS, 8760 * HOUR_MS];

  test.each<[string, number, number | undefined, number]>([
    ["ten minutes, never tried → from half on", tenMinutes, undefined, 5 * MINUTE_MS],
    ["a year, never tried → from half on", year, undefined, 4380 * HOUR_MS],
    ["ten minutes, failed at half → a minute later", tenMinutes, 5 * MINUTE_MS, 6 * MINUTE_MS],
    ["an hour, failed at half → a twentieth of what is left later", hour, 30 * MINUTE_MS, 31.5 * MINUTE_MS],
    ["an hour, failed just before the end → a minute later", hour, 59 * MINUTE_MS, 60 * MINUTE_MS],
    ["a day, failed at half → half an hour later", day, 12 * HOUR_MS, 12.5 * HOUR_MS],
    ["a day, failed an hour before the end → three minutes later", day, 23 * HOUR_MS, 23.05 * HOUR_MS],
    ["a year, failed at half → half an hour later", year, 4380 * HOUR_MS, 4380.5 * HOUR_MS],
    ["failed in the life of the one before → from half on", day, -HOUR_MS, 12 * HOUR_MS],
  ])("of a token of %s", (_, lifeMs, failedAtMs, nextMs) => {
    expect(nextAttemptMs(tokenLife(tokenOf(0, lifeMs))!, failedAtMs)).toBe(nextMs);
  });
});
